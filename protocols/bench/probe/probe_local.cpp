#include <array>

#include <fmt/format.h>

#include "protocols/bench/probe/probed.hpp"
#include "protocols/bench/probe/prober.hpp"

namespace twinlink::bench {
namespace {

constexpr std::array kHostMemories{Memory::pinned, Memory::pageable, Memory::shared_pinned};
/// Allocators hand out whole pages.
constexpr Bytes kPage{4096};
constexpr Bytes kHandleSize{2U << 20U};

void probe_copy(Prober& prober, const Probed& copy, Buffer to, Buffer from) {
  if (!can_copy(prober, way_of(copy), to, from)) return;
  prober.record_copies(to_string(copy), {View(to), View(from)}, [&](const Move& move) {
    return prober.sample(move.to.length, [&] { prober.copy(move.to, move.from); });
  });
}

void probe_host_device_copies(Prober& prober, Memory memory, Locality locality) {
  const ScopedBuffer device(prober.rank(), Memory::device, prober.largest());
  const ScopedBuffer host(prober.rank(), memory, prober.largest(), locality);
  const bool far = locality == Locality::far;
  probe_copy(prober, {.from = memory, .to = Memory::device, .far = far}, device.buffer(), host.buffer());
  probe_copy(prober, {.from = Memory::device, .to = memory, .far = far}, host.buffer(), device.buffer());
}

void probe_copy_within(Prober& prober, Memory memory) {
  const ScopedBuffer to(prober.rank(), memory, prober.largest());
  const ScopedBuffer from(prober.rank(), memory, prober.largest());
  probe_copy(prober, {.from = memory, .to = memory}, to.buffer(), from.buffer());
}

void probe_allocation(Prober& prober, Memory memory) {
  const std::string allocate_line = to_string(Probed{.what = Probed::What::allocate, .from = memory});
  const std::string release_line = to_string(Probed{.what = Probed::What::release, .from = memory});
  if (!prober.wants(allocate_line) && !prober.wants(release_line)) return;
  MeasuredRank& rank = prober.rank();
  std::vector<std::pair<Bytes, std::vector<double>>> releases;
  for (const Bytes size : prober.plan().sizes) {
    if (size < kPage) continue;
    const int wanted = prober.repeats(size).iterations;
    std::vector<double> allocation;
    std::vector<double> release;
    do {
      Buffer buffer;
      allocation.push_back(time_round(rank, [&] { buffer = rank.allocate(memory, size); }));
      release.push_back(time_round(rank, [&] { rank.release(buffer); }));
    } while (static_cast<int>(allocation.size()) < rounds_within(prober.plan().budget, allocation, wanted));
    prober.record(allocate_line, {}, size, {std::move(allocation)}, false);
    releases.emplace_back(size, std::move(release));
  }
  for (auto& [size, times_us] : releases) {
    prober.record(release_line, {}, size, {std::move(times_us)}, false);
  }
}

/// May this rank's device memory go over the network to any peer?
Answer device_memory_on_network(const Rank& rank) {
  Answer answer = Answer::refused("there is no peer");
  for (RankId peer{0}; peer.value < rank.ranks() && !answer; ++peer.value) {
    if (peer != rank.id()) answer = rank.path_to(peer).device_memory_on_network;
  }
  return answer;
}

/// What lets a network adapter reach device memory, and takes it back.
void probe_registration(Prober& prober) {
  const std::string register_line = to_string(Probed{.what = Probed::What::register_device});
  const std::string deregister_line = to_string(Probed{.what = Probed::What::deregister_device});
  if (!prober.wants(register_line) && !prober.wants(deregister_line)) return;
  MeasuredRank& rank = prober.rank();
  if (const Answer answer = device_memory_on_network(rank); !answer) {
    return prober.note(
        fmt::format("{}: no registration of device memory: {}", to_string(rank.place(rank.id())), answer.reason));
  }
  for (const Bytes size : prober.plan().sizes) {
    if (size < kPage) continue;
    const ScopedBuffer memory(rank, Memory::device, size);
    const bool possible = can(prober, "registration of device memory", [&] {
      rank.register_memory(memory.buffer());
      rank.deregister_memory(memory.buffer());
    });
    if (!possible) return;
    std::vector<double> registration;
    std::vector<double> deregistration;
    for (int i = 0; i < prober.repeats(size).iterations; ++i) {
      registration.push_back(time_round(rank, [&] { rank.register_memory(memory.buffer()); }));
      deregistration.push_back(time_round(rank, [&] { rank.deregister_memory(memory.buffer()); }));
    }
    prober.record(register_line, {}, size, {std::move(registration)}, false);
    prober.record(deregister_line, {}, size, {std::move(deregistration)}, false);
  }
}

void probe_export(Prober& prober) {
  const std::string name = to_string(Probed{.what = Probed::What::handle_export});
  if (!prober.wants(name)) return;
  MeasuredRank& rank = prober.rank();
  const ScopedBuffer exported(rank, Memory::device, kHandleSize);
  prober.record(name, {}, kHandleSize, prober.sample(kHandleSize, [&] { rank.export_memory(exported.buffer()); }),
                false);
}

}  // namespace

void probe_local(Prober& prober) {
  MeasuredRank& rank = prober.rank();
  for (const Memory memory : kHostMemories) {
    probe_host_device_copies(prober, memory, Locality::near);
    if (rank.numa_domains() > 1) probe_host_device_copies(prober, memory, Locality::far);
  }
  if (rank.numa_domains() == 1) {
    prober.note(fmt::format("{}: no far copies: there is one NUMA domain", to_string(rank.place(rank.id()))));
  }
  probe_copy_within(prober, Memory::device);
  probe_copy_within(prober, Memory::pageable);
  for (const Memory memory : {Memory::device, Memory::pinned, Memory::pageable, Memory::shared_pinned}) {
    probe_allocation(prober, memory);
  }
  probe_registration(prober);
  probe_export(prober);
}

}  // namespace twinlink::bench
