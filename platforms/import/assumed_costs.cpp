#include "platforms/import/assumed_costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "platforms/import/gpu_models.hpp"
#include "platforms/machine/platform_fields.hpp"

namespace twinlink::platforms {
namespace {

const char* const kAsH200 = "as measured beside an H200 with CUDA 12, rounded; a guess for this machine";
const char* const kAsOpenMpi = "as measured with Open MPI 4.1 in shared memory, rounded; a guess for this machine";
const char* const kAsUcx = "as Open MPI with UCX on 200 Gbit/s InfiniBand, rounded; a guess for this machine";
const char* const kCoreCopies = "one core's memcpy on servers of 2018 to 2024: 8 to 15 GB/s";
const char* const kAsUcxConstants = "UCX's constants for registering memory; a guess for this machine";

Sourced<Piecewise> curve(Seconds value, const char* why) { return assumed(Piecewise(value), why); }

/// Without a rate of its own a copy is as fast as the links let it be.
Cost cost(Seconds overhead, Seconds latency, std::optional<Rate> rate = std::nullopt) {
  Cost result{.overhead = assumed(overhead, kAsH200), .latency = curve(latency, kAsH200)};
  if (rate) result.rate = assumed(*rate, kAsH200);
  return result;
}

/// The CPU's own loads and stores.
Cost mapped(Seconds latency, Rate rate) {
  const char* const as_gdr_copy = "as GDRCopy on a V100 by PCIe (its README), rounded; a guess for this machine";
  return {.overhead = assumed(0.1_us, as_gdr_copy),
          .latency = curve(latency, as_gdr_copy),
          .rate = assumed(rate, as_gdr_copy)};
}

void assume_copies(Platform& platform) {
  using enum CopyKind;
  CopyCosts& copies = platform.copies;
  copies[pinned_to_device] = cost(1.6_us, 3.5_us);
  copies[device_to_pinned] = cost(1.5_us, 4.3_us);
  copies[pageable_to_device] = cost(1.6_us, 6.0_us);
  copies[device_to_pageable] = cost(1.5_us, 9.0_us);
  for (const CopyKind through_host : {pageable_to_device, device_to_pageable}) {
    copies[through_host].rate = assumed(10.0_GBps, kCoreCopies);
  }
  copies[device_to_device] = cost(1.7_us, 3.0_us, 500.0_GBps);
  copies[peer] = copies[peer_read] = cost(1.7_us, 3.4_us);
  copies[host_to_host] = cost(0.1_us, 0.0_us);
  copies[kernel_push] = copies[kernel_pull] = cost(3.5_us, 4.2_us);
  copies[kernel_local] = cost(3.5_us, 3.0_us, 500.0_GBps);
  copies[kernel_to_pinned] = copies[kernel_from_pinned] = cost(3.5_us, 5.0_us);
  copies[resident_push] = cost(0.1_us, 4.4_us, 45.0_GBps);
  copies[cpu_to_device] = mapped(0.0_us, 10.0_GBps);
  copies[cpu_from_device] = mapped(0.5_us, 0.6_GBps);
  platform.fallback = Fallback{.cost = cost(1.7_us, 13.0_us),
                               .through = "source",
                               .chunk = assumed(1_MiB, kAsH200),
                               .per_chunk = assumed(9.3_us, kAsH200)};
}

/// A copy within a GPU reads and writes: half of what the memory has by the data sheet of its model, or of the first
/// known one of that capability.
void assume_copies_within(GpuType& type, const Platform& platform) {
  const std::pair capability{type.capability_major, type.capability_minor};
  const GpuModel own = model_of({.model = type.model, .capability = capability});
  const GpuModel& like = own.memory_rate ? own : example_of(capability);
  if (!like.memory_rate || (!own.memory_rate && capability < *like.capability)) return;
  for (const CopyKind kind : {CopyKind::device_to_device, CopyKind::kernel_local}) {
    type.copies[kind] = platform.copies.at(kind);
    type.copies[kind].rate =
        assumed(Rate{like.memory_rate->bytes_per_second() / 2},
                own.memory_rate ? "half of what the memory has; " + own.source
                                : "half of what the memory of a " + like.name + " has; a guess for this GPU");
  }
}

RuntimeCosts assumed_runtime() {
  return {.allocate_device = assumed(80.0_us, kAsH200),
          .ipc_export = assumed(0.05_us, kAsH200),
          .ipc_open = assumed(900.0_us, kAsH200),
          .ipc_close = assumed(35.0_us, kAsH200),
          .pin_base = assumed(45.0_us, kAsH200),
          .pin_per_gib = assumed(Seconds{0.2}, kAsH200),
          .engine_block = assumed(9.0_ns, kAsH200),
          .kernel_block = assumed(7.0_ns, kAsH200),
          .signal = assumed(1.6_us, kAsH200),
          .register_base = assumed(16.0_us, kAsUcxConstants),
          .register_per_gib = assumed(Seconds{0.064}, kAsUcxConstants),
          .deregister = assumed(16.0_us, kAsUcxConstants)};
}

BlockCosts assumed_blocks(int capability_major) {
  constexpr int kBlackwell = 10;
  const bool blackwell = capability_major >= kBlackwell;
  const char* const as_nccl = blackwell ? "as NCCL's constants for Blackwell between NVLinks; a guess for this machine"
                                        : "as NCCL's constants for Hopper between NVLinks; a guess for this machine";
  return {.rate = assumed(blackwell ? 40.0_GBps : 36.7_GBps, as_nccl),
          .ll = assumed(0.6_us, as_nccl),
          .ll128 = assumed(1.9_us, as_nccl),
          .simple = assumed(3.4_us, as_nccl)};
}

NetworkCosts assumed_shared_memory() {
  return {.send_overhead = curve(0.1_us, kAsOpenMpi),
          .receive_overhead = assumed(0.1_us, kAsOpenMpi),
          .latency = assumed(Piecewise({{1_KiB, 0.35_us}, {16_KiB, 2.1_us}}), kAsOpenMpi),
          .rate = assumed(10.0_GBps, kAsOpenMpi),
          .eager_limit = assumed(4040_B, kAsOpenMpi),
          .control = assumed(0.25_us, kAsOpenMpi),
          .copied_by = CopiedBy::both,
          .fragment = assumed(32_KiB, kAsOpenMpi)};
}

NetworkCosts assumed_network() {
  return {.send_overhead = curve(0.3_us, kAsUcx),
          .receive_overhead = assumed(0.2_us, kAsUcx),
          .latency = assumed(Piecewise({{1_B, 0.9_us}, {256_B, 1.6_us}, {4_KiB, 2.6_us}, {64_KiB, 6.0_us}}), kAsUcx),
          .eager_limit = assumed(8_KiB, kAsUcx),
          .control = assumed(1.2_us, kAsUcx)};
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
  template <HasFields Part>
  void mark(Part& part) const {
    each_field(part, [this](std::string_view, auto& number) { this->mark(number); });
  }

 private:
  std::string from_;
};

void borrow_costs(Platform& platform, const Platform& base) {
  const Borrow borrow(base.name);
  const auto borrowed = [&](auto value) {
    borrow.mark(value);
    return value;
  };
  // A memory with a cache, if there is one: the costs may say what it lacks.
  const auto cached = std::ranges::find_if(base.node.memories, [](const auto& m) { return m.cache.has_value(); });
  const HostMemory& like = cached != base.node.memories.end() ? *cached : base.node.memories.front();
  for (HostMemory& memory : platform.node.memories) {
    memory.copy_rate = borrowed(like.copy_rate);
    memory.cache = borrowed(like.cache);
  }
  const auto borrow_copies = [&](const CopyCosts& copies) {
    for (const auto& [kind, cost] : copies) {
      platform.copies[kind] = borrowed(cost);
      for (GpuType& type : platform.gpu_types) type.copies.erase(kind);
    }
  };
  borrow_copies(base.copies);
  for (const GpuType& type : base.gpu_types) borrow_copies(type.copies);
  const auto with_blocks =
      std::ranges::find_if(base.gpu_types, [](const auto& type) { return type.blocks.has_value(); });
  for (GpuType& type : platform.gpu_types) {
    if (type.blocks && with_blocks != base.gpu_types.end()) type.blocks = borrowed(with_blocks->blocks);
  }
  platform.intra_node = borrowed(base.intra_node);
  platform.runtime = borrowed(base.runtime);
  if (base.fallback) {
    platform.fallback = borrowed(*base.fallback);
    std::string& through = platform.fallback->through;
    const auto has_it = [&](const HostMemory& memory) { return memory.name == through; };
    if (through != "target" && std::ranges::none_of(platform.node.memories, has_it)) through = "source";
  }
  if (!platform.fabric || !base.fabric || !base.network) return;
  platform.fabric = borrowed(*base.fabric);
  platform.network = borrowed(*base.network);
}

}  // namespace

void assume_costs(Platform& platform, const Platform* base) {
  for (HostMemory& memory : platform.node.memories) memory.copy_rate = assumed(10.0_GBps, kCoreCopies);
  assume_copies(platform);
  constexpr int kVolta = 7;  // NCCL's oldest
  for (GpuType& type : platform.gpu_types) {
    if (type.capability_major >= kVolta) type.blocks = assumed_blocks(type.capability_major);
    assume_copies_within(type, platform);
  }
  platform.runtime = assumed_runtime();
  platform.intra_node = assumed_shared_memory();
  if (platform.fabric) platform.network = assumed_network();
  if (base != nullptr) borrow_costs(platform, *base);
}

}  // namespace twinlink::platforms
