#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "protocols/bench/probe/probed.hpp"
#include "protocols/bench/probe/prober.hpp"
#include "protocols/core/tags.hpp"

namespace twinlink::bench {
namespace {

constexpr Tag kProbeTag{tags::kFirstFree.value + 1};

std::string place_of(Prober& prober, RankId rank) { return to_string(prober.rank().place(rank)); }

void send_handle(Prober& prober, RankId peer, const ScopedBuffer& memory) {
  const IpcHandle handle = prober.rank().export_memory(memory.buffer());
  send_control_now(prober.rank(), peer, ControlMessage(handle), prober.patience());
}
IpcHandle receive_handle(Prober& prober, RankId peer) {
  return recv_control_now(prober.rank(), peer, prober.patience()).as<IpcHandle>();
}

/// Drivers map large pages whole: below that, allocations of all sizes cost the same.
constexpr Bytes kSmallestMapped{2U << 20U};

/// Sizes at which the cost of mapping may differ; the largest one if it is smaller than that.
std::vector<Bytes> mapped_sizes(const std::vector<Bytes>& sizes) {
  std::vector<Bytes> mapped;
  std::ranges::copy_if(sizes, std::back_inserter(mapped), [](Bytes size) { return size >= kSmallestMapped; });
  if (mapped.empty()) mapped.push_back(sizes.back());
  return mapped;
}

constexpr Probed kHandleOpen{.what = Probed::What::handle_open};
constexpr Probed kHandleClose{.what = Probed::What::handle_close};

/// Times how long it takes to map the peer's memory.
void probe_handle(Prober& prober, RankId owner, const IpcHandle& handle) {
  MeasuredRank& rank = prober.rank();
  const Bytes size{handle.size};
  std::vector<double> opening;
  std::vector<double> closing;
  Buffer opened;
  const auto open = [&] { opened = rank.open_memory(owner, handle); };
  for (int i = 0; i < prober.repeats(size).iterations; ++i) {
    opening.push_back(time_round(rank, open));
    closing.push_back(time_round(rank, [&] { rank.close_memory(opened); }));
  }
  prober.record(to_string(kHandleOpen), place_of(prober, owner), size, {std::move(opening)}, false);
  prober.record(to_string(kHandleClose), place_of(prober, owner), size, {std::move(closing)}, false);
}

/// The follower's allocations of several sizes, mapped by the leader.
void probe_handles(Prober& prober, RankId peer, bool leading) {
  if (!prober.wants(to_string(kHandleOpen)) && !prober.wants(to_string(kHandleClose))) return;
  for (const Bytes size : mapped_sizes(prober.plan().sizes)) {
    if (leading) {
      probe_handle(prober, peer, receive_handle(prober, peer));
      synchronize(prober.rank(), peer, prober.patience());
    } else {
      const ScopedBuffer memory(prober.rank(), Memory::device, size);
      send_handle(prober, peer, memory);
      synchronize(prober.rank(), peer, Patience::of_turn(prober.plan().timeout));
    }
  }
}

using PeerWay = Probed::Peer;

/// The lines of copies of one size; those that are not measured have no name. The same at both ends.
struct PeerLines {
  std::string alone{};
  std::string queued{};
  std::string start{};

  [[nodiscard]] bool any() const { return !alone.empty() || !queued.empty() || !start.empty(); }
};

PeerLines lines_of(const Prober& prober, PeerWay way, Engine engine, bool direct, Bytes size) {
  // `direct`: the devices reach each other's memory.
  const auto wanted = [&](Probed::How how) {
    std::string name = to_string({.how = how, .engine = engine, .peer = way, .direct = direct});
    return prober.wants(name) ? name : std::string{};
  };
  PeerLines lines{.alone = wanted(Probed::How::alone)};
  // Reading kernels follow each other as writing ones do, and what the driver stages is alike both ways.
  if (way == PeerWay::write || (engine == Engine::dma && direct)) lines.queued = wanted(Probed::How::queued);
  if (way == PeerWay::write && prober.times_cpu_at(size)) lines.start = wanted(Probed::How::start);
  return lines;
}

/// Whether the devices reach each other's memory, as the leader sees it.
bool agree_on_access(Prober& prober, RankId peer, bool leading) {
  return agree(prober.rank(), peer, leading, prober.rank().path_to(peer).peer_access ? 1 : 0, prober.patience()) != 0;
}

/// The rank that copies.
class PeerCopier {
 public:
  PeerCopier(Prober& prober, RankId owner)
      : prober_(prober),
        owner_(owner),
        direct_(agree_on_access(prober, owner, true)),
        own_(prober.rank(), Memory::device, prober.largest()),
        remote_(prober.rank().open_memory(owner, receive_handle(prober, owner))) {}

