#include "model/written.hpp"

#include <iterator>
#include <optional>

namespace twinlink::model {
namespace {

const Piecewise* curve(const std::optional<Sourced<Piecewise>>& cost) { return cost ? &cost->value : nullptr; }

Seconds extra(Bytes written, const Piecewise* cost) {
  return cost == nullptr || written == Bytes{} ? Seconds{} : cost->at(written);
}

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
  return {.cpu = curve(cost.cpu_written), .driver = curve(cost.cpu_written)};
}

WrittenCosts written_costs(const NetworkCosts& costs) {
  return {.cpu = curve(costs.cpu_written),
          .device = curve(costs.device_written),
          .driver = curve(costs.driver_written ? costs.driver_written : costs.cpu_written)};
}

Bytes& WrittenBytes::Amount::by(Writer writer) {
  switch (writer) {
    case Writer::cpu:
      return by_cpu;
    case Writer::device:
      return by_device;
    case Writer::driver:
      break;
  }
  return by_driver;
}

WrittenBytes::Amount& WrittenBytes::Amount::operator+=(const Amount& other) {
  by_cpu = by_cpu + other.by_cpu;
  by_device = by_device + other.by_device;
  by_driver = by_driver + other.by_driver;
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
    Bytes& by = amount.by(it->second.writer);
    by = by + Bytes{it->second.end - it->first};
  }
  stretches_.erase(first, last);
  return amount;
}

Seconds time_to_read(const WrittenBytes::Amount& amount, const WrittenCosts& costs) {
  const Seconds by_device = extra(amount.by_device, costs.device);
  // Of one curve's bytes it does not matter which of them who wrote.
  if (costs.driver == costs.cpu) return by_device + extra(amount.by_cpu + amount.by_driver, costs.cpu);
  return by_device + extra(amount.by_cpu, costs.cpu) + extra(amount.by_driver, costs.driver);
}

}  // namespace twinlink::model
