// Topology: the graph of one node, and what its driver makes of it: routes, peer access, classes of copies. Pure; no
// SimGrid. The simulated machine, calibration, `--pace`, drawings and checks of platforms all ask it.
//
//   const Topology topology(platform);
//   const Path path = topology.path({.node = 0, .gpu = 0}, {.node = 1, .gpu = 0});      // what protocols decide by
//   const End from{.location = {Location::Kind::gpu, 0}, .memory = Memory::device, .own = true};
//   const End to{.location = topology.host_buffers(0), .memory = Memory::pinned};
//   const CopyCost cost = topology.copy_cost(from, to);     // cost.name: "device-to-pinned"
//   cost.latency(64_KiB);                                   // of the engine and the way
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/machine/platform.hpp"
#include "platforms/topology/ways.hpp"
#include "protocols/core/path.hpp"

namespace twinlink::platforms {

/// Where the bytes of a buffer lie within a node: a GPU or a host memory, by index; or page by page in all memories.
struct Location {
  enum class Kind { gpu, memory, interleaved };
  Kind kind = Kind::memory;
  std::size_t index = 0;

  friend auto operator<=>(const Location&, const Location&) = default;
};

/// One end of a copy: where the bytes lie, and in which kind of memory.
struct End {
  Location location{};
  Memory memory = Memory::device;
  bool kernel = false;    ///< a kernel on this GPU moves the bytes; of a copy within one GPU, both ends say so
  bool resident = false;  ///< and it is one that stays there
  bool own = false;       ///< on the GPU of the rank that copies
  bool by_cpu = false;    ///< device memory that the CPU of the other end has mapped, and moves the bytes

  friend auto operator<=>(const End&, const End&) = default;
};

/// Who moves bytes over a link: a CPU, or a device that reads or writes what lies beyond it.
enum class Reach { cpu, device_reads, device_writes };

/// A part of what goes between two ends: from one location to another, and its share of the bytes. One part has all of
/// them, unless memory is interleaved.
struct Strand {
  Location from{};
  Location to{};
  double share = 1;
};

/// Which GPUs, memories and adapters of the graph are one node's, as ranges of indices. Several kinds of nodes, or the
/// nodes of a domain, are one graph.
struct NodePart {
  std::size_t first_gpu = 0;
  std::size_t gpus = 0;
  std::size_t first_memory = 0;
  std::size_t memories = 0;
  std::size_t first_nic = 0;
  std::size_t nics = 0;
};

/// The adapters of a message, or of a part of it: the sender's and the receiver's.
struct Adapters {
  std::string from{};
  std::string to{};

  friend auto operator<=>(const Adapters&, const Adapters&) = default;
};

/// Nothing limits nothing.
inline std::optional<Rate> least_of(const std::optional<Rate>& one, const std::optional<Rate>& other) {
  return one && other ? std::min(*one, *other) : one ? one : other;
}

/// What stands in describe() between ways that one message takes at the same time.
inline constexpr std::string_view kBesides = " and ";

/// For one thread: what it has worked out once it remembers.
class Topology {
 public:
  /// `platform` must outlive this object, and not change meanwhile.
  explicit Topology(const Platform& platform);
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  [[nodiscard]] const Platform& platform() const { return platform_; }
  /// The parts of all kinds of nodes. Indices of GPUs, memories, adapters and links are those of this graph. Parts of a
  /// kind are named "KIND-NAME".
  [[nodiscard]] const Node& graph() const { return graph_; }
  /// How many nodes there are, of all kinds.
  [[nodiscard]] int nodes() const { return nodes_; }
  [[nodiscard]] const NodePart& part_of(int node) const;
  /// The index in parts() of the one that it belongs to.
  [[nodiscard]] std::size_t part_with(std::size_t gpu) const;
  [[nodiscard]] const std::vector<NodePart>& parts() const { return parts_; }
  /// The graph that a node is in, without those of other kinds.
  [[nodiscard]] Node graph_of(int node) const;
  /// Which copy of the graph a node is in: nodes of a domain share one.
  [[nodiscard]] int copy_of(int node) const;
  [[nodiscard]] std::size_t gpu_of(const Place& place) const;
  [[nodiscard]] const GpuType& type_of(std::size_t gpu) const;
  /// Which failure has taken the GPU of a place away, and which a node's last adapter; empty: none has.
  [[nodiscard]] const std::string& why_gone(const Place& place) const;
  [[nodiscard]] const std::string& why_off_network(int node) const;
  /// Places of all devices that are there, node by node.
  [[nodiscard]] std::vector<Place> places() const;
  /// The host memory next to a GPU, and the one with the most hops from it.
  [[nodiscard]] std::size_t memory_near(std::size_t gpu) const;
  [[nodiscard]] std::size_t memory_far(std::size_t gpu) const;

