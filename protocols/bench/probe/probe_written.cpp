// Probes of copies and messages whose source was just written, by a copy that is in no time: by the CPU from host
// memory, as messages are written, which leaves the bytes dirty in its cache; from the device to pinned memory, which
// leaves them in no CPU's cache; or from the device to pageable memory, where the driver's CPU writes them in its own
// way: past the caches, as it seems. In all other lines the source was written long before.
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

/// Before each round, what the copy reads is written anew, from `origin`. That is not timed.
void probe_written_copy(Prober& prober, const std::string& name, const Move& move, View origin) {
  prober.record_copies(name, move, [&](const Move& part) {
    const View kept = origin.slice(Bytes{}, part.from.length);
    prober.copy(kept, part.from);
    return prober.sample_after(
        part.from.length, [&] { prober.copy(part.from, kept); }, [&] { prober.copy(part.to, part.from); });
  });
}

/// One end of messages there and back. Before each round, both ends copy from memory of the kind `origin` what they
/// will send.
class WrittenMessages {
 public:
  WrittenMessages(Prober& prober, RankId peer, bool leading, Memory memory, Memory origin)
      : prober_(prober),
        peer_(peer),
        leading_(leading),
        origin_(prober.rank(), origin, prober.largest()),
        out_(prober.rank(), memory, prober.largest()),
        in_(prober.rank(), memory, prober.largest()) {}

  /// Can both ends copy so?
  [[nodiscard]] bool possible(std::string_view words) {
    const bool mine = can_copy(prober_, words, out_.buffer(), origin_.buffer());
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
    prober_.copy(out_.first(size), origin_.first(size));
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
  ScopedBuffer origin_;
  ScopedBuffer out_;
  ScopedBuffer in_;
};

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
      probe_written_copy(prober, fmt::format("copy {} device-written", words), in, View(on_device.buffer()));
    }
  }
}

void probe_written_messages(Prober& prober, RankId peer, bool leading) {
  const std::string_view where = prober.rank().path_to(peer).same_node ? "same-node" : "other-node";
  WrittenMessages by_cpu(prober, peer, leading, Memory::pageable, Memory::pageable);
  if (by_cpu.possible(kOnHost)) by_cpu.record(fmt::format("message pageable {} cpu-written", where));
  WrittenMessages by_driver(prober, peer, leading, Memory::pageable, Memory::device);
  if (by_driver.possible(kOutByDriver)) by_driver.record(fmt::format("message pageable {} driver-written", where));
  WrittenMessages by_device(prober, peer, leading, Memory::pinned, Memory::device);
  if (by_device.possible(kOut)) by_device.record(fmt::format("message pinned {} device-written", where));
}

}  // namespace twinlink::bench
