// Probes of what a copy alone does not tell: what of it the CPU does, copies queued behind each other, both ways at
// once, and by several GPUs at once.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "protocols/bench/measure/pairs.hpp"
#include "protocols/bench/probe/probed.hpp"
#include "protocols/bench/probe/prober.hpp"

namespace twinlink::bench {
namespace {

/// Does a copy read the device, or write it?
enum class CopyWay { out, in };

/// The two directions between device and a kind of host memory near to it.
class HostCopies {
 public:
  explicit HostCopies(Prober& prober, Memory memory)
      : prober_(prober),
        memory_(memory),
        device_(prober.rank(), Memory::device, prober.largest() * 2),
        host_(prober.rank(), memory, prober.largest() * 2) {}

  [[nodiscard]] Probed copy(CopyWay direction, Probed::How how = Probed::How::alone) const {
    if (direction == CopyWay::out) return {.how = how, .from = Memory::device, .to = memory_};
    return {.how = how, .from = memory_, .to = Memory::device};
  }

  /// The directions have memory of their own, so that both may be under way.
  [[nodiscard]] Move move(CopyWay direction) const {
    const Bytes half = prober_.largest();
    const Move out{host_.first(half), device_.first(half)};
    const Move in{View(device_.buffer(), half, half), View(host_.buffer(), half, half)};
    return direction == CopyWay::out ? out : in;
  }
  [[nodiscard]] bool possible(CopyWay direction) const {
    return can_copy(prober_, way_of(copy(direction)), move(direction).to.buffer, move(direction).from.buffer);
  }
  /// A part of move(direction), in the direction's own stream.
  Op start(CopyWay direction, const Move& part) {
    const Stream stream{direction == CopyWay::out ? 0 : 1};
    return prober_.rank().copy(part.to, part.from, stream, Engine::dma);
  }
  void run(CopyWay direction, const Move& part) {
    prober_.finish(start(direction, part), way_of(copy(direction)), part.to.length);
  }