  [[nodiscard]] bool direct() const { return direct_; }

  /// Can this machine copy so between the two? The owner learns it too.
  bool offers(PeerWay way, Engine engine) {
    const Buffer own = own_.buffer();
    const bool writes = way == PeerWay::write;
    const bool possible = (direct_ || engine == Engine::dma) &&
                          can_copy(prober_, words(way, engine), writes ? remote_ : own, writes ? own : remote_, engine);
    return agree(prober_.rank(), owner_, true, possible ? 1 : 0, prober_.patience()) != 0;
  }

  void write(Bytes size, twinlink::Payload pattern, Engine engine, const PeerLines& lines) {
    if (prober_.plan().verify) prober_.rank().fill(own_.first(size), pattern);
    synchronize(prober_.rank(), owner_, prober_.patience());
    measure({View(remote_, Bytes{}, size), own_.first(size)}, engine, lines);
    synchronize(prober_.rank(), owner_, prober_.patience());
  }

  void read(Bytes size, twinlink::Payload pattern, Engine engine, const PeerLines& lines) {
    if (prober_.plan().verify) prober_.rank().fill(own_.first(size), kSentinel);
    synchronize(prober_.rank(), owner_, prober_.patience());
    measure({own_.first(size), View(remote_, Bytes{}, size)}, engine, lines);
    if (prober_.plan().verify) prober_.expect(own_.first(size), pattern, "peer copy read");
    synchronize(prober_.rank(), owner_, prober_.patience());
  }

  void close() { prober_.rank().close_memory(remote_); }

 private:
  /// As can_copy() wants them.
  [[nodiscard]] std::string words(PeerWay way, Engine engine) const {
    if (engine != Engine::dma) return way_of({.engine = engine, .peer = way});
    return fmt::format("{}{}", direct_ ? "" : "staged ", way == PeerWay::write ? kPeerWrites : kPeerReads);
  }

  void record(const std::string& name, Bytes size, Rounds rounds, bool moves_bytes) {
    prober_.record(name, place_of(prober_, owner_), size, std::move(rounds), moves_bytes);
  }

  void measure(const Move& move, Engine engine, const PeerLines& lines) {
    const Bytes size = move.to.length;
    const auto start = [&] { return prober_.rank().copy(move.to, move.from, Stream{0}, engine); };
    if (!lines.alone.empty()) {
      record(lines.alone, size, prober_.sample(size, [&] { prober_.copy(move.to, move.from, engine); }), true);
    }
    if (!lines.queued.empty()) record(lines.queued, size, prober_.sample_queued(lines.queued, size, start), true);
    if (!lines.start.empty()) record(lines.start, size, prober_.sample_start(lines.start, size, start), false);
  }

  Prober& prober_;
  RankId owner_;
  bool direct_;
  ScopedBuffer own_;
  Buffer remote_;
};

/// The rank whose memory is written and read. It does nothing but prove what happened: without peer access, and on
/// some machines with it, a write may be lost that its writer believes done.
class PeerOwner {
 public:
  PeerOwner(Prober& prober, RankId copier)
      : prober_(prober),
        copier_(copier),
        direct_(agree_on_access(prober, copier, false)),
        memory_(prober.rank(), Memory::device, prober.largest()) {
    send_handle(prober, copier, memory_);
  }

  [[nodiscard]] bool direct() const { return direct_; }

  bool offers(PeerWay, Engine) { return agree(prober_.rank(), copier_, false, 0, prober_.patience()) != 0; }

  void write(Bytes size, twinlink::Payload pattern, Engine, const PeerLines&) {
    if (prober_.plan().verify) prober_.rank().fill(memory_.first(size), kSentinel);
    wait_for_copier();
    if (prober_.plan().verify) prober_.expect(memory_.first(size), pattern, "peer copy write");
  }

  void read(Bytes size, twinlink::Payload pattern, Engine, const PeerLines&) {
    if (prober_.plan().verify) prober_.rank().fill(memory_.first(size), pattern);
    wait_for_copier();
  }

 private:
  void wait_for_copier() {
    synchronize(prober_.rank(), copier_, prober_.patience());
    synchronize(prober_.rank(), copier_, Patience::of_turn(prober_.plan().timeout));
  }

