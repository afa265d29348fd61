#include "model/platform/written.hpp"

#include <iterator>
#include <optional>
#include <utility>

namespace twinlink::model {
namespace {

const Piecewise* curve(const std::optional<Sourced<Piecewise>>& cost) { return cost ? &cost->value : nullptr; }

}  // namespace

std::string_view to_string(Writer writer) {
  switch (writer) {
    case Writer::cpu:
      return "cpu";
    case Writer::device:
      return "device";
    case Writer::driver:
      break;
  }
  return "driver";
}

WrittenCosts written_costs(const Cost& cost) {
  WrittenCosts costs;
  for (const Writer by_cpu : {Writer::cpu, Writer::driver}) costs[by_cpu] = curve(cost.cpu_written);
  return costs;
}

WrittenCosts written_costs(const NetworkCosts& network) {
  const auto& driver = network.driver_written ? network.driver_written : network.cpu_written;
  WrittenCosts costs;
  costs[Writer::cpu] = curve(network.cpu_written);
  costs[Writer::device] = curve(network.device_written);
  costs[Writer::driver] = curve(driver);
  return costs;
}

WrittenBytes::Amount& WrittenBytes::Amount::operator+=(const Amount& other) {
  for (const Writer writer : kWriters) (*this)[writer] += other[writer];
  return *this;
}

void WrittenBytes::cut(std::uint64_t at) {
  const auto after = stretches_.upper_bound(at);
  if (after == stretches_.begin()) return;
  const auto found = std::prev(after);
  if (found->first == at || found->second.end <= at) return;
  stretches_.emplace_hint(after, at, found->second);
  found->second.end = at;
}

void WrittenBytes::write(Bytes at, Bytes length, Writer writer) {
  if (length == Bytes{}) return;
  read(at, length);
  stretches_[at.count()] = {(at + length).count(), writer};
}

WrittenBytes::Amount WrittenBytes::read(Bytes at, Bytes length) {
  if (stretches_.empty()) return {};
  const std::uint64_t end = (at + length).count();
  cut(at.count());
  cut(end);
  Amount amount;
  const auto first = stretches_.lower_bound(at.count());
  const auto last = stretches_.lower_bound(end);
  for (auto it = first; it != last; ++it) {
    amount[it->second.writer] += Bytes{it->second.end - it->first};
  }
  stretches_.erase(first, last);
  return amount;
}

Seconds time_to_read(const WrittenBytes::Amount& amount, const WrittenCosts& costs) {
  // Of one curve's bytes it does not matter which of them who wrote.
  WrittenBytes::Amount rest = amount;
  Seconds time{};
  for (const Writer first : kWriters) {
    Bytes bytes{};
    for (const Writer writer : kWriters) {
      if (costs[writer] == costs[first]) bytes += std::exchange(rest[writer], Bytes{});
    }
    if (costs[first] != nullptr && bytes > Bytes{}) time += costs[first]->at(bytes);
  }
  return time;
}

}  // namespace twinlink::model
