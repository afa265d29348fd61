#include "protocols/core/transform.hpp"

#include <cmath>
#include <span>

#include "protocols/core/errors.hpp"

namespace twinlink {
namespace {

/// Far beyond any memory, so that no product overflows.
constexpr std::uint64_t kMostNumbers = std::uint64_t{1} << 40U;

bool is_real(Transform::Kind kind) { return kind == Transform::Kind::to_half || kind == Transform::Kind::from_half; }

std::span<const std::uint64_t> lengths_of(const Transform& transform) {
  return std::span(transform.lengths).first(static_cast<std::size_t>(transform.dimensions));
}

/// A product that stays below kMostNumbers, or a UsageError.
std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  if (b != 0 && a > kMostNumbers / b) throw UsageError("a transform has more numbers than any memory");
  return a * b;
}

}  // namespace

std::uint64_t Transform::numbers() const {
  std::uint64_t all = 1;
  for (const std::uint64_t length : lengths_of(*this)) all *= length;
  return all;
}

std::uint64_t Transform::complex_numbers() const {
  if (!is_real(kind)) return numbers();
  const std::uint64_t last = lengths_of(*this).back();
  return numbers() / last * (last / 2 + 1);
}

std::uint64_t Transform::extent() const {
  return (groups - 1) * group_distance + (batch - 1) * distance + (complex_numbers() - 1) * stride + 1;
}

Bytes Transform::bytes() const { return kComplex * (complex_numbers() * batch * groups); }

double Transform::operations() const {
  const auto n = static_cast<double>(numbers());
  const double each = (is_real(kind) ? 2.5 : 5.0) * n * std::log2(n);
  return each * static_cast<double>(batch) * static_cast<double>(groups);
}

void require_transform(const Transform& transform, Bytes memory) {
  if (transform.dimensions < 1 || transform.dimensions > Transform::kMostLengths) {
    throw UsageError("a transform has 1 to 3 dimensions");
  }
  std::uint64_t all = 1;
  for (const std::uint64_t length : lengths_of(transform)) {
    if (length == 0) throw UsageError("a transform of no numbers");
    all = product(all, length);
  }
  if (transform.batch == 0 || transform.groups == 0) throw UsageError("a transform that is done no time");
  if (transform.stride != 1 && transform.dimensions != 1) {
    throw UsageError("numbers that lie apart are transformed in one dimension");
  }
  if (transform.stride != 1 && is_real(transform.kind)) throw UsageError("real numbers are transformed in rows");
  static_cast<void>(product(all + 1, transform.stride));
  static_cast<void>(product(transform.batch, transform.distance));
  static_cast<void>(product(transform.groups, transform.group_distance));
  if (kComplex * transform.extent() <= memory) return;
  throw UsageError("a transform of " + std::to_string((kComplex * transform.extent()).count()) +
                   " B does not fit into " + std::to_string(memory.count()) + " B");
}

std::string describe(const Transform& transform) {
  std::string text = std::to_string(transform.dimensions) + "-D ";
  for (const std::uint64_t length : lengths_of(transform)) {
    if (text.back() != ' ') text += "x";
    text += std::to_string(length);
  }
  return text + ", " + std::to_string(transform.batch * transform.groups) + " times";
}

}  // namespace twinlink
