// Topology: the graph of one node, and what its driver makes of it: routes, peer access, classes of copies. Pure; no
// SimGrid.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/platform/platform.hpp"
#include "protocols/core/path.hpp"

namespace twinlink::model {

/// One link of a route, in the direction in which it is crossed.
struct Hop {
  std::size_t link = 0;  ///< index into Node::links
  bool forward = true;   ///< from Link::from to Link::to

  friend bool operator==(const Hop&, const Hop&) = default;
};
using Route = std::vector<Hop>;

/// Where the bytes of a buffer lie within a node: a GPU or a host memory, by index.
struct Location {
  enum class Kind { gpu, memory };
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

  friend auto operator<=>(const End&, const End&) = default;
};

/// What a copy between two locations costs, and under which name the platform file has it.
struct CopyCost {
  const Cost* cost = nullptr;  ///< owned by the platform
  std::string name{};          ///< "pinned-to-device-near", "staged peer ioh0 -> ioh1"
  bool occupies_cpu = false;   ///< the calling CPU is busy until the copy has ended
  bool by_event = true;        ///< the CPU learns of its end by an event, see ends_by_event(CopyClass)
};

/// What follows the last byte of a copy: who is told of it, and how.
struct CopyEnding {
  Seconds raising{};             ///< from the last byte until the copy has ended: its kernel raises the signal
  bool signal_with_end = false;  ///< its signal is seen when it ends; otherwise `runtime.signal` after that
  Seconds completion{};          ///< from its end: the CPU is busy learning of it
  Seconds behind_signal{};       ///< from its signal until its queue goes on, beside the next copy's gap
};

/// The name of an entry of the table of staged copies between peer domains: "staged peer ioh0 -> ioh1".
std::string staged_name(const StagedPeer& staged);

class Topology {
 public:
  /// `platform` must outlive this object.
  explicit Topology(const Platform& platform);

  [[nodiscard]] const Platform& platform() const { return platform_; }
  /// The host memory next to a GPU, and the one with the most hops from it.
  [[nodiscard]] std::size_t memory_near(std::size_t gpu) const;
  [[nodiscard]] std::size_t memory_far(std::size_t gpu) const;

  /// Whether two GPUs of a node reach each other's memory, by index.
  [[nodiscard]] Answer peer_access(std::size_t a, std::size_t b) const;

  /// What lies on the way between two vertices: GPUs and adapters never do; host memory does, unless the traffic is
  /// peer-to-peer.
  enum class Across { host_memory_too, past_host_memory };
  /// The fewest hops between two vertices. An InputError if there is no way.
  [[nodiscard]] Route route(std::string_view from, std::string_view to, Across across = Across::host_memory_too) const;
  /// The way that a copy takes: directly, or between GPUs of different peer domains through the host memory next to the
  /// source. Empty within one location.
  [[nodiscard]] Route copy_route(Location from, Location to) const;
  /// What the narrowest link of a route lets through in its direction. Nothing for a route without links.
  [[nodiscard]] std::optional<Rate> narrowest(const Route& route) const;
  /// The way between a location and an adapter of its node; from and to a GPU past host memory, where there is one.
  [[nodiscard]] Route to_nic_route(Location from, std::string_view nic) const;
  [[nodiscard]] Route from_nic_route(std::string_view nic, Location to) const;

  /// What an adapter that reads or writes the memory of a GPU has to pass.
  [[nodiscard]] RdmaDistance rdma_distance(std::size_t gpu, std::string_view nic) const;
  /// What it gets there. nullptr: what the links give, or nothing where the platform says that it does not work.
  [[nodiscard]] const RdmaLimits* rdma_limits(std::size_t gpu, std::string_view nic) const;

  /// The path between the GPUs of two places. A UsageError for a place that the platform does not have.
  [[nodiscard]] Path path(const Place& a, const Place& b) const;
  /// A UsageError that says which nodes and GPUs there are.
  void require(const Place& place) const;

  /// Can a kernel move bytes between these ends? One of them says that the kernel runs there.
  [[nodiscard]] bool kernel_reaches(End from, End to) const {
    return (from.kernel || to.kernel) && kernel_class(from, to).has_value();
  }
  /// An InputError that names the entry where the platform does not have it.
  [[nodiscard]] CopyCost copy_cost(End from, End to) const;
  /// The same, with `cost` null where the platform does not have the entry.
  [[nodiscard]] CopyCost find_copy_cost(End from, End to) const;
  /// What follows a copy within a node, whose `copy.cost` is not null.
  [[nodiscard]] CopyEnding copy_ending(const End& from, const CopyCost& copy) const;
  /// And what follows a put of `size` bytes that raises a signal.
  [[nodiscard]] CopyEnding put_ending(const End& from, const End& to, const CopyCost& copy, Bytes size) const;

  [[nodiscard]] const std::string& name(Location location) const;
  /// "gpu0 -> ioh0 -> numa0".
  [[nodiscard]] std::string describe(std::string_view from, const Route& route) const;
  /// The way of a message, its node's adapter and the fabric included: "numa0 -> ioh0 -> hca0 => hca0 -> ioh0 ->
  /// numa0".
  [[nodiscard]] std::string describe_transfer(Location from, const std::string& from_nic, Location to,
                                              const std::string& to_nic, bool same_node) const;

 private:
  [[nodiscard]] std::size_t memory_index(std::string_view name) const;
  [[nodiscard]] std::optional<Route> find_route(std::string_view from, std::string_view to, Across across) const;
  [[nodiscard]] Route nic_route(std::string_view from, std::string_view to, bool device_memory) const;
  [[nodiscard]] Answer rdma(std::size_t gpu) const;
  [[nodiscard]] Answer device_memory_on_network(const Place& a, const Place& b) const;
  [[nodiscard]] std::optional<CopyClass> kernel_class(End from, End to) const;

  const Platform& platform_;
};

}  // namespace twinlink::model
