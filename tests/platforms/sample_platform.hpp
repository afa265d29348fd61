// A made-up machine with round numbers, so that closed forms can be worked out by hand.
#pragma once

#include "platforms/machine/platform.hpp"

namespace twinlink::platforms::testing {

// Every copy and message costs kHost of CPU, then kLatency, then flows.
inline constexpr Seconds kHost = 1.0_us;
inline constexpr Seconds kLatency = 4.0_us;
inline constexpr Rate kDown{4e9};             ///< host to device
inline constexpr Rate kUp{5e9};               ///< device to host
inline constexpr Rate kPeer{6e9};             ///< within a peer domain
inline constexpr Rate kStagedPeer{20e9 / 9};  ///< one chunk by the driver: out at kUp, then in at kDown
inline constexpr Seconds kPerChunk = 10.0_us;
inline constexpr Rate kKernelPush{5e9};    ///< a kernel's stores into a peer's memory
inline constexpr Rate kKernelPull{4e9};    ///< a kernel's loads from it
inline constexpr Rate kResidentPush{3e9};  ///< a resident kernel's stores into a peer's memory
inline constexpr Rate kWire{2.5e9};
inline constexpr Rate kHub{10e9};  ///< between a hub and its memory: less than two GPUs' copies, where those are 6 GB/s
inline constexpr Seconds kControl = 2.0_us;
inline constexpr Bytes kEager = 4_KiB;
inline constexpr Seconds kExport = 1.5_us;
inline constexpr Seconds kOpen = 90.0_us;
inline constexpr Seconds kClose = 30.0_us;
inline constexpr Seconds kEngineBlock = 0.25_us;
inline constexpr Seconds kKernelBlock = 0.01_us;
inline constexpr Seconds kSignal = 0.5_us;
inline constexpr Seconds kRegister = 16.0_us;
inline constexpr Seconds kRegisterPerGib{64e-3};
inline constexpr Seconds kDeregister = 10.0_us;

// What reads and writes of device memory by adapters get from a hub, and from a socket. Between the sockets lies a hop.
inline constexpr Rate kNearRead{1e9};
inline constexpr Rate kNearWrite{2e9};
inline constexpr Rate kFarRead{0.25e9};
inline constexpr Rate kFarWrite{0.2e9};
inline constexpr Seconds kRdmaExtra = 0.5_us;
inline constexpr Seconds kSocketHop = 0.2_us;

/// Two memories; gpu0 and nic0 on hub0, gpu1 and gpu2 on hub1; four nodes.
Platform sample_platform();
/// The same with GPUs and adapters that have GPUDirect RDMA.
Platform sample_platform_with_rdma();

}  // namespace twinlink::platforms::testing

namespace twinlink::model::testing {
using namespace platforms::testing;  // NOLINT(google-build-using-namespace): model's tests use it as their own
}  // namespace twinlink::model::testing
