#include "protocols/workloads/arrays/fourier.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "protocols/core/enum_table.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::workloads {
namespace {

constexpr Words<FftKind> kKinds{"c2c", "r2c", "c2r"};
constexpr Words<Decomposition> kDecompositions{"slab", "pencil"};

}  // namespace

std::string_view to_string(FftKind kind) { return kKinds[kind]; }
std::string_view to_string(Decomposition decomposition) { return kDecompositions[decomposition]; }
FftKind find_fft_kind(std::string_view name) { return value_named(kKinds, name, "kind of transform"); }
Decomposition find_decomposition(std::string_view name) { return value_named(kDecompositions, name, "decomposition"); }

FftPlan::FftPlan(const Global& global, FftKind kind, Decomposition decomposition, std::span<const double> shares)
    : global_(global), complex_(global), kind_(kind) {
  if (global.dimensions < 2) throw UsageError("fft: arrays of two or three dimensions are shared out");
  if (is_real()) complex_.lengths[2] = global.lengths[2] / 2 + 1;
  if (decomposition == Decomposition::slab) {
    layouts_ = {named_distribution("slab-x", complex_, shares), named_distribution("slab-y", complex_, shares)};
    axes_ = {{1, 2}, {0}};
    // Of two dimensions the one between has length 1, and there is nothing to transform.
    if (global.dimensions == 2) axes_[0] = {2};
    return;
  }
  if (global.dimensions != 3) throw UsageError("fft: pencils are of three dimensions");
  if (std::ranges::any_of(shares, [&](double share) { return share != shares.front(); })) {
    throw UsageError("fft: --shares are of slabs");
  }
  const auto [rows, columns] = grid_of(static_cast<int>(shares.size()));
  for (const int whole : {2, 1, 0}) layouts_.push_back(pencils(complex_, whole, rows, columns));
  axes_ = {{2}, {1}, {0}};
}

Box part_of_box(const Box& box, std::uint64_t part, std::uint64_t parts) {
  Box result = box;
  const std::uint64_t planes = box.length(0);
  result.lower[0] = box.lower[0] + planes * part / parts;
  result.upper[0] = box.lower[0] + planes * (part + 1) / parts;
  return result;
}

std::optional<FftPlan::Work> FftPlan::work(std::size_t stage, int rank, bool forward, std::uint64_t part,
                                           std::uint64_t parts) const {
  const Box& whole = layouts_[stage].boxes[static_cast<std::size_t>(rank)];
  const Box box = part_of_box(whole, part, parts);
  if (box.empty()) return std::nullopt;
  const std::vector<std::size_t>& axes = axes_[stage];
  const bool real = is_real() && axes.back() == 2;
  Work work{.begin = whole.place(box.lower)};
  Transform& t = work.transform;
  t.kind = real ? (forward ? Transform::Kind::to_half : Transform::Kind::from_half)
                : (forward ? Transform::Kind::forward : Transform::Kind::backward);
  t.dimensions = static_cast<int>(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    t.lengths[i] = real && axes[i] == 2 ? global_.lengths[2] : box.length(axes[i]);
  }
  const std::uint64_t row = box.length(2);
  const std::uint64_t plane = box.length(1) * row;
  if (axes.size() == 2) {
    t.batch = box.length(0);
    t.distance = plane;
  } else if (axes.front() == 2) {
    t.batch = box.length(0) * box.length(1);
    t.distance = row;
  } else if (axes.front() == 1) {
    t.stride = t.batch = row;
    t.distance = 1;
    t.groups = box.length(0);
    t.group_distance = plane;
  } else {
    t.stride = t.batch = plane;
    t.distance = 1;
  }
  // A stride of one is that of rows, which are one behind the other then.
  return work;
}

double FftPlan::operations() const {
  const auto n = static_cast<double>(global_.box().elements());
  return 5 * n * std::log2(n);
}

}  // namespace twinlink::workloads
