// Contents that can be recognised, and how one compares with another: proof of delivery.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "protocols/core/units.hpp"

namespace twinlink {

/// A content that can be recognised byte by byte: byte i of a view depends on the seed and on i.
struct Payload {
  std::uint64_t seed = 0;
  std::uint64_t period = 0;  ///< of one that is summable(): elements after which it begins again; 0: never
  auto operator<=>(const Payload&) const = default;
};
/// A content whose elements (64 bits) add up: those of summable(a) and of summable(b) give summable(a + b). Values are
/// below 2^63. Only those of one period do.
constexpr Payload summable(std::uint64_t value, std::uint64_t period = 0) {
  return {.seed = value | (std::uint64_t{1} << 63U), .period = period};
}
constexpr bool is_summable(Payload pattern) { return pattern.seed >> 63U != 0; }
/// Its element `index`.
constexpr std::uint64_t summable_element(Payload pattern, std::uint64_t index) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;  // of the golden ratio: elements far apart
  if (pattern.period != 0) index %= pattern.period;
  return (pattern.seed & ~(std::uint64_t{1} << 63U)) * (2 * (index * kOdd) + 1);
}
/// What a receive buffer is filled with before a transfer: bytes that are still there were never written.
inline constexpr Payload kSentinel{0};

/// How a content compares with what was expected.
struct Verdict {
  enum class Kind {
    intact,
    dropped,   ///< the first wrong byte still holds the sentinel: it was never written
    scrambled  ///< the first wrong byte holds something else
  };
  Kind kind = Kind::intact;
  Bytes first_bad{};  ///< offset of the first wrong byte; meaningless if intact

  [[nodiscard]] bool intact() const { return kind == Kind::intact; }
};

/// "intact", "dropped at byte 4096", "scrambled at byte 17".
std::string to_string(const Verdict& verdict);

}  // namespace twinlink
