// How long a test of random jobs is, and where it begins: TWINLINK_JOBS=5000 TWINLINK_SEED=7 of the environment.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace twinlink {

inline std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoull(text);
}

}  // namespace twinlink
