// Numbers of a platform file, in SI units, with their sources.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/core/units.hpp"

namespace twinlink::platforms {

/// Where a number comes from.
enum class Quality { measured, datasheet, derived, assumed };
inline constexpr std::array kQualities{Quality::measured, Quality::datasheet, Quality::derived, Quality::assumed};
std::string_view to_string(Quality quality);

struct Source {
  Quality quality = Quality::assumed;
  std::string text{};  ///< the reference or the derivation, in words

  bool operator==(const Source&) const = default;
};

/// How much something is of something else: 1 is all of it, and it may be more.
struct Ratio {
  double of_one = 1;

  bool operator==(const Ratio&) const = default;
};
/// "135 %", without zeros at the end.
std::string format_ratio(Ratio ratio);

/// How much something computes: operations on floating-point numbers in a second.
struct Flops {
  double per_second = 1;

  bool operator==(const Flops&) const = default;
};
inline constexpr double kTeraflops = 1e12;
/// "9.7 TFLOP/s", without zeros at the end.
std::string format_flops(Flops flops);

/// A number of the platform file with its source.
template <class T>
struct Sourced {
  T value{};
  Source source{};

  bool operator==(const Sourced&) const = default;
};

/// What a platform need not have.
template <class T>
std::optional<T> value_of(const std::optional<Sourced<T>>& number) {
  return number ? std::optional(number->value) : std::nullopt;
}
/// A cost that a platform need not have: none.
inline Seconds or_none(const std::optional<Sourced<Seconds>>& cost) { return cost ? cost->value : Seconds{}; }

/// A cost that depends on the size: linear between its points, constant before the first and after the last.
class Piecewise {
 public:
  struct Knot {
    Bytes size{};
    Seconds cost{};
  };
  Piecewise() = default;
  /// `knots` ascend by size and are not empty.
  explicit Piecewise(std::vector<Knot> knots);
  /// The same at all sizes.
  explicit Piecewise(Seconds cost) : knots_{{.cost = cost}} {}
  [[nodiscard]] Seconds at(Bytes size) const;
  [[nodiscard]] const std::vector<Knot>& knots() const { return knots_; }

 private:
  std::vector<Knot> knots_{Knot{}};
};
inline Seconds or_none(const std::optional<Sourced<Piecewise>>& cost, Bytes size) {
  return cost ? cost->value.at(size) : Seconds{};
}

/// In the largest unit, decimal or binary, that gives a whole number: "6 GB", "12 KiB". parse_bytes() reads it back.
std::string format_bytes(Bytes size);

}  // namespace twinlink::platforms
