#include "protocols/gpu/ground.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <ranges>
#include <utility>

namespace twinlink::gpu {
namespace {

constexpr double kRounding = 1e-6;

}  // namespace

Verdict Ground::ll128() const {
  constexpr int kVolta = 70;
  const auto off = [](std::string why) { return Verdict{false, std::move(why)}; };
  if (!links()) return off("the GPUs meet over PCIe");
  if (capability < kVolta) return off("the GPUs are older than Volta");
  const bool mixed = release->ll128_mixed > 0 && capability >= release->ll128_mixed;
  if (!alike && !mixed) return off("the GPUs are of two generations");
  const std::vector<int>& only = release->ll128_on;
  if (!only.empty() && std::ranges::find(only, capability) == only.end()) {
    return off("the release does not know GPUs of capability " + std::to_string(capability));
  }
  const std::string adapters = "adapters are " + std::string(to_string(to_adapter)) + " from their GPUs";
  if (nodes > 1 && !is_within(*release, to_adapter, release->ll128)) return off(adapters);
  return {true, std::string("links join GPUs of ") +
                    (alike ? "one generation" : "several generations, which the release lets be") +
                    (nodes > 1 ? ", and " + adapters : "")};
}

std::string in_gigabytes(Rate rate) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g GB/s", rate.bytes_per_second() / 1e9);
  return text.data();
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
  if (const auto found = release.p2p_on.find(cpu); found != release.p2p_on.end()) return found->second;
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
  ground.adapter = one;
  const Rate all{one.bytes_per_second() * std::max(adapters, 1)};
  const Channels found = search_channels(
      of_capability(release.speeds_between, ground.capability), std::min(all, ground.ring), release.most_channels / 2,
      [&](Rate speed) { return std::min(std::max(adapters, 1) * fitting(one, speed), fitting(ground.ring, speed)); });
  ground.network = Rate{found.count * found.each.bytes_per_second()};
  ground.searched = doubled(release, found, ground.capability);
}

/// Of paths.cc, ncclTopoComputeP2pChannels(), and enqueue.cc, addP2pToPlan().
MessageChannels message_channels(const Ground& ground, Bytes bytes, int ranks, bool lines) {
  const auto power = [](int count) { return static_cast<int>(std::bit_ceil(static_cast<unsigned>(count))); };
  MessageChannels found{.all = power(ground.channels)};
  found.most = ground.links() ? 2 * std::max(ground.pair_links, 1) : 2;
  found.why = ground.links() ? "twice the " + std::to_string(found.most / 2) + " links between two GPUs"
                             : "two, for no links join the GPUs";
  const Rate each_carries = ground.release->message_channel;
  if (ground.nodes > 1 && each_carries == Rate{}) {
    constexpr int kCrowded = 4;
    const int between = 2 * ranks > kCrowded * ground.channels ? 1 : 2;
    found.most = std::min(found.most, between);
    found.why = "between nodes two, and one where ranks are many";
  } else if (ground.nodes > 1) {
    const double gigabytes = std::floor(ground.adapter.bytes_per_second() / 1e9);
    const auto between = static_cast<int>(std::ceil(gigabytes * 1e9 / each_carries.bytes_per_second()));
    found.most = std::min(found.most, std::max(between, 1));
    found.why = "between nodes one for each " + in_gigabytes(each_carries) + " of an adapter";
  }
  found.most = power(found.most);
  const auto batches = static_cast<int>(turns(number(ranks), number(kTogether)));
  while (each_carries != Rate{} && ground.nodes > 1 && found.most * batches > found.all && found.most > 1) {
    found.most /= 2;
  }
  found.most = std::min(found.most, found.all);
  found.parts = found.most;
  while (found.parts * ranks > found.all && found.parts > 1) found.parts /= 2;
  // A part is large enough for a few chunks, and no larger than that many.
  const Bytes chunk = lines ? 64_KiB : ground.nodes == 1 && ground.links() ? 512_KiB : 128_KiB;
  const std::uint64_t least = chunk.count() / (ground.nodes > 1 ? 2 : 8);
  const std::uint64_t large = chunk.count() * (ground.nodes > 1 ? 1 : 32);
  const auto each = [&] { return turns(bytes.count(), number(found.parts)); };
  found.parts = static_cast<int>(
      std::clamp<std::uint64_t>(turns(bytes.count(), least), 1, static_cast<std::uint64_t>(found.parts)));
  while (std::max(each(), least) > large && 2 * found.parts <= found.most) found.parts *= 2;
  return found;
}

void double_channels(Ground& ground) {
  constexpr int kHopper = 90;
  constexpr Rate kFast{45e9};
  constexpr int kFew = 16;
  ground.channels = std::min(2 * ground.searched.count, ground.release->most_channels);
  ground.channels_by = "twice " + std::to_string(ground.searched.count) + " of " + in_gigabytes(ground.searched.each);
  if (ground.capability >= kHopper && ground.nodes > 1 && ground.searched.each > kFast && ground.channels < kFew) {
    ground.channels *= 2;
    ground.channels_by += ", and again between nodes for few fast ones";
  }
}

/// Of search.cc, ncclTopoSearchTryNvls(): each channel crosses every GPU's links once, and those of its head twice.
Heads look_for_heads(const Ground& ground, int adapters) {
  constexpr int kMost = 32;  // NCCL_MAX_NVLS_ARITY
  const Release& release = *ground.release;
  const bool within = ground.nodes == 1;
  const int most = std::min(within ? ground.per_node : std::min(adapters, ground.per_node), kMost);
  const auto& speeds = of_capability(within ? release.speeds_within : release.speeds_between, ground.capability);
  const auto fast = [](Rate rate) { return rate.bytes_per_second() * (1 + kRounding); };
  const Rate widest = within ? ground.links_of_gpu : ground.adapter;
  Heads heads;
  for (const Rate speed : speeds) {
    constexpr double kHalf = 0.49;
    if (speed.bytes_per_second() > fast(widest)) continue;
    if (heads.count == most ||
        (heads.count > 0 && speed.bytes_per_second() <= kHalf * heads.between.bytes_per_second()))
      break;
    const int count = std::min(fitting(ground.links_of_gpu, speed) - 1, most);
    if (count > heads.count && (!within || count == most)) heads = {count, speed, speed};
  }
  // What goes between nodes may be faster, up to twice.
  for (const Rate speed : std::views::reverse(speeds)) {
    if (speed <= heads.between || heads.between.bytes_per_second() >= 2 * heads.within.bytes_per_second()) continue;
    if (!within && speed.bytes_per_second() > fast(widest)) break;
    heads.between = speed;
  }
  return heads;
}

}  // namespace twinlink::gpu
