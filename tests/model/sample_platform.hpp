// A made-up machine with round numbers, so that closed forms can be worked out by hand.
#pragma once

#include "model/platform.hpp"

namespace twinlink::model::testing {

// Every copy and message costs kHost of CPU, then kLatency, then flows.
inline constexpr Seconds kHost = 1.0_us;
inline constexpr Seconds kLatency = 4.0_us;
inline constexpr Rate kDown{4e9};  ///< host to device
inline constexpr Rate kUp{5e9};    ///< device to host
inline constexpr Rate kPeer{6e9};  ///< within a peer domain
inline constexpr Rate kStagedPeer{2e9};
inline constexpr Rate kWire{2.5e9};
inline constexpr Rate kHub{10e9};  ///< between a hub and its memory: less than two GPUs' copies, where those are 6 GB/s
inline constexpr Seconds kControl = 2.0_us;
inline constexpr Bytes kEager = 4_KiB;

/// Two memories; gpu0 and nic0 on hub0, gpu1 and gpu2 on hub1; four nodes.
Platform sample_platform();

}  // namespace twinlink::model::testing
