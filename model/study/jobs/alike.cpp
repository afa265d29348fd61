#include "model/study/jobs/alike.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "platforms/topology/topology.hpp"
#include "protocols/bench/workload/turns.hpp"
#include "protocols/bench/workload/workload_plan.hpp"
#include "protocols/workloads/connections.hpp"

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
  if (work->training) return "a training step's ranks do different things";
  const workloads::Algorithm* const algorithm = the_algorithm(plan);
  if (algorithm == nullptr) {
    return std::string(plan.tuned != nullptr ? "sizes take several algorithms" : "no --algorithm is named") +
           ", and each has other ranks that are alike";
  }
  if (algorithm->together) return "programs of thread blocks know each rank by its place";
  if (plan.company.meet) return "other jobs share the machine";
  if (workloads::wants_heap(plan.ways)) return "a symmetric heap is made by all ranks together";
  if (!platform.later_faults.empty()) return "faults come while the job runs";
  if (!platform.kinds.empty()) return "nodes are of several kinds";
  if (platform.fabric && has_detours(*platform.fabric)) return "messages go round links that are full";
  const std::size_t per_node = ranks_of_node(places);
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    if (places[rank].node != static_cast<int>(rank / per_node) || places[rank].gpu != places[rank % per_node].gpu) {
      return "nodes are not filled one after the other, all with the same GPUs";
    }
  }
  if (places.size() == per_node) return "all ranks are on one node";
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

/// Ranks by the nodes that stand for all, and who each of them stands for.
class Moves {
 public:
  explicit Moves(const Folding::Nodes& nodes) : nodes_(nodes), folding_(nodes, {}) {
    for (int place = 0; place < folding_.ranks(); ++place) standing_.push_back(folding_.standing().at(place));
  }

  [[nodiscard]] const Folding::Nodes& nodes() const { return nodes_; }
  [[nodiscard]] Standing contents() const { return folding_.standing(); }
  [[nodiscard]] const std::vector<int>& standing() const { return standing_; }  ///< ranks
  [[nodiscard]] int count() const { return nodes_.standing.count; }
  /// Where the move of that number brings a rank; 0: nowhere.
  [[nodiscard]] int moved(int rank, int move) const {
    const int to = nodes_.moved(rank / nodes_.per_node, move * nodes_.standing.stride);
    return to * nodes_.per_node + rank % nodes_.per_node;
  }

 private:
  Folding::Nodes nodes_;
  Folding folding_;
  std::vector<int> standing_{};
};

/// Whoever is moved by the second is moved so by the first.
bool has_all_of(const Folding::Nodes& all, const Folding::Nodes& some) {
  const auto [stride, count] = some.standing;
  return all.move == some.move && stride % all.standing.stride == 0 &&
         stride * count <= all.standing.stride * all.standing.count;
}

