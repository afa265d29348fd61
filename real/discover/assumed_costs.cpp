#include "real/discover/assumed_costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "platforms/machine/platform_fields.hpp"

namespace twinlink::real {
namespace {

using model::CopyKind;
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
  using enum CopyKind;
  auto& copies = platform.copies;
  copies[pinned_to_device] = cost(2.0_us, 4.0_us);
  copies[device_to_pinned] = cost(2.0_us, 5.0_us);
  copies[pageable_to_device] = cost(2.0_us, 6.0_us, 10.0_GBps);
  copies[device_to_pageable] = cost(2.0_us, 10.0_us, 10.0_GBps);
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

model::Fallback guessed_fallback() {
  return {.cost = cost(2.0_us, 20.0_us), .through = "source", .chunk = guessed(1_MiB), .per_chunk = guessed(10.0_us)};
}

void guess_costs(Platform& platform) {
  for (model::HostMemory& memory : platform.node.memories) memory.copy_rate = guessed(10.0_GBps);
  guess_copies(platform);
  platform.intra_node = guessed_shared_memory();
  platform.runtime = guessed_runtime();
  platform.fallback = guessed_fallback();
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
  guess_copies(platform);
  for (const auto& [kind, cost] : base.copies) platform.copies[kind] = borrowed(cost);
  for (const model::GpuType& type : base.gpu_types) {
    for (const auto& [kind, cost] : type.copies) platform.copies[kind] = borrowed(cost);
  }
  platform.intra_node = borrowed(base.intra_node);
  platform.runtime = borrowed(base.runtime);
  platform.fallback = base.fallback ? borrowed(*base.fallback) : guessed_fallback();
  const auto has_memory = [&](const model::HostMemory& memory) { return memory.name == platform.fallback->through; };
  if (std::ranges::none_of(platform.node.memories, has_memory)) platform.fallback->through = "source";
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
