// What of all that nodes were held to is slower on one than chance allows.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "validate/nodes/equals.hpp"

namespace twinlink::validate {

/// So many curves of a size, or figures of a kind, tell what is usual among them.
inline constexpr std::size_t kLeastAlike = 20;

/// What a curve's point is off on each of the node's days on which it is stable, the newest first.
std::vector<double> offs_of_days(const Equals& equals, const HeldCurve& held, std::size_t point);

/// Without the least and the most where there are five or more: one odd day is none. `values` must not be empty.
double robust_mean(std::vector<double> values);

/// The variance of robust_mean() over that of one of `days` values of a normal distribution (n of them, less what
/// leaving two out costs: Sarhan and Greenberg's covariances of order statistics). `days` is at least 1.
double scatter_of_mean(std::size_t days);

/// The means of `offs`, which are by point of the curve, over what there is of each band.
std::map<Band, double> means_of_bands(const HeldCurve& held, const std::vector<std::optional<double>>& offs);

/// Enters into the nodes of `equals` what is slower and the heat map, and what is odd, and how many figures there are.
/// `equals` has all else.
void find_slower(Equals& equals, const EqualsPlan& plan);

}  // namespace twinlink::validate