  Prober& prober_;
  RankId copier_;
  bool direct_;
  ScopedBuffer memory_;
};

/// Both ends go through the same sizes with the same patterns.
template <class End>
void copy_all_sizes(Prober& prober, End& end) {
  std::uint64_t seed = 0;
  for (const Engine engine : {Engine::dma, Engine::kernel, Engine::resident}) {
    for (const PeerWay way : {PeerWay::write, PeerWay::read}) {
      if (engine == Engine::resident && way == PeerWay::read) continue;  // it only writes
      const auto lines_at = [&](Bytes size) { return lines_of(prober, way, engine, end.direct(), size); };
      const auto wanted = [&](Bytes size) { return lines_at(size).any(); };
      if (std::ranges::none_of(prober.plan().sizes, wanted) || !end.offers(way, engine)) continue;
      for (const Bytes size : prober.plan().sizes) {
        const PeerLines lines = lines_at(size);
        if (!lines.any()) continue;
        if (way == PeerWay::write) {
          end.write(size, {++seed}, engine, lines);
        } else {
          end.read(size, {++seed}, engine, lines);
        }
      }
    }
  }
}

/// Messages of both ends between host buffers, and one round of them in turn or at once.
class Messages {
 public:
  Messages(Prober& prober, RankId peer, bool leading, Memory memory)
      : prober_(prober),
        peer_(peer),
        leading_(leading),
        out_(prober.rank(), memory, prober.largest()),
        in_(prober.rank(), memory, prober.largest()) {}

  void there_and_back(std::string_view name, Bytes size) {
    if (leading_) prober_.finish(send(size), name, size);
    prober_.finish(receive(size), name, size);
    if (!leading_) prober_.finish(send(size), name, size);
  }
  void both_ways(std::string_view name, Bytes size) {
    const Op received = receive(size);
    const Op sent = send(size);
    prober_.finish(received, name, size);
    prober_.finish(sent, name, size);
  }

  /// A line for every size; a round has `in_turn` messages one after the other.
  void record(const std::string& name, int in_turn, const std::function<void(Bytes size)>& round) {
    prober_.record_messages(name, peer_, leading_, {out_, in_}, in_turn, [&](Bytes size) {
      return prober_.sample_with(peer_, leading_, size, [&] { round(size); });
    });
  }

 private:
  Op send(Bytes size) { return prober_.rank().send(peer_, kProbeTag, out_.first(size)); }
  Op receive(Bytes size) { return prober_.rank().receive(peer_, kProbeTag, in_.first(size)); }

  Prober& prober_;
  RankId peer_;
  bool leading_;
  ScopedBuffer out_;
  ScopedBuffer in_;
};

void probe_control(Prober& prober, RankId peer, bool leading, const std::string& name) {
  if (!prober.wants(name)) return;
  constexpr std::uint64_t kContent = 0;
  Rounds rounds = prober.sample_with(peer, leading, Bytes{sizeof kContent}, [&] {
    if (leading) send_control_now(prober.rank(), peer, ControlMessage(kContent), prober.patience());
    recv_control_now(prober.rank(), peer, prober.patience());
    if (!leading) send_control_now(prober.rank(), peer, ControlMessage(kContent), prober.patience());
  });
  rounds /= 2;
  if (leading) prober.record(name, place_of(prober, peer), Bytes{sizeof kContent}, std::move(rounds), false);
}

}  // namespace

void probe_peer_copies(Prober& prober, RankId peer, bool leading) {
  const Path& path = prober.rank().path_to(peer);
  if (!path.device_mapping) {
    if (!leading || !path.same_node) return;
    const Rank& rank = prober.rank();
    prober.note(fmt::format("{} to {}: no peer copies: {}", to_string(rank.place(rank.id())),
                            to_string(rank.place(peer)), path.device_mapping.reason));
    return;
  }
  probe_handles(prober, peer, leading);
  if (!leading) {
    PeerOwner owner(prober, peer);
    copy_all_sizes(prober, owner);
    synchronize(prober.rank(), peer, prober.patience());
    return;
  }
  if (!path.peer_access) {
    prober.note(fmt::format("{} to {}: peer copies are staged: {}", place_of(prober, prober.rank().id()),
                            place_of(prober, peer), path.peer_access.reason));
  }
  PeerCopier copier(prober, peer);
  copy_all_sizes(prober, copier);
  copier.close();
  synchronize(prober.rank(), peer, prober.patience());
}

void probe_messages(Prober& prober, RankId peer, bool leading) {
  using enum Probed::What;
  const bool same_node = prober.rank().path_to(peer).same_node;
  for (const Memory memory : {Memory::pinned, Memory::pageable}) {
    const Probed alone{.what = message, .from = memory, .to = memory, .same_node = same_node};
    const std::string name = to_string(alone);
    Messages messages(prober, peer, leading, memory);
    messages.record(name, 2, [&](Bytes size) { messages.there_and_back(name, size); });
    if (memory != Memory::pageable) continue;
    Probed at_once = alone;
    at_once.how = Probed::How::both_ways;
    const std::string both = to_string(at_once);
    messages.record(both, 1, [&](Bytes size) { messages.both_ways(both, size); });
  }
  probe_control(prober, peer, leading, to_string({.what = control, .same_node = same_node}));
}

}  // namespace twinlink::bench
