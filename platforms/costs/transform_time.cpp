#include "platforms/costs/transform_time.hpp"

#include <algorithm>
#include <cstddef>

namespace twinlink::model {
namespace {

/// What the shared memory of a block holds of complex numbers of 16 B: 64 KiB.
constexpr std::uint64_t kInOnePass = 4096;

}  // namespace

int passes_of(std::uint64_t length) {
  int passes = 1;
  for (std::uint64_t held = kInOnePass; held < length && passes < 8; held *= kInOnePass) ++passes;
  return passes;
}

Seconds transform_time(const TransformCosts& costs, const Transform& transform) {
  std::uint64_t passes = 0;
  for (int i = 0; i < transform.dimensions; ++i) {
    passes += static_cast<std::uint64_t>(passes_of(transform.lengths[static_cast<std::size_t>(i)]));
  }
  const Seconds memory = transform.bytes() * (2 * passes) / costs.memory.value;
  const Seconds compute{transform.operations() / costs.compute.value.per_second};
  return std::max(memory, compute);
}

}  // namespace twinlink::model
