#include "model/study/jobs/alike.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "model/study/jobs/link_classes.hpp"
#include "model/study/jobs/seats.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/bench/workload/turns.hpp"
#include "protocols/bench/workload/workload_plan.hpp"
#include "protocols/workloads/connections.hpp"
#include "protocols/workloads/training.hpp"

namespace twinlink::model {
namespace {

using workloads::Mark;
using workloads::Schedule;
using workloads::Shape;
using workloads::Step;

/// All messages of the job, at all sizes, that are looked at: what this takes is a second or two.
constexpr std::size_t kMostMessages = 30'000'000;

/// Of the first node.
std::size_t ranks_of_node(const std::vector<Place>& places) {
  const int first = places.front().node;
  return static_cast<std::size_t>(
      std::ranges::find_if(places, [&](const Place& place) { return place.node != first; }) - places.begin());
}

/// That one which all sizes take; null: several do, or are tried.
const workloads::Algorithm* the_algorithm(const bench::WorkloadPlan& plan) {
  const bench::Scheduled& work = *plan.scheduled();
  if (plan.tuned != nullptr) {
    const auto chosen = [&](Bytes size) { return bench::candidates(plan, *plan.shape, size).front(); };
    const workloads::Algorithm* const first = chosen(work.sizes.front());
    return std::ranges::all_of(work.sizes, [&](Bytes size) { return chosen(size) == first; }) ? first : nullptr;
  }
  if (work.algorithms.size() == 1) return work.algorithms.front();
  return work.workload->algorithms.size() == 1 ? work.workload->algorithms.data() : nullptr;
}

/// Why not, before anybody looks at a message; empty: maybe.
std::string why_none_is_alike(const Platform& platform, const std::vector<Place>& places,
                              const bench::WorkloadPlan& plan) {
  const bench::Scheduled* const work = plan.scheduled();
  if (work == nullptr) return "what each rank does is its own";
  if (work->training && work->training->degrees.expert > 1)
    return "experts of a training step have different things to do";
  const workloads::Algorithm* const algorithm = the_algorithm(plan);
  if (algorithm == nullptr) {
    return std::string(plan.tuned != nullptr ? "sizes take several algorithms" : "no --algorithm is named") +
           ", and each has other ranks that are alike";
  }
  if (work->training) {  // whoever plans it refuses it
    if (std::string why = workloads::refuse_training(*work->training, *plan.shape); !why.empty()) return why;
    if (std::string why = workloads::refuse_gradients(*work->training, *algorithm, *plan.shape); !why.empty())
      return why;
  }
  if (algorithm->together) return "programs of thread blocks know each rank by its place";
  if (plan.company.meet) return "other jobs share the machine";
  if (workloads::wants_heap(plan.ways)) return "a symmetric heap is made by all ranks together";
  if (workloads::go_by_numbers(plan.ways)) return "ranks' numbers decide what happens between them";
  if (!platform.later_faults.empty()) return "faults come while the job runs";
  if (!platform.kinds.empty()) return "nodes are of several kinds";
  if (platform.fabric && has_detours(*platform.fabric)) return "messages go round links that are full";
  const std::size_t per_node = ranks_of_node(places);
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    if (places[rank].node != static_cast<int>(rank / per_node) || places[rank].gpu != places[rank % per_node].gpu) {
      return "nodes are not filled one after the other, all with the same GPUs";
    }
  }
  if (places.size() % per_node != 0) return "the last node has fewer ranks";
  return {};
}

/// Nodes of a domain, which share links.
int nodes_of_domain(const Topology& topology, int nodes) {
  int together = 1;
  while (together < nodes && topology.copy_of(together) == topology.copy_of(0)) ++together;
  for (int node = 0; node < nodes; ++node) {
    if (topology.copy_of(node) != topology.copy_of(0) + node / together) return nodes;
  }
  return together;
}

/// Ranks that stand for all, and who each of them stands for: first those of its own node.
class Moves {
 public:
  Moves(const Folding::Moves& nodes, const Folding::Moves& ranks)
      : nodes_(nodes), ranks_(ranks), contents_(Folding::standing_of(nodes, ranks)) {
    for (int place = 0; place < nodes.all * ranks.all / contents_.each(); ++place) {
      standing_.push_back(contents_.at(place));
    }
  }

  [[nodiscard]] Standing contents() const { return contents_; }
  [[nodiscard]] const std::vector<int>& standing() const { return standing_; }  ///< ranks
  [[nodiscard]] int count() const { return contents_.each(); }
  /// Where the move of that number brings a rank; 0: nowhere.
  [[nodiscard]] int moved(int rank, int move) const {
    const int node = nodes_.moved(rank / ranks_.all, move / ranks_.count * nodes_.stride);
    return node * ranks_.all + ranks_.moved(rank % ranks_.all, move % ranks_.count * ranks_.stride);
  }

