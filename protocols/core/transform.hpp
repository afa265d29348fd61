// Transform: a Fourier transform of numbers in a rank's own device memory, as the plans of cuFFT and FFTW describe it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "protocols/core/units.hpp"

namespace twinlink {

/// Between real numbers of 8 B and complex ones of 16 B. Unscaled: forward and back again multiplies by the lengths.
struct Transform {
  enum class Kind {
    forward,   ///< complex to complex, e^(-2 pi i jk/n)
    backward,  ///< the same with the other sign
    to_half,   ///< real to complex: of the last length n only the first n/2 + 1 numbers, for the others mirror them
    from_half  ///< back to real
  };
  static constexpr int kMostLengths = 3;

  Kind kind = Kind::forward;
  int dimensions = 1;                                 ///< 1 to kMostLengths
  std::array<std::uint64_t, kMostLengths> lengths{};  ///< of the real ones or all complex ones, the slowest first
  /// Numbers of the last length are so many numbers apart; those of the lengths before follow each other as in an
  /// array. With `stride` other than 1 there is one dimension. Real rows are padded to n/2 + 1 complex numbers, so that
  /// real and complex numbers have the same place.
  std::uint64_t stride = 1;
  std::uint64_t batch = 1;           ///< so many transforms,
  std::uint64_t distance = 0;        ///< whose first numbers are so many complex numbers apart,
  std::uint64_t groups = 1;          ///< and so many times all of these,
  std::uint64_t group_distance = 0;  ///< so many complex numbers apart

  friend bool operator==(const Transform&, const Transform&) = default;

  /// Numbers of one transform: of real ones, that many.
  [[nodiscard]] std::uint64_t numbers() const;
  /// The same as complex numbers in memory.
  [[nodiscard]] std::uint64_t complex_numbers() const;
  /// From the first complex number to behind the last one: what the memory must have.
  [[nodiscard]] std::uint64_t extent() const;
  /// All transforms together: bytes that are there, once.
  [[nodiscard]] Bytes bytes() const;
  /// 5 n log2(n) for each, half of that between real and complex numbers.
  [[nodiscard]] double operations() const;
};
inline constexpr Bytes kComplex{16};

/// A UsageError for lengths, strides and numbers of transforms that make no sense, or that do not fit into `memory`.
void require_transform(const Transform& transform, Bytes memory);
/// "2-D 512 x 512, 256 times", for traces.
std::string describe(const Transform& transform);

}  // namespace twinlink
