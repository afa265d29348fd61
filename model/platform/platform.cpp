#include "model/platform/platform.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <functional>
#include <iterator>
#include <utility>

namespace twinlink::model {
namespace {

constexpr std::array<std::string_view, 4> kQualityNames{"measured", "datasheet", "derived", "assumed"};

constexpr std::array<std::string_view, kCopyClasses> kCopyClassNames{"pinned-to-device-near",
                                                                     "pinned-to-device-far",
                                                                     "device-to-pinned-near",
                                                                     "device-to-pinned-far",
                                                                     "pageable-to-device-near",
                                                                     "pageable-to-device-far",
                                                                     "device-to-pageable-near",
                                                                     "device-to-pageable-far",
                                                                     "device-to-device",
                                                                     "peer",
                                                                     "peer-read",
                                                                     "host-to-host",
                                                                     "kernel-push",
                                                                     "kernel-pull",
                                                                     "kernel-local",
                                                                     "kernel-to-pinned",
                                                                     "kernel-from-pinned",
                                                                     "resident-push"};

}  // namespace

std::string_view to_string(Quality quality) { return kQualityNames.at(static_cast<std::size_t>(quality)); }

std::string_view to_string(RdmaDistance way) {
  constexpr std::array<std::string_view, 3> kNames{"switch", "near", "far"};
  return kNames.at(static_cast<std::size_t>(way));
}

std::string_view to_string(CopiedBy copied_by) {
  constexpr std::array<std::string_view, kCopiedBy.size()> kNames{"none", "receiver", "both"};
  return kNames.at(static_cast<std::size_t>(copied_by));
}

std::string_view to_string(CopyClass copy_class) { return kCopyClassNames.at(static_cast<std::size_t>(copy_class)); }

bool reads_host_memory(CopyClass copy_class) {
  switch (copy_class) {
    case CopyClass::pinned_to_device_near:
    case CopyClass::pinned_to_device_far:
    case CopyClass::pageable_to_device_near:
    case CopyClass::pageable_to_device_far:
    case CopyClass::host_to_host:
    case CopyClass::kernel_from_pinned:
      return true;
    default:
      return false;
  }
}

bool ends_by_event(CopyClass copy_class) {
  return copy_class != CopyClass::host_to_host && copy_class != CopyClass::resident_push;
}

Piecewise::Piecewise(std::vector<Knot> knots) : knots_(std::move(knots)) {
  assert(!knots_.empty());
  assert(std::ranges::adjacent_find(knots_, std::ranges::greater_equal{}, &Knot::size) == knots_.end());
}

Seconds Piecewise::at(Bytes size) const {
  const auto above = std::ranges::upper_bound(knots_, size, {}, &Knot::size);
  if (above == knots_.begin()) return knots_.front().cost;
  if (above == knots_.end()) return knots_.back().cost;
  const Knot& below = *std::prev(above);
  const double fraction =
      static_cast<double>((size - below.size).count()) / static_cast<double>((above->size - below.size).count());
  return below.cost + (above->cost - below.cost) * fraction;
}

void set_within_node(Platform& platform, const WithinNode& within_node) {
  if (within_node.loopback && !platform.fabric) {
    throw UsageError("--intra-node loopback needs a network adapter, and platform '" + platform.name + "' has none");
  }
  if (within_node.loopback && within_node.copy_size) {
    throw UsageError("--smp-copy-size is for shared memory, and --intra-node loopback does not use it");
  }
  if (within_node.copy_size && platform.intra_node.piece && platform.intra_node.copied_by == CopiedBy::both) {
    throw UsageError("--smp-copy-size is for platforms that say nothing of pieces, and platform '" + platform.name +
                     "' has a 'piece': --set costs.intra_node.piece=SIZE changes it");
  }
  platform.within_node = within_node;
}

}  // namespace twinlink::model
