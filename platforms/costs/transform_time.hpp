// How long a GPU takes for Fourier transforms.
#pragma once

#include "platforms/machine/platform.hpp"
#include "protocols/core/transform.hpp"

namespace twinlink::model {

/// Each length is a pass over the numbers, which reads and writes them once; a longer one than a block of threads holds
/// is several. Passes take what the memory needs, or what the operations need where that is longer.
Seconds transform_time(const TransformCosts& costs, const Transform& transform);
/// Passes of one length: 1 up to 4096, 2 up to 4096 squared, ...
int passes_of(std::uint64_t length);

}  // namespace twinlink::model