  /// Where the host buffers of a rank on `gpu` lie, as the platform says.
  [[nodiscard]] Location host_buffers(std::size_t gpu) const;
  /// The location itself; of interleaved bytes all memories, which have as many each.
  [[nodiscard]] std::vector<Location> pieces(Location location) const;
  /// Between which locations the bytes go, by their shares: one pair, but for what is interleaved. Pages of one buffer
  /// know nothing of those of another.
  [[nodiscard]] std::vector<Strand> strands(Location from, Location to) const;
  /// Over which adapters a message of `size` goes from the rank with `from_gpu` to the one with `to_gpu`, in equal
  /// parts. Where neither of its ends is a GPU, a large one takes also others than those of the GPUs, as
  /// NetworkCosts::host_adapters says.
  [[nodiscard]] std::vector<Adapters> adapters(Location::Kind ends, std::size_t from_gpu, std::size_t to_gpu,
                                               Bytes size) const;

  /// The hub that joins two GPUs of one copy of the graph by a link of each, and adds up for them; null: there is none.
  [[nodiscard]] const Hub* reducing_hub(std::size_t a, std::size_t b) const;

  /// Whether two GPUs of a node reach each other's memory, by index.
  [[nodiscard]] Answer peer_access(std::size_t a, std::size_t b) const;

  /// The best way between two vertices, see Ways::find(). An InputError if there is none.
  [[nodiscard]] Route route(std::string_view from, std::string_view to, Traffic traffic = Traffic::host) const;
  [[nodiscard]] const Ways& ways() const { return ways_; }
  /// The way that a copy takes between locations that are not interleaved: directly, or between GPUs that do not reach
  /// each other through the bounce buffer of the driver's fallback. Empty within one location.
  [[nodiscard]] Route copy_route(Location from, Location to) const;
  /// The memory with the bounce buffer of copies between two such GPUs.
  [[nodiscard]] std::size_t bounce_memory(std::size_t from, std::size_t to) const;
  /// The rate of the narrowest link of a route, in the direction in which it is crossed. Empty for a route without
  /// links.
  [[nodiscard]] std::optional<Rate> narrowest(const Route& route, Reach reach) const;
  /// The limit of one transfer on a route, beside what it shares with others: the least of Link::each_read, or
  /// each_write, on it. Empty: no link has one.
  [[nodiscard]] std::optional<Rate> each_rate(const Route& route, Reach reach) const;
  /// What all peer reads get together, or all peer writes, whose bytes come over a link so: the least of what the link
  /// and what it leads to let them have.
  [[nodiscard]] std::optional<Rate> peer_rate(const Hop& hop, bool reads) const;
  /// What GPUs copy to and from host memory over a link, together, where one of its ends says so.
  [[nodiscard]] std::optional<Rate> host_duplex(std::size_t link) const;
  /// The latencies of a way's links, and of the hubs and memories between its ends, added up: one crossing.
  [[nodiscard]] Seconds latency(const Route& route) const;
  /// The same between two locations: of a store, or of a message from one CPU to another through host memory. Where
  /// there are several ways, of the longest.
  [[nodiscard]] Seconds latency(Location from, Location to) const;
  /// The way between a location and an adapter of its node; from and to a GPU as peer traffic, where there is such a
  /// way.
  [[nodiscard]] Route to_nic_route(Location from, std::string_view nic) const;
  [[nodiscard]] Route from_nic_route(std::string_view nic, Location to) const;
  /// What the way of a message through adapters adds to its latency: the sender's adapter reads the bytes, so that
  /// their way is crossed twice, and the receiver's writes them. Where there are several ways, the longest counts.
  [[nodiscard]] Seconds message_way(Location from, const Adapters& adapters, Location to,
                                    bool in_request = false) const;
  /// What the fabric's switches between two nodes add to message_way().
  [[nodiscard]] Seconds fabric_latency(int from_node, int to_node, const Adapters& adapters) const;
  /// The way of a message through the fabric: none within a node.
  [[nodiscard]] FabricWay fabric_way(int from_node, int to_node, const Adapters& adapters) const;
  /// The same through `now`, the platform's fabric as far as it has not failed since.
  [[nodiscard]] FabricWay fabric_way(const Fabric& now, int from_node, int to_node, const Adapters& adapters) const;
  /// All that its bytes take, in equal parts.
  [[nodiscard]] std::vector<FabricWay> fabric_ways(const Fabric& now, int from_node, int to_node,
                                                   const Adapters& adapters) const;
  /// Places for adapters that a node has at the fabric's switches, whether they are alive or not.
  [[nodiscard]] int fabric_nics() const { return fabric_nics_; }

