// Faults of one node among nodes that are alike: by which names its parts are told from those of the others.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/machine/platform.hpp"
#include "platforms/topology/topology.hpp"
#include "platforms/yaml/yaml_document.hpp"

namespace twinlink::platforms {

/// A fault, and how the user has said it, who may mean several by one.
struct Fault {
  std::string typed{};
  std::string text{};         ///< its part by the name that it has in the graph
  std::optional<int> node{};  ///< a whole node, which fails: its GPUs are gone, and nothing of it is missed
};

/// A UsageError that begins with what the user has said.
[[noreturn]] void refuse_fault(std::string_view option, const std::string& text, const std::string& why);

/// Gives the nodes that faults are about names of their own, as kinds of one node. Nodes of a domain have such names
/// already, and all domains are alike.
class OddNodes {
 public:
  /// `platform` outlives it.
  explicit OddNodes(const Platform& platform) : platform_(platform) {}

  /// Nodes that these faults tell apart are no longer alike: "4-7/hca0" beside "node6" is of 4 to 5, of 6, and of 7. To
  /// be called for all faults before the first gets its names.
  void tell_apart(const std::vector<std::string>& faults);
  /// "5/hca0=50%" becomes "node5-hca0=50%"; "node5=50%" as many as node 5 has parts; "4-7/hca0" is one kind of four
  /// nodes.
  std::vector<Fault> name_parts(std::string_view option, const std::vector<std::string>& faults);
  /// A part of "every node" is one of those, too, that have a name of their own by now, and are there behind `failed`.
  void name_in_all(std::vector<Fault>& named, const std::vector<Fault>& failed) const;
  /// In the file's own text.
  void add_kinds(YamlValue& document) const;
  [[nodiscard]] bool none() const { return nodes_.empty(); }

 private:
  [[nodiscard]] bool has_own_kind(int node) const;
  [[nodiscard]] std::vector<std::string> parts_in_domain(const Topology& topology, int number,
                                                         const std::string& part) const;
  [[nodiscard]] static std::string name_of(int first, int last);
  /// Those that are alike among some nodes, each with its last one.
  [[nodiscard]] std::map<int, int> alike_among(int first, int last) const;
  [[nodiscard]] const NodeKind* kind_of(int node) const;
  [[nodiscard]] YamlValue nodes_with(const YamlValue& document, int node) const;

  const Platform& platform_;
  std::set<std::int64_t> firsts_;  ///< with these others begin that are alike
  std::map<int, int> nodes_;       ///< the first of some that are alike, and the last
};

}  // namespace twinlink::platforms
