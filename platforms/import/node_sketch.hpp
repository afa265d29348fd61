// What importers fill in: the parts and the wiring of one node. What is left becomes an assumption that is written
// down.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platforms/import/import_topology.hpp"

namespace twinlink::model {

/// What is known of a GPU; the rest is assumed.
struct SketchedGpu {
  std::string model{};  ///< empty: unknown
  std::optional<std::pair<int, int>> capability{};
  std::optional<Sourced<Bytes>> memory{};
};

/// A rate in one direction: PCI Express by its transfers per second and lane, in 10^9, and its lanes. Nothing for what
/// no generation has.
std::optional<Sourced<Rate>> pcie_rate(double gigatransfers, int lanes, const std::string& said_by);
/// For a link of which nobody says anything: generation 3, 4 or 5 with 16 lanes.
Sourced<Rate> assumed_pcie(int generation);
/// One NVLink, by the compute capability of its GPU.
Rate nvlink_rate(const std::pair<int, int>& capability);

class NodeSketch {
 public:
  /// `origin` and `file` stand in the heading.
  NodeSketch(std::string origin, std::string file);

  /// "numa0", with its root complex "root0" and the links of both to those that were there before.
  void add_domain(int number);
  [[nodiscard]] bool has_domain(int number) const;
  static std::string memory_name(int number) { return "numa" + std::to_string(number); }
  static std::string root_name(int number) { return "root" + std::to_string(number); }

  void add_hub(const std::string& name, const std::string& about);
  /// GPUs are numbered in this order. Returns "gpu0".
  std::string add_gpu(const SketchedGpu& gpu, const std::string& about);
  /// Returns its name, which differs from all others. `rate` is of its network link, if it is known.
  std::string add_adapter(const std::string& wanted, std::optional<Sourced<Rate>> rate, const std::string& about);
  /// A PCIe link, with the latency of one.
  void add_pcie(const std::string& from, const std::string& to, const Sourced<Rate>& rate);
  /// `count` links side by side, each of `each`.
  void add_links(const std::string& name, const std::string& from, const std::string& to, const Sourced<Rate>& each,
                 int count);
  /// The adapters reach device memory; where nobody says so, it is assumed.
  void set_rdma(bool there) { rdma_ = there; }
  /// A line of the heading: something that the tool does not tell.
  void assume(const std::string& text);
  /// A line of the heading: something that the tool tells, and the file has no other place for.
  void remark(const std::string& text) { remarks_.push_back(text); }

  [[nodiscard]] const std::vector<Gpu>& gpus() const { return platform_.node.gpus; }

  /// With all costs. An InputError without a GPU.
  ImportedPlatform finish(const std::string& name);

 private:
  [[nodiscard]] bool is_taken(const std::string& name) const;
  void add_fabric();
  std::string type_of(const SketchedGpu& gpu);

  std::string origin_;
  std::string file_;
  Platform platform_{};
  std::vector<int> domains_{};
  std::vector<Sourced<Rate>> adapter_rates_{};
  std::optional<bool> rdma_{};
  std::vector<std::string> assumptions_{};
  std::map<std::string, std::string> assumed_links_{};  ///< names of PCIe links, by why they are taken to be so wide
  std::vector<std::string> remarks_{};
};

}  // namespace twinlink::model
