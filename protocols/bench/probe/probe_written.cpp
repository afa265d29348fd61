// Probes of copies and messages whose source was just written, by a copy that is in no time: by the CPU from host
// memory, as messages are written, which leaves the bytes dirty in its cache; from the device to pinned memory, which
// leaves them in no CPU's cache; or from the device to pageable memory, where the driver's CPU writes them in its own
// way: past the caches, as it seems; that CPU is the rank's, or that of a thread beside it. What a thread copies in,
// the rank's CPU has written. In all other lines the source was written long before. And probes of copies into what a
// CPU has just read, so that its cache holds it.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "protocols/bench/probe/prober.hpp"
#include "protocols/core/tags.hpp"

namespace twinlink::bench {
namespace {

/// Of their own, so that no other probe's message takes their place.
constexpr Tag kWrittenTag{tags::kFirstFree.value + 3};

constexpr std::string_view kOnHost = "host-to-host";
constexpr std::string_view kOut = "device-to-pinned near";
constexpr std::string_view kOutByDriver = "device-to-pageable near";
constexpr std::string_view kOutByThread = "thread-to-pageable";
constexpr std::string_view kInByThread = "thread-from-pageable";

/// Before each round, what the copy reads is written anew, from `origin`. That is not timed.
void probe_written_copy(Prober& prober, const std::string& name, const Move& move, View origin,
                        Engine engine = Engine::dma) {
  prober.record_copies(name, move, [&](const Move& part) {
    const View kept = origin.slice(Bytes{}, part.from.length);
    prober.copy(kept, part.from);
    return prober.sample_after(
        part.from.length, [&] { prober.copy(part.from, kept); }, [&] { prober.copy(part.to, part.from, engine); });
  });
}

/// Before each round, which is not timed, the CPU reads what the copy will write, a piece at a time into the same
/// place, as it reads a message. It must not write there: what it has changed takes longer to give up.
void probe_held_copy(Prober& prober, const std::string& name, const Move& move, Engine engine = Engine::dma) {
  const ScopedBuffer place(prober.rank(), Memory::pageable, std::min(kReadPiece, move.to.length));
  const auto read = [&](View view) {
    for (Bytes at{}; at < view.length; at = at + kReadPiece) {
      const Bytes piece = std::min(kReadPiece, view.length - at);
      prober.copy(place.first(piece), view.slice(at, piece));
    }
  };
  prober.record_copies(name, move, [&](const Move& part) {
    return prober.sample_after(
        part.to.length, [&] { read(part.to); }, [&] { prober.copy(part.to, part.from, engine); });
  });
}

/// One end of messages there and back. Before each round, both ends copy from memory of the kind `origin` what they
/// will send, by `engine`.
class WrittenMessages {
 public:
  WrittenMessages(Prober& prober, RankId peer, bool leading, Memory memory, Memory origin, Engine engine = Engine::dma)
      : prober_(prober),
        peer_(peer),
        leading_(leading),
        engine_(engine),
        origin_(prober.rank(), origin, prober.largest()),
        out_(prober.rank(), memory, prober.largest()),
        in_(prober.rank(), memory, prober.largest()) {}

  /// Can both ends copy so?
  [[nodiscard]] bool possible(std::string_view words) {
    const bool mine = can_copy(prober_, words, out_.buffer(), origin_.buffer(), engine_);
    return agree_in(prober_.rank(), leader_first(prober_.rank().id(), peer_, leading_), mine ? 1 : 0,
                    prober_.patience()) != 0;
  }

  /// A line for every size.
  void record(const std::string& name) {
    prober_.record_messages(name, peer_, leading_, {origin_, in_}, 2, [&](Bytes size) {
      return prober_.sample_timed_with(peer_, leading_, size, [&] { return there_and_back(name, size); });
    });
  }

 private:
  /// The leader begins when the follower has written, too, and awaits its message.
  double there_and_back(const std::string& name, Bytes size) {
    Rank& rank = prober_.rank();
    prober_.copy(out_.first(size), origin_.first(size), engine_);
    if (leading_) {
      hear_now(rank, peer_, prober_.patience());
      const auto round = [&] {
        prober_.finish(send(size), name, size);
        prober_.finish(receive(size), name, size);
      };
      return time_round(rank, round);
    }
    const Op received = receive(size);
    tell_now(rank, peer_, Message(), prober_.patience());
    const auto round = [&] {
      prober_.finish(received, name, size);
      prober_.finish(send(size), name, size);
    };
    return time_round(rank, round);
  }

