#include "real/discover/assumed_costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "model/platform/platform_fields.hpp"

namespace twinlink::real {
namespace {

using model::CopyClass;
using model::Cost;
using model::NetworkCosts;
using model::Platform;
using model::Quality;
using model::Sourced;

const char* const kUnmeasured = "twinlink-real probe measures it";

template <class T>
Sourced<T> guessed(T value) {
  return {value, guess(kUnmeasured)};
}

Sourced<model::Piecewise> guessed_curve(Seconds value) {
  return {model::Piecewise({{Bytes{}, value}}), guess(kUnmeasured)};
}

/// Without a rate of its own a copy is as fast as the links let it be.
Cost cost(Seconds overhead, Seconds latency, std::optional<Rate> rate = std::nullopt) {
  Cost result{.overhead = guessed(overhead), .latency = guessed_curve(latency)};
  if (rate) result.rate = guessed(*rate);
  return result;
}

void guess_copies(Platform& platform) {
  using enum CopyClass;
  auto& copies = platform.copies;
  copies[pinned_to_device_near] = copies[pinned_to_device_far] = cost(2.0_us, 4.0_us);
  copies[device_to_pinned_near] = copies[device_to_pinned_far] = cost(2.0_us, 5.0_us);
  copies[pageable_to_device_near] = copies[pageable_to_device_far] = cost(2.0_us, 6.0_us, 10.0_GBps);
  copies[device_to_pageable_near] = copies[device_to_pageable_far] = cost(2.0_us, 10.0_us, 10.0_GBps);
  copies[device_to_device] = cost(2.0_us, 4.0_us, 500.0_GBps);
  copies[peer] = copies[peer_read] = cost(2.0_us, 5.0_us);
  copies[host_to_host] = cost(0.1_us, 0.0_us);
  copies[kernel_push] = copies[kernel_pull] = cost(2.0_us, 7.0_us);
  copies[kernel_local] = cost(2.0_us, 6.0_us, 500.0_GBps);
  copies[kernel_to_pinned] = copies[kernel_from_pinned] = cost(2.0_us, 7.0_us);
  copies[resident_push] = cost(0.5_us, 4.0_us);  // nothing is launched
}

NetworkCosts guessed_shared_memory() {
  return {.send_overhead = guessed_curve(0.2_us),
          .receive_overhead = guessed(0.1_us),
          .latency = guessed_curve(0.4_us),
          .rate = guessed(5.0_GBps),
          .eager_limit = guessed(4040_B),
          .control = guessed(0.5_us)};
}

model::RuntimeCosts guessed_runtime() {
  return {.allocate_device = guessed(100.0_us),
          .ipc_export = guessed(1.0_us),
          .ipc_open = guessed(500.0_us),
          .ipc_close = guessed(50.0_us),
          .pin_base = guessed(50.0_us),
          .pin_per_gib = guessed(Seconds{0.2}),
          .engine_block = guessed(5.0_ns),
          .kernel_block = guessed(5.0_ns),
          .signal = guessed(0.5_us),
          .register_base = guessed(16.0_us),
          .register_per_gib = guessed(Seconds{0.064}),
          .deregister = guessed(16.0_us)};
}

/// Marks numbers as those of another machine.
class Borrow {
 public:
  explicit Borrow(std::string from) : from_(std::move(from)) {}

  template <class T>
  void mark(Sourced<T>& number) const {
    number.source = {Quality::assumed,
                     fmt::format("as on {} ({}: {})", from_, to_string(number.source.quality), number.source.text)};
  }
  template <class T>
  void mark(std::optional<T>& number) const {
    if (number) mark(*number);
  }
  template <model::HasFields Part>
  void mark(Part& part) const {
    each_field(part, [this](std::string_view, auto& number) { this->mark(number); });
  }

 private:
  std::string from_;
};

/// The driver stages copies between every two peer domains, whichever way.
void stage_between_domains(Platform& platform, const Cost& cost) {
  std::set<std::string> domains;
  for (const model::Gpu& gpu : platform.node.gpus) domains.insert(gpu.peer_domain);
  for (const std::string& from : domains) {
    for (const std::string& to : domains) {
      if (from != to) platform.staged_peers.push_back({from, to, cost});
    }
  }
}

void guess_costs(Platform& platform) {
  for (model::HostMemory& memory : platform.node.memories) memory.copy_rate = guessed(10.0_GBps);
  guess_copies(platform);
  platform.intra_node = guessed_shared_memory();
  platform.runtime = guessed_runtime();
  stage_between_domains(platform, cost(2.0_us, 20.0_us, 5.0_GBps));
}

void borrow_costs(Platform& platform, const Platform& base) {
  const Borrow borrow(base.name);
  const auto borrowed = [&](auto value) {
    borrow.mark(value);
    return value;
  };
  // Of memories with a cache, if there is one: the costs may say what it lacks.
  const auto cached = std::ranges::find_if(base.node.memories, [](const auto& m) { return m.cache.has_value(); });
  const model::HostMemory& like = cached != base.node.memories.end() ? *cached : base.node.memories.front();
  for (model::HostMemory& memory : platform.node.memories) {
    memory.copy_rate = borrowed(like.copy_rate);
    memory.cache = borrowed(like.cache);
  }
  guess_copies(platform);  // a base of one NUMA domain has none for a far one
  for (const auto& [copy_class, cost] : base.copies) platform.copies[copy_class] = borrowed(cost);
  platform.intra_node = borrowed(base.intra_node);
  platform.runtime = borrowed(base.runtime);
  stage_between_domains(
      platform, base.staged_peers.empty() ? cost(2.0_us, 20.0_us, 5.0_GBps) : borrowed(base.staged_peers.front().cost));
  const auto has_adapter = [](const model::Gpu& gpu) { return !gpu.nic.empty(); };
  if (!base.fabric || !base.network || !std::ranges::all_of(platform.node.gpus, has_adapter)) return;
  platform.fabric = borrowed(*base.fabric);
  platform.network = borrowed(*base.network);
}

}  // namespace

model::Source guess(const std::string& why) { return {Quality::assumed, "a guess: " + why}; }

void assume_costs(Platform& platform, const Platform* base) {
  if (base == nullptr) return guess_costs(platform);
  borrow_costs(platform, *base);
}

}  // namespace twinlink::real
