// An order in which tasks can begin and end, and when they would if only their own lengths counted.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace twinlink::workloads::goal {

/// The beginning or the end of task `first` comes before that of task `then`.
struct Before {
  std::size_t first = 0;
  bool first_ends = false;
  std::size_t then = 0;
  bool then_ends = false;
};

/// Takes time in proportion to tasks and rules.
class Order {
 public:
  Order(std::span<const double> lengths, std::span<const Before> befores);

  /// Tasks that wait for each other in a circle, each for the next and the last for the first; none: there is an order.
  [[nodiscard]] const std::vector<std::size_t>& cycle() const { return cycle_; }
  [[nodiscard]] double start_of(std::size_t task) const { return time_[2 * task]; }
  [[nodiscard]] double end_of(std::size_t task) const { return time_[2 * task + 1]; }
  /// Place of its beginning: whatever must come before has a lower one.
  [[nodiscard]] std::size_t place_of(std::size_t task) const { return place_[2 * task]; }
  /// The end of the last.
  [[nodiscard]] double longest() const { return longest_; }

 private:
  void find_cycle(std::span<const Before> befores, std::span<const std::size_t> left);

  // Times of each task's beginning, and behind it of its end.
  std::vector<double> time_;
  std::vector<std::size_t> place_;
  std::vector<std::size_t> cycle_{};
  double longest_ = 0;
};

}  // namespace twinlink::workloads::goal
