#include "protocols/workloads/goal/order.hpp"

#include <algorithm>

namespace twinlink::workloads::goal {
namespace {

std::size_t first_of(const Before& rule) { return 2 * rule.first + (rule.first_ends ? 1 : 0); }
std::size_t then_of(const Before& rule) { return 2 * rule.then + (rule.then_ends ? 1 : 0); }

}  // namespace

Order::Order(std::span<const double> lengths, std::span<const Before> befores)
    : time_(2 * lengths.size(), 0), place_(2 * lengths.size(), 0) {
  const std::size_t events = time_.size();
  std::vector<std::size_t> left(events, 0);       // what must still come before
  std::vector<std::size_t> rules(events + 1, 0);  // of an event, in `then`
  std::vector<std::size_t> then(befores.size());
  for (const Before& rule : befores) {
    ++left[then_of(rule)];
    ++rules[first_of(rule) + 1];
  }
  for (std::size_t task = 0; task < lengths.size(); ++task) ++left[2 * task + 1];  // it begins before it ends
  for (std::size_t i = 0; i < events; ++i) rules[i + 1] += rules[i];
  std::vector<std::size_t> next(rules.begin(), rules.end() - 1);
  for (const Before& rule : befores) then[next[first_of(rule)]++] = then_of(rule);

  std::vector<std::size_t> ready;
  ready.reserve(events);
  for (std::size_t i = 0; i < events; ++i) {
    if (left[i] == 0) ready.push_back(i);
  }
  const auto happened = [&](std::size_t event, double at) {
    time_[event] = std::max(time_[event], at);
    if (--left[event] == 0) ready.push_back(event);
  };
  for (std::size_t i = 0; i < ready.size(); ++i) {  // it grows
    const std::size_t event = ready[i];
    place_[event] = i;
    longest_ = std::max(longest_, time_[event]);
    if (event % 2 == 0) happened(event + 1, time_[event] + lengths[event / 2]);
    for (std::size_t r = rules[event]; r < rules[event + 1]; ++r) happened(then[r], time_[event]);
  }
  if (ready.size() < events) find_cycle(befores, left);
}

/// Each event that could not happen waits for another one that could not: whoever goes back comes round.
void Order::find_cycle(std::span<const Before> befores, std::span<const std::size_t> left) {
  constexpr auto kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> waits_for(left.size(), kNone);
  for (std::size_t end = 1; end < left.size(); end += 2) {
    if (left[end] > 0 && left[end - 1] > 0) waits_for[end] = end - 1;
  }
  for (const Before& rule : befores) {
    if (left[first_of(rule)] > 0 && left[then_of(rule)] > 0) waits_for[then_of(rule)] = first_of(rule);
  }
  auto at = static_cast<std::size_t>(std::ranges::find_if(left, [](std::size_t n) { return n > 0; }) - left.begin());
  for (std::size_t i = 0; i < left.size(); ++i) at = waits_for[at];  // now it is in the circle
  for (std::size_t event = at; cycle_.empty() || event != at; event = waits_for[event]) {
    if (cycle_.empty() || cycle_.back() != event / 2) cycle_.push_back(event / 2);
    if (waits_for[event] == at) break;
  }
  if (cycle_.size() > 1 && cycle_.front() == cycle_.back()) cycle_.pop_back();
}

}  // namespace twinlink::workloads::goal
