// Bounds: what no answer may be faster than. Bytes that must leave a part of the machine need at least as long as all
// wires that leave it take for them together. Closed forms of the platform alone; nothing here knows how the simulated
// machine shares links or finds ways, so that its answers can be held against them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/topology/topology.hpp"
#include "protocols/core/path.hpp"
#include "protocols/core/units.hpp"

namespace twinlink::platforms {

/// What ranks must tell each other, whatever the algorithm.
class Demand {
 public:
  struct Message {
    int from = 0;
    int to = 0;
    Bytes bytes{};
  };

  /// Of a collective: its name ("all-reduce"), and its size as `workload` counts it. Nothing for a name that is none,
  /// or one whose bytes depend on more than its size.
  static std::optional<Demand> of_collective(std::string_view name, int ranks, Bytes size);
  /// Of messages that are listed.
  static Demand of_messages(int ranks, std::vector<Message> messages);

  [[nodiscard]] int ranks() const { return ranks_; }

  struct Crossing {
    double out = 0;  ///< bytes that leave a group of ranks
    double in = 0;
  };
  /// What must cross the edge of each group; `group_of` has the group of each rank, from 0 on. A group of all ranks has
  /// nothing to tell.
  [[nodiscard]] std::vector<Crossing> crossings(const std::vector<int>& group_of, int groups) const;

 private:
  enum class Kind { messages, all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, reduce, gather, scatter };

  [[nodiscard]] Crossing of_group(double inside, bool root) const;

  Kind kind_ = Kind::messages;
  int ranks_ = 0;
  double size_ = 0;   ///< of the whole buffer
  double block_ = 0;  ///< the least part that a rank has of it
  std::vector<Message> messages_{};
};

/// The least time, and which wires need it.
struct Bound {
  Seconds time{};
  std::string of{};  ///< "gpu 0/1, out", "leaves 0, out"; empty: nothing bounds
};

/// The least time of `demand` between ranks at `places`, by the wires of each GPU, of the adapters of each node, and of
/// each part of the fabric: leaves and pods of a tree, with what failed cables leave between them, groups of a
/// dragonfly and within one its routers, halves of a torus. Where `on_gpus` is false the bytes are in host memory, and
/// the wires of GPUs say nothing. Faults that come later do not count.
Bound least_time(const Topology& topology, const std::vector<Place>& places, const Demand& demand, bool on_gpus);

}  // namespace twinlink::platforms
