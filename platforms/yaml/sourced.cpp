#include "platforms/yaml/sourced.hpp"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstdint>
#include <functional>
#include <iterator>
#include <utility>

#include "protocols/core/enum_table.hpp"

namespace twinlink::platforms {
namespace {

constexpr Words<Quality> kQualityNames{"measured", "datasheet", "derived", "assumed"};
static_assert(kQualities.size() == count_of<Quality>());

struct ByteUnit {
  const char* name;
  std::uint64_t factor;
};

constexpr std::array<ByteUnit, 9> kByteUnits{{{"B", 1},
                                              {"kB", 1'000},
                                              {"KiB", 1ULL << 10U},
                                              {"MB", 1'000'000},
                                              {"MiB", 1ULL << 20U},
                                              {"GB", 1'000'000'000},
                                              {"GiB", 1ULL << 30U},
                                              {"TB", 1'000'000'000'000},
                                              {"TiB", 1ULL << 40U}}};

}  // namespace

std::string_view to_string(Quality quality) { return kQualityNames[quality]; }

Piecewise::Piecewise(std::vector<Knot> knots) : knots_(std::move(knots)) {
  assert(!knots_.empty());
  assert(std::ranges::adjacent_find(knots_, std::ranges::greater_equal{}, &Knot::size) == knots_.end());
}

Seconds Piecewise::at(Bytes size) const {
  const auto above = std::ranges::upper_bound(knots_, size, {}, &Knot::size);
  if (above == knots_.begin()) return knots_.front().cost;
  if (above == knots_.end()) return knots_.back().cost;
  const Knot& below = *std::prev(above);
  const double fraction =
      static_cast<double>((size - below.size).count()) / static_cast<double>((above->size - below.size).count());
  return below.cost + (above->cost - below.cost) * fraction;
}

std::string format_bytes(Bytes size) {
  ByteUnit largest = kByteUnits.front();
  for (const ByteUnit& unit : kByteUnits) {
    if (size > Bytes{} && size.count() % unit.factor == 0) largest = unit;
  }
  return std::to_string(size.count() / largest.factor) + " " + largest.name;
}

std::string format_ratio(Ratio ratio) {
  std::array<char, 32> digits{};
  // As many digits as a number of a platform has, so that 1.35 times 100 is no 135.00000000000003.
  const auto [end, _] =
      std::to_chars(digits.data(), digits.data() + digits.size(), ratio.of_one * 100, std::chars_format::general, 12);
  return std::string(digits.data(), end) + " %";
}

std::string format_flops(Flops flops) {
  std::array<char, 32> digits{};
  const auto [end, _] = std::to_chars(digits.data(), digits.data() + digits.size(), flops.per_second / kTeraflops,
                                      std::chars_format::general, 12);
  return std::string(digits.data(), end) + " TFLOP/s";
}

}  // namespace twinlink::platforms
