#include "validate/calibrate/time_shares.hpp"

#include <array>
#include <utility>

namespace twinlink::validate {
namespace {

using platforms::Platform;
using platforms::Sourced;

/// So much that bytes take no time.
constexpr Rate kNoLimit{1e30};

void lift(Sourced<Rate>& rate) { rate.value = kNoLimit; }
void lift(std::optional<Sourced<Rate>>& rate) {
  if (rate) lift(*rate);
}

void each_copy(Platform& platform, const auto& visit) {
  for (platforms::GpuType& type : platform.gpu_types) {
    for (auto& [kind, cost] : type.copies) visit(cost);
  }
  for (auto& [kind, cost] : platform.copies) visit(cost);
  if (platform.fallback) visit(platform.fallback->cost);
}

void each_network(Platform& platform, const auto& visit) {
  if (platform.network) visit(*platform.network);
  visit(platform.intra_node);
}

Platform take_residual(Platform platform) {
  each_copy(platform, [](platforms::Cost& cost) { cost.latency.value = {}; });
  each_network(platform, [](platforms::NetworkCosts& costs) { costs.latency.value = {}; });
  return platform;
}

Platform take_bytes(Platform platform) {
  each_copy(platform, [](platforms::Cost& cost) { lift(cost.rate); });
  each_network(platform, [](platforms::NetworkCosts& costs) {
    lift(costs.rate);
    lift(costs.uncached);
  });
  for (platforms::GpuType& type : platform.gpu_types) {
    if (!type.blocks) continue;
    lift(type.blocks->rate);
    for (auto* rate : {&type.blocks->ll_rate, &type.blocks->ll128_rate}) lift(*rate);
  }
  const auto lift_passing = [](platforms::Passing& passing) {
    for (auto* rate : {&passing.peer_read, &passing.peer_write, &passing.duplex}) lift(*rate);
  };
  for (platforms::Hub& hub : platform.node.hubs) lift_passing(hub.passing);
  for (platforms::HostMemory& memory : platform.node.memories) {
    lift_passing(memory.passing);
    lift(memory.copy_rate);
    lift(memory.bandwidth);
  }
  for (platforms::Link& link : platform.node.links) {
    lift(link.forward);
    lift(link.backward);
    for (const auto& [key, rate] : platforms::shared_rates(link)) lift(*rate);
    for (const auto& [key, rate] : platforms::single_rates(link)) lift(*rate);
  }
  if (platform.fabric) {
    lift(platform.fabric->link);
    lift(platform.fabric->duplex);
  }
  return platform;
}

Platform take_way(Platform platform) {
  for (platforms::Link& link : platform.node.links) link.latency.reset();
  for (platforms::Hub& hub : platform.node.hubs) hub.passing.latency.reset();
  for (platforms::HostMemory& memory : platform.node.memories) memory.passing.latency.reset();
  for (platforms::Nic& nic : platform.node.nics) nic.latency.reset();
  return platform;
}

}  // namespace

TimeShares& TimeShares::operator+=(const TimeShares& other) {
  start += other.start;
  way += other.way;
  bytes += other.bytes;
  residual += other.residual;
  left_over += other.left_over;
  return *this;
}

TimeShares& TimeShares::operator/=(double count) {
  for (double* share : {&start, &way, &bytes, &residual, &left_over}) *share /= count;
  return *this;
}

TimeSplit::TimeSplit(const Platform& platform)
    : whole_(platform),
      without_residual_(take_residual(platform)),
      without_way_(take_way(without_residual_.platform)),
      without_bytes_(take_bytes(without_way_.platform)) {}

std::optional<TimeShares> TimeSplit::shares(const Primitive& primitive, Bytes size, Seconds measured) const {
  const std::array machines{&whole_, &without_residual_, &without_way_, &without_bytes_};
  std::array<double, machines.size()> left{};  // what is left of the time after each step, as a share
  for (std::size_t i = 0; i < machines.size(); ++i) {
    const auto time = predict(primitive, size, machines[i]->topology);
    if (!time) return std::nullopt;
    left[i] = time->value() / measured.value();
  }
  return TimeShares{.start = left[3],
                    .way = left[1] - left[2],
                    .bytes = left[2] - left[3],
                    .residual = left[0] - left[1],
                    .left_over = 1 - left[0]};
}

}  // namespace twinlink::validate
