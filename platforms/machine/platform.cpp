#include "platforms/machine/platform.hpp"

#include <algorithm>
#include <cassert>
#include <functional>
#include <iterator>
#include <utility>

#include "protocols/core/enum_table.hpp"

namespace twinlink::platforms {
namespace {

constexpr Words<CopyKind> kCopyKindNames{"pinned-to-device",   "device-to-pinned", "pageable-to-device",
                                         "device-to-pageable", "device-to-device", "peer",
                                         "peer-read",          "host-to-host",     "kernel-push",
                                         "kernel-pull",        "kernel-local",     "kernel-to-pinned",
                                         "kernel-from-pinned", "resident-push",    "cpu-to-device",
                                         "cpu-from-device"};
static_assert(kCopyKindNames.size() == kCopyKinds);
static_assert(kForwards.size() == count_of<Forwards>() && kHostBuffers.size() == count_of<HostBuffers>() &&
              kCopiedBy.size() == count_of<CopiedBy>());

}  // namespace

std::string_view to_string(Forwards forwards) {
  constexpr Words<Forwards> kNames{"none", "adapters", "all"};
  return kNames[forwards];
}

std::string_view to_string(HostBuffers buffers) {
  constexpr Words<HostBuffers> kNames{"near", "far", "interleaved"};
  return kNames[buffers];
}

std::string_view to_string(CopiedBy copied_by) {
  constexpr Words<CopiedBy> kNames{"none", "receiver", "both"};
  return kNames[copied_by];
}

std::string_view to_string(CopyKind kind) { return kCopyKindNames[kind]; }

bool reads_host_memory(CopyKind kind) {
  using enum CopyKind;
  return kind == pinned_to_device || kind == pageable_to_device || kind == host_to_host || kind == kernel_from_pinned;
}

bool reads_far_end(CopyKind kind) {
  using enum CopyKind;
  return reads_host_memory(kind) || kind == peer_read || kind == kernel_pull || kind == cpu_from_device;
}

bool is_by_cpu(CopyKind kind) {
  using enum CopyKind;
  return kind == host_to_host || kind == cpu_to_device || kind == cpu_from_device;
}

bool ends_by_event(CopyKind kind) { return !is_by_cpu(kind) && kind != CopyKind::resident_push; }

Seconds NetworkCosts::latency_read(Bytes size) const {
  if (!is_inline(size)) return latency.value.at(size);
  const auto& knots = latency.value.knots();
  const auto behind = std::ranges::upper_bound(knots, inline_limit->value, {}, &Piecewise::Knot::size);
  return behind == knots.end() ? latency.value.at(size) : behind->cost;
}

Seconds NetworkCosts::latency_asking(Bytes size, Seconds asking, bool read) const {
  if (read && is_inline(size)) return latency_read(size);  // which is eager
  const Seconds measured = latency.value.at(size);
  const Bytes limit = latency_limit ? latency_limit->value : eager_limit.value;
  if (is_eager(size)) {
    return size <= limit ? measured : std::max(measured - asking, std::min(measured, latency.value.at(limit)));
  }
  if (eager_limit.value >= limit) return measured;
  // What was measured is the points, not the line from the last eager one to the first that asked.
  const auto& knots = latency.value.knots();
  const auto behind = std::ranges::upper_bound(knots, limit, {}, &Piecewise::Knot::size);
  if (behind != knots.end() && size >= behind->size) return measured;
  const Seconds most = behind == knots.end() ? knots.back().cost : behind->cost;
  return std::max(measured, std::min(measured + asking, most));
}

const GpuType& Platform::type_of(std::size_t gpu) const {
  const auto found = std::ranges::find(gpu_types, node.gpus[gpu].type, &GpuType::name);
  assert(found != gpu_types.end());
  return *found;
}

std::int64_t Platform::nodes() const {
  std::int64_t count = node.count;
  for (const NodeKind& kind : kinds) count += kind.replaces ? 0 : kind.node.count;
  return count;
}

int Platform::most_nics() const {
  const auto nics_of = [](const Node& of) { return static_cast<int>(of.nics.size()) / of.domain; };
  int most = nics_of(node);
  for (const NodeKind& kind : kinds) most = std::max(most, nics_of(kind.node));
  return most;
}

void set_within_node(Platform& platform, const WithinNode& within_node) {
  if (within_node.loopback && !platform.fabric) {
    throw UsageError("--intra-node loopback needs a network adapter, and platform '" + platform.name + "' has none");
  }
  if (within_node.loopback && within_node.copy_size) {
    throw UsageError("--smp-copy-size is for shared memory, and --intra-node loopback does not use it");
  }
  if (within_node.copy_size && platform.intra_node.fragment && platform.intra_node.copied_by == CopiedBy::both) {
    throw UsageError("--smp-copy-size is for platforms that say nothing of fragments, and platform '" + platform.name +
                     "' has a 'fragment': --set mpi.intra_node.fragment=SIZE changes it");
  }
  platform.within_node = within_node;
  if (within_node.smcuda && platform.intra_node.copied_by == CopiedBy::receiver) {
    platform.intra_node.copied_by = CopiedBy::both;
    platform.within_node.single_copy_lost = true;
  }
}

Rate most_of_copied_messages(const Platform& platform) {
  Rate most{};
  const auto add = [&](const Node& node) {
    for (const HostMemory& memory : node.memories) most = std::max(most, memory.copy_rate.value);
  };
  add(platform.node);
  for (const NodeKind& kind : platform.kinds) add(kind.node);
  return Rate{2 * most.bytes_per_second()};
}

}  // namespace twinlink::platforms
