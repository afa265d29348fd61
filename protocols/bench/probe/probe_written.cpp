// Probes of copies whose source the CPU has just written, by a copy that is in no time, which leaves the bytes dirty in
// its cache, as those of messages. In all other lines the source was written long before.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "protocols/bench/probe/probed.hpp"
#include "protocols/bench/probe/prober.hpp"

namespace twinlink::bench {
namespace {

/// Before each round, what the copy reads is written anew, from `origin`. That is not timed.
void probe_written_copy(Prober& prober, const std::string& name, const Move& move, View origin) {
  prober.record_copies(name, move, [&](const Move& part) {
    const View kept = origin.slice(Bytes{}, part.from.length);
    prober.copy(kept, part.from);
    return prober.sample_after(
        part.from.length, [&] { prober.copy(part.from, kept); }, [&] { prober.copy(part.to, part.from); });
  });
}

}  // namespace

void probe_written(Prober& prober) {
  MeasuredRank& rank = prober.rank();
  const ScopedBuffer device(rank, Memory::device, prober.largest());
  const ScopedBuffer on_host(rank, Memory::pageable, prober.largest());
  for (const Memory memory : {Memory::pinned, Memory::pageable}) {
    const ScopedBuffer host(rank, memory, prober.largest());
    const Probed copy{.from = memory, .to = Memory::device, .cpu_written = true};
    if (!can_copy(prober, way_of(copy), device.buffer(), host.buffer())) continue;
    const Move in{View(device.buffer()), View(host.buffer())};
    if (can_copy(prober, way_of({.from = memory, .to = Memory::pageable}), host.buffer(), on_host.buffer())) {
      probe_written_copy(prober, to_string(copy), in, View(on_host.buffer()));
    }
  }
}

}  // namespace twinlink::bench
