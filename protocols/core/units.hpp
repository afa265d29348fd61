// Strong types for the three quantities that every interface of Twinlink speaks in, and one strict parser for each.
//
// Decimal prefixes are powers of 1000, binary prefixes powers of 1024, as in the SI and in IEC 80000-13. The one
// exception is a size on a command line, where K, M and G are binary, as in the OSU benchmarks.
//
//   const Seconds flow = 64_KiB / 6517.0_MBps;     // 10.056 us
//   const Rate rate = 64_KiB / flow;
//   parse_rate("6010 MB/s"); format_size(64_KiB);  // "64K"
//
// Nothing converts by itself: a bare number becomes a quantity only where its unit is named.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "protocols/core/errors.hpp"

namespace twinlink {

/// An amount of data in bytes. Never negative.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::uint64_t count) : count_(count) {}
  [[nodiscard]] constexpr std::uint64_t count() const { return count_; }

  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes other) {
    count_ += other.count_;
    return *this;
  }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes{a.count_ + b.count_}; }
  /// The difference; `b` must not exceed `a`.
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes{a.count_ - b.count_}; }
  friend constexpr Bytes operator*(Bytes a, std::uint64_t n) { return Bytes{a.count_ * n}; }

 private:
  std::uint64_t count_ = 0;
};

/// How much of `whole` it is; 0 of nothing.
constexpr double share_of(Bytes part, Bytes whole) {
  return part == Bytes{} ? 0 : static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

/// A duration, or a point in time since the start of a run, in seconds.
class Seconds {
 public:
  constexpr Seconds() = default;
  constexpr explicit Seconds(double value) : value_(value) {}
  [[nodiscard]] constexpr double value() const { return value_; }
  [[nodiscard]] constexpr double microseconds() const { return value_ * 1e6; }

  constexpr auto operator<=>(const Seconds&) const = default;
  constexpr Seconds& operator+=(Seconds other) {
    value_ += other.value_;
    return *this;
  }
  friend constexpr Seconds operator+(Seconds a, Seconds b) { return Seconds{a.value_ + b.value_}; }
  friend constexpr Seconds operator-(Seconds a, Seconds b) { return Seconds{a.value_ - b.value_}; }
  friend constexpr Seconds operator*(Seconds a, double factor) { return Seconds{a.value_ * factor}; }
  friend constexpr Seconds operator/(Seconds a, double divisor) { return Seconds{a.value_ / divisor}; }

 private:
  double value_ = 0;
};

/// A transfer rate in bytes per second. 1 MB/s is 10^6 bytes per second, as in the OSU benchmarks.
class Rate {
 public:
  constexpr Rate() = default;
  constexpr explicit Rate(double bytes_per_second) : bytes_per_second_(bytes_per_second) {}
  [[nodiscard]] constexpr double bytes_per_second() const { return bytes_per_second_; }
  [[nodiscard]] constexpr double megabytes_per_second() const { return bytes_per_second_ * 1e-6; }

  constexpr auto operator<=>(const Rate&) const = default;

 private:
  double bytes_per_second_ = 0;
};

/// The time that `size` takes at `rate`; `rate` must be positive.
constexpr Seconds operator/(Bytes size, Rate rate) {
  return Seconds{static_cast<double>(size.count()) / rate.bytes_per_second()};
}
/// The rate at which `size` moves in `time`; `time` must be positive.
constexpr Rate operator/(Bytes size, Seconds time) { return Rate{static_cast<double>(size.count()) / time.value()}; }

inline namespace literals {
constexpr Bytes operator""_B(unsigned long long n) { return Bytes{n}; }
constexpr Bytes operator""_KiB(unsigned long long n) { return Bytes{n << 10}; }
constexpr Bytes operator""_MiB(unsigned long long n) { return Bytes{n << 20}; }
constexpr Bytes operator""_GiB(unsigned long long n) { return Bytes{n << 30}; }
constexpr Bytes operator""_TiB(unsigned long long n) { return Bytes{n << 40}; }
constexpr Seconds operator""_s(long double v) { return Seconds{static_cast<double>(v)}; }
constexpr Seconds operator""_us(long double v) { return Seconds{static_cast<double>(v) * 1e-6}; }
constexpr Seconds operator""_ns(long double v) { return Seconds{static_cast<double>(v) * 1e-9}; }
constexpr Rate operator""_MBps(long double v) { return Rate{static_cast<double>(v) * 1e6}; }
constexpr Rate operator""_GBps(long double v) { return Rate{static_cast<double>(v) * 1e9}; }
}  // namespace literals

/// A text that is not a quantity. The message quotes the text and says what is allowed. As every UsageError it ends a
/// program with exit code 2.
class UnitError : public UsageError {
 public:
  using UsageError::UsageError;
};

/// Reads a size as the command lines take it: "4", "256K", "64M", "1G" (binary), or with a unit as in `parse_bytes`.
/// Throws UnitError.
Bytes parse_size(std::string_view text);

/// Reads a size with its unit: B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (powers of 1024); a whole number
/// of bytes below 2^63. Throws UnitError on a missing or unknown unit, a sign, NaN, infinity or overflow.
Bytes parse_bytes(std::string_view text);

/// Reads a duration with its unit: ns, us, ms, s. Throws UnitError as `parse_bytes` does.
Seconds parse_seconds(std::string_view text);

/// Reads a rate with its unit: B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, Mbit/s, Gbit/s. Throws UnitError as
/// `parse_bytes` does; zero is refused too, for nothing would ever arrive, and so is what is next to zero or infinity.
Rate parse_rate(std::string_view text);

/// The shortest exact form that `parse_size` reads back: "4", "256K", "64M".
std::string format_size(Bytes size);
/// Three or more significant digits with a fitting unit: "1.30 us", "19.3 ms".
std::string format_seconds(Seconds time);
/// In MB/s below 100 GB/s, else in GB/s: "6010.7 MB/s", "394.1 GB/s".
std::string format_rate(Rate rate);

}  // namespace twinlink
