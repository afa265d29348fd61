#include "protocols/gpu/ground.hpp"

#include <algorithm>
#include <cmath>

namespace twinlink::gpu {
namespace {

constexpr double kRounding = 1e-6;

}  // namespace

std::string Ground::ll128_is_off() const {
  constexpr int kVolta = 70;
  if (!links()) return "the GPUs meet over PCIe";
  if (capability < kVolta) return "the GPUs are older than Volta";
  if (!alike) return "the GPUs are of two generations";
  if (nodes > 1 && !is_within(*release, to_adapter, release->ll128))
    return "adapters are " + std::string(to_string(to_adapter)) + " from their GPUs";
  return {};
}

int fitting(Rate rate, Rate speed) {
  return static_cast<int>(std::floor(rate.bytes_per_second() / speed.bytes_per_second() + kRounding));
}

/// Headers and a link that runs a little slower than it should leave the power of two that is next.
Rate slot_of(const Release& release, const DeviceFacts& facts) {
  constexpr double kGeneration3 = 15.75e9;
  if (facts.pcie == Rate{}) return release.pcie;
  const double generations = std::round(std::log2(facts.pcie.bytes_per_second() / kGeneration3));
  return Rate{release.pcie.bytes_per_second() * std::exp2(generations)};
}

Rate between_slots(const Release& release, const DeviceFacts& one, const DeviceFacts& other, Level level) {
  double rate = std::min(slot_of(release, one), slot_of(release, other)).bytes_per_second();
  // Packets of 64 B.
  constexpr double kOfIntel = 6.0 / 5;
  if (level == Level::phb && is_intel(one.cpu)) rate /= kOfIntel;
  const auto sockets = release.sockets.find(one.cpu);
  if (level == Level::sys && sockets != release.sockets.end()) {
    rate = std::min(rate, sockets->second.bytes_per_second());
  }
  return Rate{rate};
}

Level peer_level(const Release& release, Cpu cpu, int gpus) {
  return cpu == Cpu::amd && gpus <= 2 ? release.p2p_two_amd : release.p2p;
}

bool is_within(const Release& release, Level level, Level most) {
  return (level == Level::c2c && !release.c2c_is_near ? Level::phb : level) <= most;
}

Channels doubled(const Release& release, Channels found, int capability) {
  constexpr Rate kSlow{25e9};
  constexpr Rate kHalfFast{50e9};
  constexpr int kAmpere = 80;
  constexpr int kMany = 4;
  if (found.each < kSlow) return found;
  if (capability > kAmpere && found.each < kHalfFast && found.count > kMany) return found;
  const int count = std::min(2 * found.count, release.most_channels / 2);
  const int parts = (count + found.count - 1) / found.count;
  return {count, Rate{found.each.bytes_per_second() / parts}};
}

void look_between_nodes(Ground& ground, int adapters, Rate each, Rate slot) {
  const Release& release = *ground.release;
  Rate one = each == Rate{} ? release.unknown_adapter : each;
  if (slot != Rate{}) one = std::min(one, slot);
  const Rate all{one.bytes_per_second() * std::max(adapters, 1)};
  const Channels found = search_channels(
      of_capability(release.speeds_between, ground.capability), std::min(all, ground.ring), release.most_channels / 2,
      [&](Rate speed) { return std::min(std::max(adapters, 1) * fitting(one, speed), fitting(ground.ring, speed)); });
  ground.network = Rate{found.count * found.each.bytes_per_second()};
  ground.searched = doubled(release, found, ground.capability);
}

void double_channels(Ground& ground) {
  constexpr int kHopper = 90;
  constexpr Rate kFast{45e9};
  constexpr int kFew = 16;
  ground.channels = std::min(2 * ground.searched.count, ground.release->most_channels);
  if (ground.capability >= kHopper && ground.nodes > 1 && ground.searched.each > kFast && ground.channels < kFew) {
    ground.channels *= 2;
  }
}

}  // namespace twinlink::gpu
