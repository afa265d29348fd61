// Probes of copies that a thread beside the rank's own has made between its device and pageable memory.
#include <array>

#include <fmt/format.h>

#include "protocols/bench/prober.hpp"

namespace twinlink::bench {
namespace {

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

}  // namespace

void probe_threads(Prober& prober) {
  const ScopedBuffer device(prober.rank(), Memory::device, prober.largest());
  const ScopedBuffer host(prober.rank(), Memory::pageable, prober.largest());
  const View inside(device.buffer());
  const View outside(host.buffer());
  if (can_copy(prober, "thread-to-pageable", host.buffer(), device.buffer(), Engine::thread)) {
    probe_way(prober, "thread-to-pageable", {outside, inside});
  }
  if (can_copy(prober, "thread-from-pageable", device.buffer(), host.buffer(), Engine::thread)) {
    probe_way(prober, "thread-from-pageable", {inside, outside});
  }
}

}  // namespace twinlink::bench
