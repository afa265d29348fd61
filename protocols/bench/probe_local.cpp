#include <array>

#include <fmt/format.h>

#include "protocols/bench/prober.hpp"

namespace twinlink::bench {
namespace {

constexpr std::array kHostMemories{Memory::pinned, Memory::pageable, Memory::shared_pinned};
/// Allocators hand out whole pages.
constexpr Bytes kPage{4096};
constexpr Bytes kHandleSize{2U << 20U};

/// "shared pinned" -> "shared-pinned": one word of a line's name.
std::string word(Memory memory) {
  std::string text(to_string(memory));
  for (char& c : text) c = c == ' ' ? '-' : c;
  return text;
}

void probe_copy(Prober& prober, const std::string& name, Buffer to, Buffer from) {
  for (const Bytes size : prober.plan().sizes) {
    const View target(to, Bytes{}, size);
    const View source(from, Bytes{}, size);
    const twinlink::Pattern pattern = prober.fresh_pattern();
    if (prober.plan().verify) {
      prober.rank().fill(source, pattern);
      prober.rank().fill(target, kSentinel);
    }
    prober.record(name, {}, size, prober.sample(size, [&] { prober.copy(target, source); }), true);
    if (prober.plan().verify) prober.expect(target, pattern, name);
  }
}

void probe_host_device_copies(Prober& prober, Memory memory, Locality locality) {
  const ScopedBuffer device(prober.rank(), Memory::device, prober.largest());
  const ScopedBuffer host(prober.rank(), memory, prober.largest(), locality);
  const std::string_view where = locality == Locality::near ? "near" : "far";
  probe_copy(prober, fmt::format("copy {}-to-device {}", word(memory), where), device.buffer(), host.buffer());
  probe_copy(prober, fmt::format("copy device-to-{} {}", word(memory), where), host.buffer(), device.buffer());
}

void probe_copy_within(Prober& prober, const std::string& name, Memory memory) {
  const ScopedBuffer to(prober.rank(), memory, prober.largest());
  const ScopedBuffer from(prober.rank(), memory, prober.largest());
  probe_copy(prober, name, to.buffer(), from.buffer());
}

void probe_allocation(Prober& prober, Memory memory) {
  Rank& rank = prober.rank();
  std::vector<std::pair<Bytes, std::vector<double>>> releases;
  for (const Bytes size : prober.plan().sizes) {
    if (size < kPage) continue;
    const int wanted = prober.repeats(size).iterations;
    std::vector<double> allocation;
    std::vector<double> release;
    do {
      Buffer buffer;
      allocation.push_back(time_rounds(rank, 1, [&] { buffer = rank.allocate(memory, size); }).front());
      release.push_back(time_rounds(rank, 1, [&] { rank.release(buffer); }).front());
    } while (static_cast<int>(allocation.size()) < rounds_within(prober.plan().budget, allocation, wanted));
    prober.record(fmt::format("allocate {}", word(memory)), {}, size, std::move(allocation), false);
    releases.emplace_back(size, std::move(release));
  }
  for (auto& [size, times_us] : releases) {
    prober.record(fmt::format("release {}", word(memory)), {}, size, std::move(times_us), false);
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
  Rank& rank = prober.rank();
  if (const Answer answer = device_memory_on_network(rank); !answer) {
    return prober.note(
        fmt::format("{}: no registration of device memory: {}", to_string(rank.place(rank.id())), answer.reason));
  }
  for (const Bytes size : prober.plan().sizes) {
    if (size < kPage) continue;
    const ScopedBuffer memory(rank, Memory::device, size);
    std::vector<double> registration;
    std::vector<double> deregistration;
    for (int i = 0; i < prober.repeats(size).iterations; ++i) {
      registration.push_back(time_rounds(rank, 1, [&] { rank.register_memory(memory.buffer()); }).front());
      deregistration.push_back(time_rounds(rank, 1, [&] { rank.deregister_memory(memory.buffer()); }).front());
    }
    prober.record("register device", {}, size, std::move(registration), false);
    prober.record("deregister device", {}, size, std::move(deregistration), false);
  }
}

}  // namespace

void probe_local(Prober& prober) {
  Rank& rank = prober.rank();
  for (const Memory memory : kHostMemories) {
    probe_host_device_copies(prober, memory, Locality::near);
    if (rank.numa_domains() > 1) probe_host_device_copies(prober, memory, Locality::far);
  }
  if (rank.numa_domains() == 1) {
    prober.note(fmt::format("{}: no far copies: there is one NUMA domain", to_string(rank.place(rank.id()))));
  }
  probe_copy_within(prober, "copy device-to-device", Memory::device);
  probe_copy_within(prober, "copy host-to-host", Memory::pageable);
  for (const Memory memory : {Memory::device, Memory::pinned, Memory::pageable, Memory::shared_pinned}) {
    probe_allocation(prober, memory);
  }
  probe_registration(prober);
  const ScopedBuffer exported(rank, Memory::device, kHandleSize);
  prober.record("handle export", {}, kHandleSize,
                prober.sample(kHandleSize, [&] { rank.export_memory(exported.buffer()); }), false);
}

}  // namespace twinlink::bench
