// SimWorld: what all ranks of a simulation share: the machine, the loop of events, and what has been worked out once
// for all of them. simulate() makes it before the ranks.
#pragma once

#include <cstddef>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "model/engine/flows/event_loop.hpp"
#include "model/engine/flows/machine.hpp"
#include "model/engine/flows/platform_names.hpp"
#include "model/engine/memory/host_caches.hpp"
#include "model/engine/memory/sim_memory.hpp"
#include "model/engine/rank/cpu.hpp"
#include "model/engine/rank/operation.hpp"
#include "model/engine/rank/sim_program.hpp"
#include "platforms/costs/transfer_costs.hpp"
#include "protocols/trace/op_report.hpp"

namespace twinlink::model {

class FabricSum;
class SimRank;

/// What driver and library cost on the CPUs of one memory.
struct CpuCosts {
  double speed = 1;
  NetworkCosts network{};  ///< between nodes; empty without a fabric
  NetworkCosts intra_node{};
  RuntimeCosts runtime{};
};

/// Ranks that have called SimRank::meet() and wait for all others.
struct Meeting {
  std::vector<OperationPtr> present{};
  Seconds takes{};  ///< from when the last one comes
};

class SimWorld {
 public:
  /// The first three outlive it, as `alike` does; null: each rank is simulated.
  SimWorld(const Topology& of, Machine& on, EventLoop& by, std::span<const Place> places, OpObserver told,
           const Folding* alike);
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;

  const Topology& topology;
  Machine& machine;
  EventLoop& loop;
  const OpObserver observer;  ///< may be empty
  JobMemory memory{};
  ProgramWorld programs{};
  const Folding* const folding;  ///< may be null
  /// By number; null: another one stands for it. All ranks are in this process: a message to a peer is an entry in the
  /// peer's own tables.
  std::vector<SimRank*> ranks;
  Meeting meeting{};
  /// By members and tag, in the order in which they were begun: those that not all members have come to.
  std::map<std::pair<std::vector<RankId>, Tag>, std::deque<std::shared_ptr<FabricSum>>> sums{};
  bool copies_in_pieces = false;  ///< some message has taken longer for --smp-copy-size

  [[nodiscard]] const Platform& platform() const { return topology.platform(); }
  [[nodiscard]] Seconds now() { return loop.clock().now(); }

  /// How many ranks stand for all.
  [[nodiscard]] std::size_t standing() const {
    return folding == nullptr ? ranks.size() : static_cast<std::size_t>(folding->ranks());
  }
  [[nodiscard]] SimRank& standing_for(RankId rank) const {
    return *ranks[index(folding == nullptr ? rank : folding->standing_for(rank))];
  }
  [[nodiscard]] std::span<const Place> places() const { return places_; }
  [[nodiscard]] const Place& place(RankId rank) const { return places_[index(rank)]; }
  [[nodiscard]] std::size_t gpu_of(RankId rank) const { return gpus_[index(rank)]; }
  [[nodiscard]] Location memory_near(RankId rank) const;
  /// Which copy of the graph its node belongs to: nodes of one domain are one copy.
  [[nodiscard]] int copy_of(RankId rank) const { return topology.copy_of(place(rank).node); }
  /// Of who stands for the rank.
  [[nodiscard]] Cpu& cpu(RankId rank) { return cpus_[index(folding == nullptr ? rank : folding->standing_for(rank))]; }
  /// Where a rank has what who stands for it has next to itself.
  [[nodiscard]] Location location(RankId rank, Location at) const {
    return folding == nullptr ? at : folding->location(rank, at);
  }
  /// What driver and library cost on the CPU of a rank.
  [[nodiscard]] const CpuCosts& costs(RankId rank) const { return cpu_costs_[topology.memory_near(gpu_of(rank))]; }

  [[nodiscard]] const Path& path(RankId from, RankId to);
  [[nodiscard]] const CopyCost& copy_cost(End from, End to);

  /// The CPUs or a device go through `size` bytes of each part, side by side. What the caches of one of them lacked, at
  /// the most. Of interleaved bytes each memory's caches hold their own.
  Bytes go_through_caches(std::initializer_list<const Part*> parts, Bytes size);
  /// How long a message that is ready now waits for its turn at the adapters of `node`, which it takes.
  Seconds take_adapter_turns(int node, std::span<const Adapters> adapters);

 private:
  [[nodiscard]] static std::size_t index(RankId rank) { return static_cast<std::size_t>(rank.value); }

  std::vector<Place> places_;
  std::vector<std::size_t> gpus_;
  std::deque<Cpu> cpus_;
  std::vector<CpuCosts> cpu_costs_;  ///< by memory
  HostCaches caches_;
  bool turns_of_adapters_;
  std::map<std::pair<int, std::string>, Seconds> next_turns_{};  ///< by node and adapter
  /// By whether the two are on one node and in one copy of the graph, and their GPUs in it.
  std::map<std::tuple<bool, bool, std::size_t, std::size_t>, Path> paths_{};
  std::map<std::pair<End, End>, CopyCost> copy_costs_{};  ///< asked for so far
};

}  // namespace twinlink::model