  /// The path between the GPUs of two places. A UsageError for a place that the platform does not have, and for nodes
  /// that a failure has left without an adapter.
  [[nodiscard]] Path path(const Place& a, const Place& b) const;
  /// A UsageError that says which nodes and GPUs there are, or which failure has taken this one away.
  void require(const Place& place) const;

  /// What is around the GPU of a place, which the platform has.
  [[nodiscard]] DeviceFacts facts_of(const Place& place) const;

  /// What a kind of copies costs on a GPU, by what its type says or else the driver. nullptr where neither does.
  [[nodiscard]] const Cost* cost_of(CopyKind kind, std::optional<std::size_t> gpu) const;

  /// Name of a location, which must not be interleaved.
  [[nodiscard]] const std::string& name(Location location) const;
  /// "gpu0 -> ioh0 -> numa0".
  [[nodiscard]] std::string describe(std::string_view from, const Route& route) const;
  /// The way of a copy, or of a message within a node.
  [[nodiscard]] std::string describe(Location from, Location to) const;
  /// The way of a message, its node's adapter and the fabric included: "numa0 -> ioh0 -> hca0 => hca0 -> ioh0 ->
  /// numa0". Several ways are joined by kBesides.
  [[nodiscard]] std::string describe(Location from, std::span<const Adapters> adapters, Location to) const;

 private:
  [[nodiscard]] FabricPort port_of(int node, std::string_view nic) const;
  [[nodiscard]] std::size_t kind_of(int node) const;  ///< 0: the platform's own, then its kinds
  [[nodiscard]] const Node& node_with(std::size_t gpu) const;
  [[nodiscard]] std::size_t memory_index(std::string_view name) const;
  [[nodiscard]] Route nic_route(std::string_view from, std::string_view to, bool device_memory) const;
  /// The adapter of the target's node on the rail of `nic`.
  [[nodiscard]] std::string nic_of_rail(std::string_view nic, std::size_t from_gpu, std::size_t to_gpu) const;
  [[nodiscard]] std::vector<std::string> nics_of_host(std::size_t gpu) const;
  [[nodiscard]] Answer rdma(std::size_t gpu) const;
  [[nodiscard]] Answer device_memory_on_network(const Place& a, const Place& b) const;
  void set_rates(Path& path, std::size_t a, std::size_t b) const;
  void set_level(Path& path, std::size_t a, std::size_t b) const;
  [[nodiscard]] bool joins_gpus(const Hop& hop) const;
  [[nodiscard]] Level level_of(const Route& route) const;
  [[nodiscard]] Level level_between(std::size_t a, std::size_t b) const;
  [[nodiscard]] Rate slot_of(std::size_t gpu) const;
  [[nodiscard]] Answer gpu_programs(const Path& path, std::size_t a, std::size_t b) const;
  [[nodiscard]] Answer gpu_drives_adapter(const Path& path) const;
  [[nodiscard]] Answer switch_reduces(std::size_t a, std::size_t b) const;

  void plug_in();

  const Platform& platform_;
  Node graph_;
  std::vector<NodePart> parts_;  ///< of a domain's nodes, or of the kinds
  int nodes_ = 0;
  std::vector<int> fabric_places_;  ///< of each adapter of the graph among those of its node
  int fabric_nics_ = 0;
  std::vector<std::vector<std::string>> nics_of_host_;  ///< of each GPU, for large messages of its rank's host memory
  Ways ways_{graph_};
};

}  // namespace twinlink::platforms
