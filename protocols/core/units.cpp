#include "protocols/core/units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

namespace twinlink {
namespace {

template <class Factor>
struct Unit {
  std::string_view name;
  Factor factor;
};
using ByteUnit = Unit<std::uint64_t>;
using RealUnit = Unit<double>;

constexpr std::array kByteUnits{ByteUnit{"B", 1},
                                ByteUnit{"kB", 1'000},
                                ByteUnit{"MB", 1'000'000},
                                ByteUnit{"GB", 1'000'000'000},
                                ByteUnit{"TB", 1'000'000'000'000},
                                ByteUnit{"KiB", 1ULL << 10},
                                ByteUnit{"MiB", 1ULL << 20},
                                ByteUnit{"GiB", 1ULL << 30},
                                ByteUnit{"TiB", 1ULL << 40}};
constexpr std::array kSizeSuffixes{ByteUnit{"K", 1ULL << 10}, ByteUnit{"M", 1ULL << 20}, ByteUnit{"G", 1ULL << 30}};
constexpr std::array kTimeUnits{RealUnit{"ns", 1e-9}, RealUnit{"us", 1e-6}, RealUnit{"ms", 1e-3}, RealUnit{"s", 1}};
constexpr std::array kRateUnits{RealUnit{"B/s", 1},         RealUnit{"kB/s", 1e3},     RealUnit{"MB/s", 1e6},
                                RealUnit{"GB/s", 1e9},      RealUnit{"TB/s", 1e12},    RealUnit{"KiB/s", 0x1p10},
                                RealUnit{"MiB/s", 0x1p20},  RealUnit{"GiB/s", 0x1p30}, RealUnit{"Mbit/s", 1e6 / 8},
                                RealUnit{"Gbit/s", 1e9 / 8}};

/// A text taken apart. The parts point into the text.
struct Quantity {
  std::string_view text;
  std::string_view number;
  std::string_view unit;
};

[[noreturn]] void fail(const Quantity& quantity, std::string_view what) {
  throw UnitError("'" + std::string(quantity.text) + "' " + std::string(what));
}

constexpr std::string_view kDigits = "0123456789";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// The length of the number at the start of `text`: digits, a fraction and, where it is followed by digits, an
/// exponent.
std::size_t number_length(std::string_view text) {
  const auto skip_digits = [&](std::size_t at) { return std::min(text.find_first_not_of(kDigits, at), text.size()); };
  std::size_t end = skip_digits(0);
  if (end == 0) return 0;
  if (end + 1 < text.size() && text[end] == '.') {
    if (const std::size_t fraction = skip_digits(end + 1); fraction > end + 1) end = fraction;
  }
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    std::size_t at = end + 1;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (const std::size_t exponent = skip_digits(at); exponent > at) end = exponent;
  }
  return end;
}

/// Splits into number and unit. `kind` names what is expected: "a size".
Quantity split(std::string_view whole, std::string_view kind) {
  const std::string_view text = trimmed(whole);
  Quantity quantity{text, {}, {}};
  const std::string expected = ", where " + std::string(kind) + " is expected";
  if (text.empty()) fail(quantity, "is empty" + expected);
  if (text[0] == '-') fail(quantity, "is negative" + expected);
  const std::size_t length = number_length(text);
  if (length == 0) fail(quantity, "does not begin with a number" + expected);
  quantity.number = text.substr(0, length);
  quantity.unit = trimmed(text.substr(length));
  // Some readers take such a number as octal.
  if (length > 1 && text[0] == '0' && kDigits.find(text[1]) != std::string_view::npos) {
    fail(quantity, "begins with a zero" + expected);
  }
  return quantity;
}

template <class Factor>
const Unit<Factor>* find(std::span<const Unit<Factor>> units, std::string_view name) {
  for (const auto& unit : units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

template <class Factor>
Factor factor_of(const Quantity& quantity, std::span<const Unit<Factor>> units) {
  if (const auto* unit = find(units, quantity.unit)) return unit->factor;
  std::string allowed;
  for (const auto& unit : units) allowed += (allowed.empty() ? "" : ", ") + std::string(unit.name);
  if (quantity.unit.empty()) fail(quantity, "has no unit; allowed: " + allowed);
  fail(quantity, "has the unknown unit '" + std::string(quantity.unit) + "'; allowed: " + allowed);
}

/// The number times `factor`, computed without rounding.
Bytes whole_bytes(const Quantity& quantity, std::uint64_t factor) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t value = 0;
  std::uint64_t divisor = 1;
  bool in_fraction = false;
  for (const char c : quantity.number) {
    if (c == '.') {
      in_fraction = true;
      continue;
    }
    if (kDigits.find(c) == std::string_view::npos)
      fail(quantity, "has an exponent; write a number of bytes without one");
    if (__builtin_mul_overflow(value, 10U, &value) ||
        __builtin_add_overflow(value, static_cast<std::uint64_t>(c - '0'), &value) ||
        (in_fraction && __builtin_mul_overflow(divisor, 10U, &divisor))) {
      fail(quantity, "is too large; a size is below 2^63 B");
    }
  }
  if (__builtin_mul_overflow(value, factor, &value) || value / divisor > kMost) {
    fail(quantity, "is too large; a size is below 2^63 B");
  }
  if (value % divisor != 0) fail(quantity, "is not a whole number of bytes");
  return Bytes{value / divisor};
}

double real_value(const Quantity& quantity, double factor) {
  double value = 0;
  const char* end = quantity.number.data() + quantity.number.size();
  const auto [stop, error] = std::from_chars(quantity.number.data(), end, value);
  if (error != std::errc{} || stop != end || !std::isfinite(value * factor)) fail(quantity, "is out of range");
  return value * factor;
}

std::string fixed(double value, int decimals) {
  std::array<char, 400> text{};  // the longest double has 309 digits before its point
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, decimals);
  return {text.data(), end};
}

}  // namespace

Bytes parse_size(std::string_view text) {
  const Quantity quantity = split(text, "a size such as 4, 256K, 64M or 1G");
  if (quantity.unit.empty()) return whole_bytes(quantity, 1);
  if (const auto* suffix = find<std::uint64_t>(kSizeSuffixes, quantity.unit))
    return whole_bytes(quantity, suffix->factor);
  if (const auto* unit = find<std::uint64_t>(kByteUnits, quantity.unit)) return whole_bytes(quantity, unit->factor);
  fail(quantity, "has the unknown unit '" + std::string(quantity.unit) +
                     "'; allowed: none, K, M, G (binary), B, kB, MB, GB, TB, KiB, MiB, GiB, TiB");
}

Bytes parse_bytes(std::string_view text) {
  const Quantity quantity = split(text, "a size such as 6 GB or 12 KiB");
  return whole_bytes(quantity, factor_of<std::uint64_t>(quantity, kByteUnits));
}

Seconds parse_seconds(std::string_view text) {
  const Quantity quantity = split(text, "a duration such as 1.3 us");
  return Seconds{real_value(quantity, factor_of<double>(quantity, kTimeUnits))};
}

Rate parse_rate(std::string_view text) {
  const Quantity quantity = split(text, "a rate such as 32 GB/s");
  const double value = real_value(quantity, factor_of<double>(quantity, kRateUnits));
  if (value <= 0) fail(quantity, "is zero; a rate is positive");
  // Several links at once are as many times faster, and a platform is written with nine digits behind the point.
  constexpr double kLeast = 1e-9;
  constexpr double kMost = 1e300;
  if (value < kLeast || value > kMost) fail(quantity, "is out of range");
  return Rate{value};
}

std::string format_size(Bytes size) {
  ByteUnit largest{"", 1};
  for (const ByteUnit& suffix : kSizeSuffixes) {
    if (size.count() != 0 && size.count() % suffix.factor == 0) largest = suffix;
  }
  return std::to_string(size.count() / largest.factor) + std::string(largest.name);
}

std::string format_seconds(Seconds time) {
  const double magnitude = std::abs(time.value());
  if (magnitude == 0) return "0 s";
  const RealUnit* unit = &kTimeUnits.front();
  for (const RealUnit& larger : kTimeUnits) {
    if (magnitude >= larger.factor) unit = &larger;
  }
  const double scaled = magnitude / unit->factor;
  const int decimals = scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0;
  return fixed(time.value() / unit->factor, decimals) + " " + std::string(unit->name);
}

std::string format_rate(Rate rate) {
  if (rate < Rate{100e9}) return fixed(rate.megabytes_per_second(), 1) + " MB/s";
  return fixed(rate.bytes_per_second() / 1e9, 1) + " GB/s";
}

}  // namespace twinlink
