// NVTX: ranges that NVIDIA's profilers show.
#pragma once

#include <memory>

#include "real/rank/range_rank.hpp"

namespace twinlink::real {

/// Ranges of the NVTX domain "twinlink", on the timeline of the process. Without a profiler they cost a few
/// nanoseconds. An UnavailableError if this program was built without the NVTX headers of the CUDA Toolkit.
std::unique_ptr<RangeSink> make_nvtx_ranges();

}  // namespace twinlink::real
