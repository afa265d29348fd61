// The sample machine with GPUs that run programs of thread blocks, in round numbers.
#pragma once

#include <vector>

#include "protocols/core/measured_rank.hpp"
#include "tests/model/engine/one_message.hpp"

namespace twinlink::model::testing {

inline constexpr Rate kBlockRate{1e9};
inline constexpr Seconds kLl = 1.0_us;
inline constexpr Seconds kLl128 = 2.0_us;
inline constexpr Seconds kSimple = 3.0_us;
inline constexpr Seconds kBus = 0.25_us;
inline constexpr Seconds kWay = kBus * 2;  ///< from GPU to GPU below one hub
inline constexpr Rate kLocal{50e9};        ///< a kernel's copies within a GPU

// From a store until the peer's block sees it.
inline constexpr Seconds kHopLl = kLl + kWay;
inline constexpr Seconds kHopLl128 = kLl128 + kWay;
inline constexpr Seconds kHopSimple = kSimple + kWay * 3;

/// The sample machine with two GPUs more on its second hub, and what thread blocks do.
Platform machine_with_blocks();

/// The first ones of its second hub.
std::vector<Place> peers(int count);

/// All ranks begin at once.
void begin_at_once(MeasuredRank& rank);

}  // namespace twinlink::model::testing