  Op send(Bytes size) { return prober_.rank().send(peer_, kWrittenTag, out_.first(size)); }
  Op receive(Bytes size) { return prober_.rank().receive(peer_, kWrittenTag, in_.first(size)); }

  Prober& prober_;
  RankId peer_;
  bool leading_;
  Engine engine_;
  ScopedBuffer origin_;
  ScopedBuffer out_;
  ScopedBuffer in_;
};

/// Copies by a thread from what the rank's own CPU has written, and into what it has read.
void probe_threads_after_cpu(Prober& prober) {
  Rank& rank = prober.rank();
  const ScopedBuffer device(rank, Memory::device, prober.largest());
  const ScopedBuffer host(rank, Memory::pageable, prober.largest());
  const ScopedBuffer on_host(rank, Memory::pageable, prober.largest());
  const View inside(device.buffer());
  const View outside(host.buffer());
  if (!can_copy(prober, kOnHost, host.buffer(), on_host.buffer())) return;
  if (can_copy(prober, kInByThread, device.buffer(), host.buffer(), Engine::thread)) {
    probe_written_copy(prober, fmt::format("copy {} cpu-written", kInByThread), {inside, outside},
                       View(on_host.buffer()), Engine::thread);
  }
  if (can_copy(prober, kOutByThread, host.buffer(), device.buffer(), Engine::thread)) {
    probe_held_copy(prober, fmt::format("copy {} cpu-read", kOutByThread), {outside, inside}, Engine::thread);
  }
}

}  // namespace

void probe_written(Prober& prober) {
  Rank& rank = prober.rank();
  const ScopedBuffer device(rank, Memory::device, prober.largest());
  const ScopedBuffer on_host(rank, Memory::pageable, prober.largest());
  for (const Memory memory : {Memory::pinned, Memory::pageable}) {
    const ScopedBuffer host(rank, memory, prober.largest());
    const std::string words = fmt::format("{}-to-device near", to_string(memory));
    if (!can_copy(prober, words, device.buffer(), host.buffer())) continue;
    const Move in{View(device.buffer()), View(host.buffer())};
    if (can_copy(prober, kOnHost, host.buffer(), on_host.buffer())) {
      probe_written_copy(prober, fmt::format("copy {} cpu-written", words), in, View(on_host.buffer()));
    }
    if (memory != Memory::pinned) continue;  // no protocol copies in again what the driver has copied out
    const ScopedBuffer on_device(rank, Memory::device, prober.largest());
    if (can_copy(prober, kOut, host.buffer(), on_device.buffer())) {
      const Move out{View(host.buffer()), View(on_device.buffer())};
      if (can_copy(prober, kOnHost, on_host.buffer(), host.buffer())) {
        probe_held_copy(prober, fmt::format("copy {} cpu-read", kOut), out);
      }
      probe_written_copy(prober, fmt::format("copy {} device-written", words), in, View(on_device.buffer()));
    }
  }
  probe_threads_after_cpu(prober);
}

void probe_written_messages(Prober& prober, RankId peer, bool leading) {
  const std::string_view where = prober.rank().path_to(peer).same_node ? "same-node" : "other-node";
  WrittenMessages by_cpu(prober, peer, leading, Memory::pageable, Memory::pageable);
  if (by_cpu.possible(kOnHost)) by_cpu.record(fmt::format("message pageable {} cpu-written", where));
  WrittenMessages by_driver(prober, peer, leading, Memory::pageable, Memory::device);
  if (by_driver.possible(kOutByDriver)) by_driver.record(fmt::format("message pageable {} driver-written", where));
  WrittenMessages by_thread(prober, peer, leading, Memory::pageable, Memory::device, Engine::thread);
  if (by_thread.possible(kOutByThread)) by_thread.record(fmt::format("message pageable {} thread-written", where));
  WrittenMessages by_device(prober, peer, leading, Memory::pinned, Memory::device);
  if (by_device.possible(kOut)) by_device.record(fmt::format("message pinned {} device-written", where));
}

}  // namespace twinlink::bench
