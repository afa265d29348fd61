// Probes of primitives under load: copies queued behind each other, both ways at once, and by several GPUs at once.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "protocols/bench/prober.hpp"

namespace twinlink::bench {
namespace {

/// The two directions between device and pinned memory near to it, the memory that all pipelines use.
class HostCopies {
 public:
  explicit HostCopies(Prober& prober)
      : prober_(prober),
        device_(prober.rank(), Memory::device, prober.largest() * 2),
        host_(prober.rank(), Memory::pinned, prober.largest() * 2) {}

  enum class Direction { out, in };
  static std::string_view words(Direction direction) {
    return direction == Direction::out ? "device-to-pinned near" : "pinned-to-device near";
  }

  /// The directions have memory of their own, so that both may be under way.
  [[nodiscard]] View to(Direction direction, Bytes size) const {
    return direction == Direction::out ? View(host_.buffer(), Bytes{}, size)
                                       : View(device_.buffer(), prober_.largest(), size);
  }
  [[nodiscard]] View from(Direction direction, Bytes size) const {
    return direction == Direction::out ? View(device_.buffer(), Bytes{}, size)
                                       : View(host_.buffer(), prober_.largest(), size);
  }
  Op start(Direction direction, Bytes size) {
    const Stream stream{direction == Direction::out ? 0 : 1};
    return prober_.rank().copy(to(direction, size), from(direction, size), stream, Engine::dma);
  }
  void run(Direction direction, Bytes size) { prober_.finish(start(direction, size), words(direction), size); }

  void prepare(Direction direction, Bytes size, twinlink::Pattern pattern) {
    if (!prober_.plan().verify) return;
    prober_.rank().fill(from(direction, size), pattern);
    prober_.rank().fill(to(direction, size), kSentinel);
  }
  void expect(Direction direction, Bytes size, twinlink::Pattern pattern) {
    if (prober_.plan().verify) prober_.expect(to(direction, size), pattern, words(direction));
  }

