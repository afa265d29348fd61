// The release by which tests choose.
#pragma once

#include "platforms/reader/release_reader.hpp"

namespace twinlink {

inline const gpu::Release& release_2_28() {
  static const auto release = platforms::find_release("nccl-2.28");
  return *release;
}

}  // namespace twinlink
