// Arrays of up to three dimensions that are shared out among ranks, a box for each.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/core/units.hpp"

namespace twinlink::workloads {

inline constexpr std::size_t kAxes = 3;
using Index = std::array<std::uint64_t, kAxes>;

/// The elements from `lower` to before `upper`. In memory the last axis runs fastest, without gaps.
struct Box {
  Index lower{};
  Index upper{};

  [[nodiscard]] std::uint64_t length(std::size_t axis) const { return upper[axis] - lower[axis]; }
  [[nodiscard]] std::uint64_t elements() const { return length(0) * length(1) * length(2); }
  [[nodiscard]] bool empty() const { return elements() == 0; }
  /// Where the element at `index` lies in the memory of this box, in elements.
  [[nodiscard]] std::uint64_t place(const Index& index) const {
    return ((index[0] - lower[0]) * length(1) + (index[1] - lower[1])) * length(2) + (index[2] - lower[2]);
  }
  friend bool operator==(const Box&, const Box&) = default;
};

/// What both have; empty, with upper equal to lower, where that is nothing.
Box intersection(const Box& a, const Box& b);

/// An array. Of one dimension the first axis is used, of two the first and the last; those between have length 1.
struct Global {
  int dimensions = 3;
  Index lengths{1, 1, 1};

  [[nodiscard]] Box box() const { return {{}, lengths}; }
  /// The axis of dimension 0, 1, 2.
  [[nodiscard]] std::size_t axis(int dimension) const {
    return dimensions == 2 && dimension == 1 ? 2 : static_cast<std::size_t>(dimension);
  }
  friend bool operator==(const Global&, const Global&) = default;
};
/// "512x512x512". A UsageError for anything else, a length of zero, and more than 2^40 elements.
Global parse_global(std::string_view text);
std::string to_string(const Global& global);
/// "(0,0,0) to (8,8,4)", with as many numbers as the array has dimensions.
std::string describe(const Box& box, const Global& global);

/// By rank. Boxes do not overlap and leave no gap.
struct Distribution {
  std::string name{};  ///< "slab-x", or that of a file
  std::vector<Box> boxes{};
};

/// Where parts of `length` elements begin, in proportion to `shares`, and the end: each part has one at least. A
/// UsageError, which begins with `what`, where there are fewer elements than shares.
std::vector<std::uint64_t> boundaries(std::uint64_t length, std::span<const double> shares, const std::string& what);

/// Planes of one dimension for each rank.
Distribution slabs(const Global& global, int dimension, std::span<const double> shares);
/// The whole of one of three dimensions for each rank; of the others the first in `rows` parts, the second in
/// `columns`.
Distribution pencils(const Global& global, int whole, int rows, int columns);
/// Two factors of `ranks`, as near to each other as can be, the smaller first.
std::array<int, 2> grid_of(int ranks);

/// "slab-x", "slab-y", "slab-z", "pencil-x", "pencil-y", "pencil-z". A UsageError that lists them, or says why one
/// cannot be. `shares`: one for each rank; pencils take equal ones alone.
Distribution named_distribution(std::string_view name, const Global& global, std::span<const double> shares);

/// Boxes from a text: a line for each rank, lower and upper corner as 0,0,0 256,512,512; the upper one is not within.
/// Behind # is a remark. An InputError with the line.
Distribution read_boxes(std::string_view text, const std::string& file, const Global& global, int ranks);
/// A UsageError that names two boxes that overlap, one that reaches beyond the array, or how many elements are in none.
void require_cover(const Distribution& distribution, const Global& global);

}  // namespace twinlink::workloads
