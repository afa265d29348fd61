// Fourier transforms of arrays that are shared out: transforms of what each rank has whole, and reshapes between them.
//
//   slab      two axes, then one      planes of the first axis; reshape; planes of the second
//   pencil    one axis after the other   rows of the last axis; reshape; rows of the middle one; reshape; of the first
//
// Backward everything is the other way round, from where the numbers lie then. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "protocols/core/transform.hpp"
#include "protocols/workloads/arrays/boxes.hpp"

namespace twinlink::workloads {

enum class FftKind { c2c, r2c, c2r };
enum class Decomposition { slab, pencil };
std::string_view to_string(FftKind kind);
std::string_view to_string(Decomposition decomposition);
/// A UsageError lists the names.
FftKind find_fft_kind(std::string_view name);
Decomposition find_decomposition(std::string_view name);

class FftPlan {
 public:
  /// A UsageError for what cannot be: arrays of one dimension, pencils of two, more ranks than planes. `shares` has one
  /// for each rank; other than equal ones are of slabs.
  FftPlan(const Global& global, FftKind kind, Decomposition decomposition, std::span<const double> shares);

  [[nodiscard]] const Global& global() const { return global_; }
  [[nodiscard]] FftKind kind() const { return kind_; }
  [[nodiscard]] bool is_real() const { return kind_ != FftKind::c2c; }
  /// The complex numbers: of real ones the last axis has n/2 + 1.
  [[nodiscard]] const Global& complex() const { return complex_; }
  /// Distributions of the complex numbers, from those before the first transforms to those behind the last.
  [[nodiscard]] const std::vector<Distribution>& layouts() const { return layouts_; }
  /// What rank `rank` does on its box of layout `stage`, forward or backward, with the `part`-th of `parts` parts of
  /// the box's first axis; nothing where that is empty. `begin`: where the part's numbers begin in the box, as complex
  /// ones.
  struct Work {
    Transform transform{};
    std::uint64_t begin = 0;
  };
  [[nodiscard]] std::optional<Work> work(std::size_t stage, int rank, bool forward, std::uint64_t part,
                                         std::uint64_t parts) const;
  /// 5 N log2(N).
  [[nodiscard]] double operations() const;

 private:
  Global global_;
  Global complex_;
  FftKind kind_;
  std::vector<Distribution> layouts_;
  std::vector<std::vector<std::size_t>> axes_;  ///< that are transformed, by layout
};

/// The `part`-th of `parts` parts of a box along its first axis; empty where there are fewer planes than parts.
Box part_of_box(const Box& box, std::uint64_t part, std::uint64_t parts);

}  // namespace twinlink::workloads