 private:
  Prober& prober_;
  ScopedBuffer device_;
  ScopedBuffer host_;
};

using Direction = HostCopies::Direction;
constexpr std::array kDirections{Direction::out, Direction::in};

/// What one costs that waits behind others of its stream: less than one alone, for its launch is hidden.
void probe_queued(Prober& prober, HostCopies& copies, Direction direction) {
  const std::string name = fmt::format("queued copy {}", HostCopies::words(direction));
  for (const Bytes size : prober.plan().sizes) {
    const twinlink::Pattern pattern = prober.fresh_pattern();
    copies.prepare(direction, size, pattern);
    std::vector<double> times_us =
        prober.sample(size, [&] { prober.run_queued(name, size, [&] { return copies.start(direction, size); }); });
    for (double& time : times_us) time /= kQueuedCopies;
    prober.record(name, {}, size, std::move(times_us), true);
    copies.expect(direction, size, pattern);
  }
}

void probe_both_ways(Prober& prober, HostCopies& copies) {
  const std::string name = "copy pinned near both-ways";
  for (const Bytes size : prober.plan().sizes) {
    const twinlink::Pattern pattern = prober.fresh_pattern();
    for (const Direction direction : kDirections) copies.prepare(direction, size, pattern);
    prober.record(name, {}, size,
                  prober.sample(size,
                                [&] {
                                  const Op out = copies.start(Direction::out, size);
                                  const Op in = copies.start(Direction::in, size);
                                  prober.finish(out, name, size);
                                  prober.finish(in, name, size);
                                }),
                  true);
    for (const Direction direction : kDirections) copies.expect(direction, size, pattern);
  }
}

/// Who wrote the source last, and so in which cache it lies.
void probe_written(Prober& prober, HostCopies& copies, std::string_view writer,
                   const std::function<void(Bytes, twinlink::Pattern)>& write) {
  const std::string name = fmt::format("copy {} {}-written", HostCopies::words(Direction::in), writer);
  for (const Bytes size : prober.plan().sizes) {
    twinlink::Pattern pattern{};
    prober.record(name, {}, size,
                  prober.sample_after(
                      size,
                      [&] {
                        pattern = prober.fresh_pattern();
                        write(size, pattern);
                      },
                      [&] { copies.run(Direction::in, size); }),
                  true);
    copies.expect(Direction::in, size, pattern);
  }
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

void probe_host_copies_of(Prober& prober, std::span<const RankId> group) {
  HostCopies copies(prober);
  for (const Direction direction : kDirections) {
    const std::string name = fmt::format("copy {} of {} GPUs", HostCopies::words(direction), group.size());
    for (const Bytes size : prober.plan().sizes) {
      const twinlink::Pattern pattern = prober.fresh_pattern();
      copies.prepare(direction, size, pattern);
      prober.record(name, {}, size, prober.sample_in(group, size, [&] { copies.run(direction, size); }), true);
      copies.expect(direction, size, pattern);
    }
  }
}

/// Each writes to the next of the group, the last one to the first: every GPU sends and receives. Of two GPUs, that is
/// both ways at once.
void probe_ring_of(Prober& prober, std::span<const RankId> group) {
  Rank& rank = prober.rank();
  const auto me = static_cast<std::size_t>(std::ranges::find(group, rank.id()) - group.begin());
  const RankId next = group[(me + 1) % group.size()];
  const RankId previous = group[(me + group.size() - 1) % group.size()];

  const ScopedBuffer own(rank, Memory::device, prober.largest());
  const ScopedBuffer written(rank, Memory::device, prober.largest());
  tell_now(rank, previous, Message(rank.export_memory(written.buffer())), prober.patience());
  const Buffer theirs = rank.open_memory(next, hear_now(rank, next, prober.patience()).as<IpcHandle>());
  const std::string name = fmt::format("peer copy write direct of {} GPUs", group.size());
  twinlink::Pattern pattern{};  // the same on all of them
  for (const Bytes size : prober.plan().sizes) {
    ++pattern.seed;
    if (prober.plan().verify) {
      rank.fill(own.first(size), pattern);
      rank.fill(written.first(size), kSentinel);
    }
    std::vector<double> times_us =
        prober.sample_in(group, size, [&] { prober.copy(View(theirs, Bytes{}, size), own.first(size)); });
    meet_in(rank, group, prober.patience());  // all have written
    if (prober.plan().verify) prober.expect(written.first(size), pattern, name);
    prober.record(name, to_string(rank.place(next)), size, std::move(times_us), true);
  }
  rank.close_memory(theirs);
  meet_in(rank, group, prober.patience());
}

/// May every rank of the group write into every other's memory?
bool are_peers(Prober& prober, std::span<const RankId> group) {
  const auto refused = std::ranges::find_if(
      group, [&](RankId other) { return other != prober.rank().id() && !prober.rank().path_to(other).peer_access; });
  return agree_in(prober.rank(), group, refused == group.end() ? 1 : 0, prober.patience()) != 0;
}

}  // namespace

void probe_load(Prober& prober) {
  HostCopies copies(prober);
  for (const Direction direction : kDirections) probe_queued(prober, copies, direction);
  probe_both_ways(prober, copies);
  probe_written(prober, copies, "cpu", [&](Bytes size, twinlink::Pattern pattern) {
    prober.rank().fill(copies.from(Direction::in, size), pattern);
    if (prober.plan().verify) prober.rank().fill(copies.to(Direction::in, size), kSentinel);
  });
  const ScopedBuffer source(prober.rank(), Memory::device, prober.largest());
  probe_written(prober, copies, "device", [&](Bytes size, twinlink::Pattern pattern) {
    prober.rank().fill(source.first(size), pattern);
    if (prober.plan().verify) prober.rank().fill(copies.to(Direction::in, size), kSentinel);
    prober.copy(copies.from(Direction::in, size), source.first(size));
  });
}

void probe_together(Prober& prober) {
  const std::vector<RankId> all = ranks_with_gpus(prober.rank());
  for (std::size_t count = 2; count <= all.size(); count *= 2) {
    meet_all(prober.rank(), {prober.plan().patience});
    const std::span<const RankId> group(all.data(), count);
    if (std::ranges::find(group, prober.rank().id()) == group.end()) continue;
    probe_host_copies_of(prober, group);
    if (are_peers(prober, group)) probe_ring_of(prober, group);
  }
}

}  // namespace twinlink::bench
