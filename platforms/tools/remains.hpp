// What failures leave of a machine's graph.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "platforms/machine/platform.hpp"
#include "platforms/tools/odd_nodes.hpp"
#include "platforms/topology/topology.hpp"

namespace twinlink::platforms {

class Remains {
 public:
  /// `links` are gone.
  Remains(const Topology& topology, std::set<std::string> links)
      : topology_(topology), node_(topology.graph()), links_(std::move(links)) {}

  /// Takes GPUs out that reach no memory any more, and adapters. What no part of a kind could do without stays in the
  /// file, which is checked as a whole, and is noted as gone: nobody can use it.
  void settle(const std::vector<Fault>& failed, Failures& failures);
  [[nodiscard]] const std::set<std::string>& links() const { return links_; }
  [[nodiscard]] const std::set<std::string>& adapters() const { return adapters_; }

 private:
  [[nodiscard]] std::size_t nics_of(std::size_t kind) const;
  /// The links from a device to the nearest memory, but for those that are gone. No way leads through another device.
  [[nodiscard]] std::vector<std::string> way_to_memory(const std::string& device,
                                                       const std::set<std::string>& gone) const;
  /// Which of the failures takes links of a device's way to memory, as the user has said it.
  [[nodiscard]] std::string touching(const std::string& device, const std::vector<Fault>& failed) const;

  const Topology& topology_;
  const Node& node_;
  std::set<std::string> links_;
  std::set<std::string> adapters_;  ///< that are gone
};

}  // namespace twinlink::platforms