 private:
  Folding::Moves nodes_;
  Folding::Moves ranks_;
  Standing contents_;
  std::vector<int> standing_{};
};

/// Whoever is moved by the second is moved so by the first.
bool has_all_of(const Folding::Moves& all, const Folding::Moves& some) {
  return all.move == some.move && some.stride % all.stride == 0 && some.stride * some.count <= all.stride * all.count;
}

/// Those that there may be of so many, where that many next to each other are not moved apart: the most moves first.
std::vector<Folding::Moves> moves_of(int number, int together) {
  std::vector<Folding::Moves> all;
  for (int count = number / together; count > 1; --count) {
    if (number % count != 0) continue;
    for (int stride = together; stride * count <= number; stride += together) {
      Folding::Moves by{.all = number, .stride = stride, .count = count};
      if (stride * count == number) all.push_back(by);
      by.move = Folding::Move::exclusive_or;
      const bool bits =
          std::has_single_bit(static_cast<unsigned>(count)) && std::has_single_bit(static_cast<unsigned>(stride));
      if (bits && number % (stride * count) == 0) all.push_back(by);
    }
  }
  return all;
}

/// In any order, for places in memory move as ranks do.
bool hold_the_same(std::span<const Mark> some, std::span<const Mark> others) {
  if (some.size() != others.size()) return false;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> a;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> b;
  for (const Mark& mark : some) a.emplace_back(mark.slice.length, mark.value);
  for (const Mark& mark : others) b.emplace_back(mark.slice.length, mark.value);
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a == b;
}

using Peer = std::function<int(int)>;

bool do_the_same(const std::vector<Step>& steps, const std::vector<Step>& moved, const Peer& peer) {
  const auto same = [&](const Step& one, const Step& other) {
    return one.after == other.after && one.compute == other.compute &&
           std::ranges::equal(one.transfers, other.transfers,
                              [&](const auto& a, const auto& b) {
                                return peer(a.peer) == b.peer && a.send.length == b.send.length &&
                                       a.receive.length == b.receive.length;
                              }) &&
           std::ranges::equal(one.locals, other.locals, [](const auto& a, const auto& b) {
             return a.kind == b.kind && a.to.length == b.to.length;
           });
  };
  return std::ranges::equal(steps, moved, same);
}

bool do_the_same(const Schedule& one, const Schedule& moved, const Peer& peer) {
  return one.data == moved.data && one.scratch == moved.scratch && do_the_same(one.steps, moved.steps, peer) &&
         do_the_same(one.beside, moved.beside, peer);
}

bool hold_the_same(const Schedule& one, const Schedule& moved) {
  return hold_the_same(one.before, moved.before) && hold_the_same(one.after, moved.after) &&
         std::ranges::equal(one.steps, moved.steps, [](const Step& a, const Step& b) {
           return hold_the_same(a.fresh, b.fresh) && hold_the_same(a.expected, b.expected);
         });
}

/// Adapters that no message of the job takes make nobody different.
Platform as_used(Platform platform, const bench::WorkloadPlan& plan) {
  const bool within_nodes = platform.within_node.loopback;
  if (platform.network && !within_nodes && workloads::send_device_memory_alone(plan.ways)) {
    platform.network->host_adapters = 0;
  }
  return platform;
}

class AlikeSearch {
 public:
  AlikeSearch(const Platform& platform, const std::vector<Place>& places, const bench::WorkloadPlan& plan)
      : platform_(as_used(platform, plan)),
        topology_(platform_),
        places_(places),
        work_(*plan.scheduled()),
        algorithm_(*the_algorithm(plan)),
        shape_(*plan.shape),
        per_node_(static_cast<int>(ranks_of_node(places))),
        nodes_(shape_.ranks / per_node_) {}

  Alike run() {
    if (const std::size_t all = messages(); all > kMostMessages) {
      return {.why_all = fmt::format("{} messages are too many to compare", all)};
    }
    const int together = nodes_of_domain(topology_, nodes_);
    std::vector<Folding::Moves> known;  // schedules move so
    std::optional<Folding::Moves> nodes;
    Folding::Links links;
    for (const Folding::Moves& by : moves_of(nodes_, together)) {
      const Moves moves(by, {.all = per_node_});
      // Who does the same by many moves does so by some of them.
      const bool is_known = std::ranges::any_of(known, [&](const auto& all) { return has_all_of(all, by); });
      if (!is_known && !schedules_move(moves)) continue;
      if (!is_known) known.push_back(by);
      if (auto of_nodes = links_of(moves)) {
        nodes = by;
        links = std::move(*of_nodes);
        break;
      }
    }
    if (auto folding = fold_within(nodes.value_or(Folding::Moves{.all = nodes_}), together)) {
      return {.folding = std::make_shared<Folding>(std::move(*folding))};
    }
    if (nodes)
      return {.folding = std::make_shared<Folding>(*nodes, Folding::Moves{.all = per_node_}, links, Folding::Within{})};
    if (nodes_ == 1) return {.why_all = "no two ranks do the same, or other links are next to them"};
    return {.why_all = known.empty() ? "no two nodes do the same, or with other lengths"
                                     : "nodes that do the same have other ways through the fabric"};
  }

