// Probes of copies that a thread beside the rank's own has made between its device and pageable memory.
#include <array>

#include <fmt/format.h>

#include "protocols/bench/probe/prober.hpp"

namespace twinlink::bench {
namespace {

constexpr std::string_view kOut = "thread-to-pageable";
constexpr std::string_view kIn = "thread-from-pageable";

/// Alone, queued behind each other, and what of it the rank's own CPU does.
void probe_way(Prober& prober, std::string_view words, const Move& whole) {
  const auto start = [&](const Move& move) { return prober.rank().copy(move.to, move.from, {}, Engine::thread); };
  prober.record_copies(fmt::format("copy {}", words), whole, [&](const Move& move) {
    return prober.sample(move.to.length, [&] { prober.copy(move.to, move.from, Engine::thread); });
  });
  const std::string queued = fmt::format("queued copy {}", words);
  prober.record_copies(queued, whole, [&](const Move& move) {
    return prober.sample_queued(queued, move.to.length, [&] { return start(move); });
  });
  const std::string started = fmt::format("start copy {}", words);
  for (const Bytes size : prober.plan().sizes) {
    if (!prober.times_cpu_at(size)) continue;
    const Move move = whole.first(size);
    prober.record(started, {}, size, prober.sample_start(started, size, [&] { return start(move); }), false);
  }
}

/// Before each round, which is not timed, the thread of another stream copies a byte the same way.
void probe_behind_another(Prober& prober, std::string_view words, const Move& whole, const Move& byte) {
  const std::string name = fmt::format("copy {} handed-over", words);
  for (const Bytes size : prober.plan().sizes) {
    if (!prober.times_cpu_at(size)) continue;
    prober.record_copy(size, name, whole, [&](const Move& move) {
      const auto before = [&] {
        prober.finish(prober.rank().copy(byte.to, byte.from, Stream{1}, Engine::thread), name, byte.to.length);
      };
      return prober.sample_after(size, before, [&] { prober.copy(move.to, move.from, Engine::thread); });
    });
  }
}

}  // namespace

void probe_threads(Prober& prober) {
  const ScopedBuffer device(prober.rank(), Memory::device, prober.largest());
  const ScopedBuffer host(prober.rank(), Memory::pageable, prober.largest());
  const ScopedBuffer device_byte(prober.rank(), Memory::device, Bytes{1});
  const ScopedBuffer host_byte(prober.rank(), Memory::pageable, Bytes{1});
  if (can_copy(prober, kOut, host.buffer(), device.buffer(), Engine::thread)) {
    const Move out{View(host.buffer()), View(device.buffer())};
    probe_way(prober, kOut, out);
    probe_behind_another(prober, kOut, out, {View(host_byte.buffer()), View(device_byte.buffer())});
  }
  if (can_copy(prober, kIn, device.buffer(), host.buffer(), Engine::thread)) {
    const Move in{View(device.buffer()), View(host.buffer())};
    probe_way(prober, kIn, in);
    probe_behind_another(prober, kIn, in, {View(device_byte.buffer()), View(host_byte.buffer())});
  }
}

}  // namespace twinlink::bench