 private:
  Prober& prober_;
  Memory memory_;
  ScopedBuffer device_;
  ScopedBuffer host_;
};

constexpr std::array kDirections{CopyWay::out, CopyWay::in};

/// What the CPU does until the next line of a program runs, behind another copy: `overhead` of a platform's copies.
void probe_start(Prober& prober, HostCopies& copies, CopyWay direction) {
  const std::string name = to_string(copies.copy(direction, Probed::How::start));
  if (!prober.wants(name)) return;
  for (const Bytes size : prober.plan().sizes) {
    if (!prober.times_cpu_at(size)) continue;
    const Move move = copies.move(direction).first(size);
    const auto start = [&] { return copies.start(direction, move); };
    prober.record(name, {}, size, prober.sample_start(name, size, start), false);
  }
}

/// What the CPU does to learn that a copy has ended. Copies by the CPU pass the time until then: they look after no
/// other operation, and they take time on a simulated machine, too, whose clock stands still for those who only look at
/// it. Small ones, for a driver whose code has left the caches takes four times as long to learn it.
void probe_finish(Prober& prober, HostCopies& copies) {
  constexpr int kTimesAsLong = 10;
  constexpr int kMostMeanwhile = 20'000;
  constexpr Bytes kInCache = 4_KiB;
  MeasuredRank& rank = prober.rank();
  constexpr CopyWay kDirection = CopyWay::out;
  const std::string name = to_string(Probed{.what = Probed::What::finish});
  if (!prober.wants(name)) return;
  const Bytes size = prober.plan().sizes.front();
  const Move move = copies.move(kDirection).first(size);
  const ScopedBuffer to(rank, Memory::pageable, kInCache);
  const ScopedBuffer from(rank, Memory::pageable, kInCache);
  if (!can_copy(prober, way_of(Probed{.from = Memory::pageable, .to = Memory::pageable}), to.buffer(), from.buffer()))
    return;

  const double alone_us = summarize(prober.sample(size, [&] { copies.run(kDirection, move); })).median;
  bool in_time = true;
  const auto meanwhile = [&] {
    const Seconds end = rank.now() + Seconds{alone_us * 1e-6 * kTimesAsLong};
    int copied = 0;
    for (Seconds before{-1}; before < rank.now() && rank.now() < end && copied < kMostMeanwhile; ++copied) {
      before = rank.now();
      prober.copy(View(to.buffer()), View(from.buffer()));
    }
    in_time = in_time && copied < kMostMeanwhile;
  };
  const auto start = [&] { return copies.start(kDirection, move); };
  Rounds rounds = prober.sample_finish(name, size, start, meanwhile);
  if (in_time) return prober.record(name, {}, size, std::move(rounds), false);
  prober.note(fmt::format("no line for '{}': a copy takes {:.0f} us, too long to be passed by copies of {}", name,
                          alone_us, format_size(kInCache)));
}

/// What the CPU does to learn that a copy has not ended yet: one that takes much longer than a look.
void probe_look(Prober& prober) {
  constexpr Bytes kLong = 4_MiB;
  const std::string name = to_string(Probed{.what = Probed::What::look});
  if (!prober.wants(name)) return;
  const ScopedBuffer device(prober.rank(), Memory::device, kLong);
  const ScopedBuffer host(prober.rank(), Memory::pinned, kLong);
  if (!can_copy(prober, way_of(Probed{.to = Memory::pinned}), host.buffer(), device.buffer())) return;
  const auto start = [&] { return prober.rank().copy(View(host.buffer()), View(device.buffer()), {}, Engine::dma); };
  prober.record(name, {}, kLong, prober.sample_look(name, kLong, start), false);
}

/// What one costs that waits behind others of its stream: less than one alone, for its launch is hidden.
void probe_queued(Prober& prober, HostCopies& copies, CopyWay direction) {
  const std::string name = to_string(copies.copy(direction, Probed::How::queued));
  prober.record_copies(name, copies.move(direction), [&](const Move& move) {
    return prober.sample_queued(name, move.to.length, [&] { return copies.start(direction, move); });
  });
}

/// By this rank alone, or by all of a group at once.
void probe_both_ways(Prober& prober, HostCopies& copies, std::span<const RankId> group) {
  Probed both_ways = copies.copy(CopyWay::in, Probed::How::both_ways);
  both_ways.gpus = std::max<std::size_t>(group.size(), 1);
  const std::string name = to_string(both_ways);
  const std::array both{copies.move(CopyWay::out), copies.move(CopyWay::in)};
  prober.record_copies(name, both, [&](std::span<const Move> moves) {
    const Bytes size = moves[0].to.length;
    const auto round = [&] {
      const Op out = copies.start(CopyWay::out, moves[0]);
      const Op in = copies.start(CopyWay::in, moves[1]);
      prober.finish(out, name, size);
      prober.finish(in, name, size);
    };
    return group.empty() ? prober.sample(size, round) : prober.sample_in(group, size, round);
  });
}

/// Ranks of rank 0's node, one for each GPU. The same on every rank.
std::vector<RankId> ranks_with_gpus(const Rank& rank) {
  std::vector<RankId> found;
  for (RankId candidate{0}; candidate.value < rank.ranks(); ++candidate.value) {
    if (rank.place(candidate).node != rank.place(RankId{0}).node || repeats_a_place(rank, candidate)) continue;
    found.push_back(candidate);
  }
  return found;
}

/// What one of a group cannot do, none of it measures. Every rank of it makes the same call.
bool all_can(Prober& prober, std::span<const RankId> group, bool possible) {
  return agree_in(prober.rank(), group, possible ? 1 : 0, prober.patience()) != 0;
}

/// All of the group run `copy` at once, each between memory of its own.
void probe_copies_of(Prober& prober, std::span<const RankId> group, Probed what, const Move& move,
                     const std::function<void(const Move& part)>& copy) {
  what.gpus = group.size();
  prober.record_copies(to_string(what), move,
                       [&](const Move& part) { return prober.sample_in(group, part.to.length, [&] { copy(part); }); });
}

void probe_device_copies_of(Prober& prober, std::span<const RankId> group, Memory memory) {
  HostCopies copies(prober, memory);
  bool both = true;
  for (const CopyWay direction : kDirections) {
    const bool possible = all_can(prober, group, copies.possible(direction));
    both = both && possible;
    if (!possible) continue;
    probe_copies_of(prober, group, copies.copy(direction), copies.move(direction),
                    [&](const Move& part) { copies.run(direction, part); });
  }
  if (memory == Memory::pinned && both) probe_both_ways(prober, copies, group);
}

/// By the CPUs, which share the memory.
void probe_host_copies_of(Prober& prober, std::span<const RankId> group) {
  const Probed by_cpu{.from = Memory::pageable, .to = Memory::pageable};
  const ScopedBuffer to(prober.rank(), Memory::pageable, prober.largest());
  const ScopedBuffer from(prober.rank(), Memory::pageable, prober.largest());
  if (!all_can(prober, group, can_copy(prober, way_of(by_cpu), to.buffer(), from.buffer()))) return;
  probe_copies_of(prober, group, by_cpu, {View(to.buffer()), View(from.buffer())},
                  [&](const Move& part) { prober.copy(part.to, part.from); });
}

/// Each writes to the next of the group, the last one to the first, or reads from it: every GPU sends and receives. Of
/// two GPUs, that is both ways at once.
void probe_ring_of(Prober& prober, std::span<const RankId> group) {
  MeasuredRank& rank = prober.rank();
  const auto me = static_cast<std::size_t>(std::ranges::find(group, rank.id()) - group.begin());
  const RankId next = group[(me + 1) % group.size()];
  const RankId previous = group[(me + group.size() - 1) % group.size()];

  const ScopedBuffer own(rank, Memory::device, prober.largest());
  const ScopedBuffer shared(rank, Memory::device, prober.largest());
  send_control_now(rank, previous, ControlMessage(rank.export_memory(shared.buffer())), prober.patience());
  const Buffer theirs = rank.open_memory(next, recv_control_now(rank, next, prober.patience()).as<IpcHandle>());
  twinlink::Payload pattern{};  // the same on all of them
  const auto probe = [&](const std::string& name, const Move& whole, Buffer source, Buffer target) {
    if (!prober.wants(name)) return;
    for (const Bytes size : prober.plan().sizes) {
      ++pattern.seed;
      if (prober.plan().verify) {
        rank.fill(View(source, Bytes{}, size), pattern);
        rank.fill(View(target, Bytes{}, size), kSentinel);
      }
      const Move part = whole.first(size);
      Rounds rounds = prober.sample_in(group, size, [&] { prober.copy(part.to, part.from); });
      meet_in(rank, group, prober.patience());
      if (prober.plan().verify) prober.expect(View(target, Bytes{}, size), pattern, name);
      prober.record(name, to_string(rank.place(next)), size, std::move(rounds), true);
    }
  };
  const Buffer mine = own.buffer();
  if (all_can(prober, group, can_copy(prober, kPeerWrites, theirs, mine))) {
    probe(to_string(Probed{.peer = Probed::Peer::write, .gpus = group.size()}), {View(theirs), View(mine)}, mine,
          shared.buffer());
  }
  if (all_can(prober, group, can_copy(prober, kPeerReads, mine, theirs))) {
    probe(to_string(Probed{.peer = Probed::Peer::read, .gpus = group.size()}), {View(mine), View(theirs)},
          shared.buffer(), mine);
  }
  rank.close_memory(theirs);
  meet_in(rank, group, prober.patience());
}

/// May every rank of the group write into every other's memory?
bool are_peers(Prober& prober, std::span<const RankId> group) {
  const auto refused = std::ranges::find_if(
      group, [&](RankId other) { return other != prober.rank().id() && !prober.rank().path_to(other).peer_access; });
  return all_can(prober, group, refused == group.end());
}

}  // namespace

void probe_load(Prober& prober) {
  HostCopies copies(prober, Memory::pinned);
  const bool out = copies.possible(CopyWay::out);
  const bool in = copies.possible(CopyWay::in);
  for (const CopyWay direction : kDirections) {
    if (!(direction == CopyWay::out ? out : in)) continue;
    probe_start(prober, copies, direction);
    probe_queued(prober, copies, direction);
  }
  if (out) {
    probe_finish(prober, copies);
    probe_look(prober);
  }
  if (out && in) probe_both_ways(prober, copies, {});
}

void probe_together(Prober& prober) {
  const std::vector<RankId> all = ranks_with_gpus(prober.rank());
  for (std::size_t count = 2; count <= all.size(); count *= 2) {
    meet_all(prober.rank(), Patience::of_turn(prober.plan().timeout));
    const std::span<const RankId> group(all.data(), count);
    if (std::ranges::find(group, prober.rank().id()) == group.end()) continue;
    for (const Memory memory : {Memory::pinned, Memory::pageable}) probe_device_copies_of(prober, group, memory);
    probe_host_copies_of(prober, group);
    if (are_peers(prober, group)) probe_ring_of(prober, group);
  }
  probe_rings(prober, all);
}

}  // namespace twinlink::bench
