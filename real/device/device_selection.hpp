// --gpus: which of its devices a rank takes. Pure. Asked when the device is selected, before MPI begins,
// with the rank's number on its node:
//
//   select_device(parse_gpus("GPU-8f6d,GPU-11"), 1, visible)   // the ordinal of the one whose UUID begins with GPU-11
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "real/device/device_runtime.hpp"

namespace twinlink::real {

/// One device of the list: an ordinal, or the beginning of a UUID.
struct DeviceChoice {
  std::string text{};  ///< as it was given
  int ordinal = -1;    ///< -1: the text is a UUID
};

/// Reads "0,2" or "GPU-8f6d,GPU-11": ordinals as this process counts its visible devices, or UUIDs, whole or as much
/// of them as is unique, in either case of letters. A UsageError for what is neither, and for an empty list.
std::vector<DeviceChoice> parse_gpus(std::string_view text);

/// The ordinal of the device that the rank `local_rank` of its node takes: the entry of that number, looked up among
/// the `visible` devices of this process. A UsageError if the list is too short, or if the entry names none of them or
/// several; it lists those that there are.
std::size_t select_device(std::span<const DeviceChoice> choices, int local_rank, std::span<const Uuid> visible);

}  // namespace twinlink::real