/// Those that there may be, where so many nodes share links: the most moves first.
std::vector<Folding::Nodes> moves_of(int nodes, int per_node, int together) {
  std::vector<Folding::Nodes> all;
  for (int count = nodes / together; count > 1; --count) {
    if (nodes % count != 0) continue;
    for (int stride = together; stride * count <= nodes; stride += together) {
      Folding::Nodes by{.nodes = nodes, .standing = {.stride = stride, .count = count}, .per_node = per_node};
      if (stride * count == nodes) all.push_back(by);
      by.move = Folding::Move::exclusive_or;
      const bool bits =
          std::has_single_bit(static_cast<unsigned>(count)) && std::has_single_bit(static_cast<unsigned>(stride));
      if (bits && nodes % (stride * count) == 0) all.push_back(by);
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

/// Links that stand for others: those at one place of the ways that can be moved onto each other, and who shares any.
class LinkClasses {
 public:
  /// A way of a message that some rank which stands for others sends, which is the first of these. Others are moved().
  void begin(const FabricWay& way) {
    first_ = way;
    marks_.clear();
    for (std::size_t i = 0; i < way.hops.size(); ++i) marks_.push_back(++marked_ * 0x9E3779B97F4A7C15U);
    static_cast<void>(move(way));
  }
  /// False: it is no image of the first.
  bool move(const FabricWay& way) {
    if (way.switches != first_.switches || way.hops.size() != first_.hops.size()) return false;
    for (std::size_t i = 0; i < way.hops.size(); ++i) {
      if (way.hops[i].rate != first_.hops[i].rate) return false;
      const std::size_t link = number_of(way.hops[i].link);
      join(link, number_of(first_.hops[i].link));
      // Who crosses it, whatever the order.
      links_[link].crossed += marks_[i] ^ (marks_[i] >> 29U);
    }
    return true;
  }
  /// What stands for each link, of `moves` that lead from one to the other; nothing where links that are to stand for
  /// each other are crossed by others.
  [[nodiscard]] std::optional<Folding::Links> classes(int moves) {
    std::vector<int> members(links_.size());
    for (std::size_t link = 0; link < links_.size(); ++link) {
      const std::size_t of = root(link);
      ++members[of];
      if (links_[link].crossed != links_[of].crossed) return std::nullopt;
    }
    Folding::Links all;
    for (const auto& [number, link] : numbers_) {
      const std::size_t of = root(link);
      all[number] = {links_[of].link, static_cast<double>(members[of]) / moves};
    }
    return all;
  }

 private:
  struct Link {
    std::uint64_t link = 0;
    std::uint64_t crossed = 0;
    std::size_t joined = 0;
  };
  std::size_t number_of(std::uint64_t link) {
    const auto [place, is_new] = numbers_.try_emplace(link, links_.size());
    if (is_new) links_.push_back({link, 0, links_.size()});
    return place->second;
  }
  std::size_t root(std::size_t link) {
    while (links_[link].joined != link) link = links_[link].joined = links_[links_[link].joined].joined;
    return link;
  }
  void join(std::size_t one, std::size_t other) { links_[root(one)].joined = root(other); }

  std::unordered_map<std::uint64_t, std::size_t> numbers_{};
  std::vector<Link> links_{};
  FabricWay first_{};
  std::vector<std::uint64_t> marks_{};  ///< of its hops
  std::uint64_t marked_ = 0;
};

class AlikeSearch {
 public:
  AlikeSearch(const Platform& platform, const std::vector<Place>& places, const bench::WorkloadPlan& plan)
      : topology_(platform),
        places_(places),
        work_(*plan.scheduled()),
        algorithm_(*the_algorithm(plan)),
        shape_(*plan.shape) {}

  Alike run() {
    std::size_t messages = 0;
    for (const Bytes size : work_.sizes)
      messages += bench::messages_of(algorithm_, shape_, workloads::elements_of(size));
    if (messages > kMostMessages) return {.why_all = fmt::format("{} messages are too many to compare", messages)};
    const int per_node = static_cast<int>(ranks_of_node(places_));
    const int nodes = shape_.ranks / per_node;
    std::vector<Folding::Nodes> known;  // schedules move so
    for (const Folding::Nodes& by : moves_of(nodes, per_node, nodes_of_domain(topology_, nodes))) {
      const Moves moves(by);
      // Who does the same by many moves does so by some of them.
      const bool is_known = std::ranges::any_of(known, [&](const auto& all) { return has_all_of(all, by); });
      if (!is_known && !schedules_move(moves)) continue;
      if (!is_known) known.push_back(by);
      if (auto links = links_of(moves)) return {.folding = std::make_shared<Folding>(by, std::move(*links))};
    }
    return {.why_all = known.empty() ? "no two nodes do the same, or with other lengths"
                                     : "nodes that do the same have other ways through the fabric"};
  }

 private:
  /// Of contents those of rank 0 are looked at: whoever else is wrong there learns that when they are verified.
  [[nodiscard]] bool schedules_move(const Moves& moves) const {
    const auto schedule = [&](int rank, Bytes size, Standing standing) {
      Shape shape = shape_;
      shape.standing = standing;
      return bench::schedule_of(work_, algorithm_, shape, rank, size);
    };
    const Standing same = moves.contents();
    for (const Bytes size : work_.sizes) {
      if (!hold_the_same(schedule(0, size, same), schedule(moves.moved(0, 1), size, same))) return false;
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
  /// Whatever adapters its messages take: all of a large one, or one.
  [[nodiscard]] std::optional<Folding::Links> links_of(const Moves& moves) const {
    LinkClasses classes;
    if (!topology_.platform().fabric) return classes.classes(moves.count());
    for (const int rank : moves.standing()) {
      const Schedule schedule = bench::schedule_of(work_, algorithm_, shape_, rank, work_.sizes.front());
      for (const RankId peer : workloads::peers_of(schedule)) {
        if (place(rank).node == place(peer.value).node) continue;
        std::set<Adapters> adapters;
        for (const Bytes size : {Bytes{}, 1_TiB}) {
          for (const Adapters& each : topology_.adapters(gpu(rank), gpu(peer.value), size)) adapters.insert(each);
        }
        for (const Adapters& each : adapters) {
          if (!add_ways(moves, classes, rank, peer.value, each)) return std::nullopt;
        }
      }
    }
    return classes.classes(moves.count());
  }
  [[nodiscard]] bool add_ways(const Moves& moves, LinkClasses& classes, int from, int to,
                              const Adapters& adapters) const {
    const auto ways = [&](int move) {
      return topology_.fabric_ways(*topology_.platform().fabric, place(moves.moved(from, move)).node,
                                   place(moves.moved(to, move)).node, adapters);
    };
    const std::vector<FabricWay> first = ways(0);
    for (std::size_t i = 0; i < first.size(); ++i) {
      classes.begin(first[i]);
      for (int move = 1; move < moves.count(); ++move) {
        const std::vector<FabricWay> moved = ways(move);
        if (moved.size() != first.size() || !classes.move(moved[i])) return false;
      }
    }
    return true;
  }
  [[nodiscard]] const Place& place(int rank) const { return places_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::size_t gpu(int rank) const { return topology_.gpu_of(place(rank)); }

  Topology topology_;
  const std::vector<Place>& places_;
  const bench::Scheduled& work_;
  const workloads::Algorithm& algorithm_;
  Shape shape_;
};

}  // namespace

Alike find_alike(const Platform& platform, const std::vector<Place>& places, const bench::WorkloadPlan& plan) {
  if (std::string why = why_none_is_alike(platform, places, plan); !why.empty()) return {.why_all = std::move(why)};
  return AlikeSearch(platform, places, plan).run();
}

}  // namespace twinlink::model