 private:
  /// As many as two ranks have on average, for all.
  [[nodiscard]] std::size_t messages() const {
    std::size_t of_two = 0;
    for (const Bytes size : work_.sizes) {
      for (const int rank : {0, shape_.ranks / 2}) {
        bench::schedule_of(work_, algorithm_, shape_, rank, size).for_each_step([&](const Step& step) {
          of_two += step.transfers.size();
        });
      }
    }
    return of_two * static_cast<std::size_t>(shape_.ranks) / 2;
  }
  /// Ranks of each node, where the nodes are moved so.
  [[nodiscard]] std::optional<Folding> fold_within(const Folding::Moves& nodes, int together) const {
    const Seats seats(topology_, {places_.data(), static_cast<std::size_t>(per_node_ * std::min(together, nodes_))});
    if (!seats.may_be_alike()) return std::nullopt;
    for (const Folding::Moves& by : moves_of(per_node_, 1)) {
      auto within = seats.within(by);
      const Moves moves(nodes, by);
      if (!within || !schedules_move(moves)) continue;
      if (auto links = links_of(moves)) return Folding(nodes, by, std::move(*links), std::move(*within));
    }
    return std::nullopt;
  }
  /// Of contents those of rank 0 are looked at: whoever else is wrong there learns that when they are verified.
  [[nodiscard]] bool schedules_move(const Moves& moves) const {
    const auto schedule = [&](int rank, Bytes size, Standing standing) {
      Shape shape = shape_;
      shape.standing = standing;
      return bench::schedule_of(work_, algorithm_, shape, rank, size);
    };
    const Standing same = moves.contents();
    for (const Bytes size : work_.sizes) {
      for (const int move : {1, same.within_count}) {  // on its node, and to another
        const int other = moves.moved(0, move % moves.count());
        if (!hold_the_same(schedule(0, size, same), schedule(other, size, same))) return false;
      }
      for (const int rank : moves.standing()) {
        const Schedule first = schedule(rank, size, {});
        for (int move = 1; move < moves.count(); ++move) {
          const Schedule other = schedule(moves.moved(rank, move), size, {});
          if (!do_the_same(first, other, [&](int peer) { return moves.moved(peer, move); })) return false;
        }
      }
    }
    return true;
  }
  [[nodiscard]] std::optional<Folding::Links> links_of(const Moves& moves) const {
    LinkClasses classes;
    if (!topology_.platform().fabric) return classes.classes(moves.count());
    for (const int rank : moves.standing()) {
      const Schedule schedule = bench::schedule_of(work_, algorithm_, shape_, rank, work_.sizes.front());
      for (const RankId peer : workloads::peers_of(schedule)) {
        if (place(rank).node != place(peer.value).node && !add_ways(moves, classes, rank, peer.value)) {
          return std::nullopt;
        }
      }
    }
    return classes.classes(moves.count());
  }
  [[nodiscard]] bool add_ways(const Moves& moves, LinkClasses& classes, int from, int to) const {
    std::vector<std::vector<FabricWay>> moved;
    for (int move = 0; move < moves.count(); ++move) {
      const int sender = moves.moved(from, move);
      const int receiver = moves.moved(to, move);
      std::vector<FabricWay>& ways = moved.emplace_back();
      for (const Adapters& each : adapters(gpu(sender), gpu(receiver))) {
        const auto more =
            topology_.fabric_ways(*topology_.platform().fabric, place(sender).node, place(receiver).node, each);
        ways.insert(ways.end(), more.begin(), more.end());
      }
    }
    return classes.add(moved);
  }
  /// Whatever adapters a message takes: all of a large one, or one.
  const std::vector<Adapters>& adapters(std::size_t from, std::size_t to) const {
    const auto [known, is_new] = adapters_.try_emplace({from, to});
    if (is_new) known->second = all_adapters(topology_, from, to);
    return known->second;
  }
  [[nodiscard]] const Place& place(int rank) const { return places_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::size_t gpu(int rank) const { return topology_.gpu_of(place(rank)); }

  Platform platform_;
  Topology topology_;
  const std::vector<Place>& places_;
  const bench::Scheduled& work_;
  const workloads::Algorithm& algorithm_;
  Shape shape_;
  int per_node_;
  int nodes_;
  mutable std::map<std::pair<std::size_t, std::size_t>, std::vector<Adapters>> adapters_{};  ///< by GPUs
};

}  // namespace

Alike find_alike(const Platform& platform, const std::vector<Place>& places, const bench::WorkloadPlan& plan) {
  if (std::string why = why_none_is_alike(platform, places, plan); !why.empty()) return {.why_all = std::move(why)};
  return AlikeSearch(platform, places, plan).run();
}

}  // namespace twinlink::model
