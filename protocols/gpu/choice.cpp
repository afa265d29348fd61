#include "protocols/gpu/choice.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "protocols/core/enum_table.hpp"

namespace twinlink::gpu {
namespace {

struct Generation {
  std::string_view name;  ///< in the model
  int number;
  Rate ring;  ///< of all NVLinks
  int channels;
};

/// Links times what tuning.cc and topo.h take for one; channels as `NCCL_DEBUG=INFO` prints them on machines of eight.
constexpr std::array kGenerations{
    Generation{"GB200", 4, Rate{18 * 40.1e9}, 24}, Generation{"B200", 4, Rate{18 * 40.1e9}, 24},
    Generation{"H100", 3, Rate{18 * 20.6e9}, 24},  Generation{"H200", 3, Rate{18 * 20.6e9}, 24},
    Generation{"GH200", 3, Rate{18 * 20.6e9}, 24}, Generation{"A100", 2, Rate{12 * 20e9}, 24},
    Generation{"V100", 1, Rate{6 * 20e9}, 12}};

// By generation, and by one node, two or more: GB/s.
using ByNodes = std::array<double, 3>;
using ByGeneration = std::array<ByNodes, 4>;
constexpr ByGeneration kMostLl{{{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}}};
constexpr ByGeneration kRingLl128{{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40}}};
constexpr ByGeneration kTreeLl128{{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
constexpr ByGeneration kTree{{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {77.4, 82.8, 72}}};

double of(const ByGeneration& table, const Ground& ground) {
  const auto generation = static_cast<std::size_t>(std::max(ground.generation, 1) - 1);
  return table[generation][static_cast<std::size_t>(std::clamp(ground.nodes, 1, 3) - 1)];
}

/// By format.
struct Latency {
  double base_us;
  double hop_link_us;
  double hop_pcie_us;
  double hop_network_us;
};
// In the order of LineFormat: Simple, LL, LL128.
constexpr EnumTable<LineFormat, Latency> kOfRing{Latency{8.4, 3.4, 5.7, 14}, Latency{6.6, 0.6, 1.0, 2.7},
                                                 Latency{14.0, 1.9, 2.5, 4.0}};
constexpr EnumTable<LineFormat, Latency> kOfTree{Latency{8.4, 4.0, 4.0, 14}, Latency{6.8, 0.6, 1.0, 5.0},
                                                 Latency{14.0, 1.25, 1.9, 8.5}};

// Of a switch that adds up: what NCCL expects of its links by generation, src/tuning/nvls.cc.
constexpr std::array kOfSwitch{0.0, 0.0, 0.85, 0.74};
constexpr double kSwitchMicroseconds = 25;
constexpr int kSwitchChannels = 16;
constexpr int kLeastBehindSwitch = 3;  ///< two GPUs have nothing of it, and NCCL leaves it out

/// What trees of a middle size lack, by doublings from 64 B.
constexpr std::size_t kDoublings = 23;
using Shares = std::array<double, kDoublings>;
constexpr EnumTable<LineFormat, Shares> kTreeShare{
    Shares{.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
    Shares{1., 1., 1., 1., .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1., 1., 1., 1.},
    Shares{1., 1., 1., 1., 1., .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1., 1.}};

/// Bytes that a channel is worth, by which a small message has fewer of them: threads of a block, times what NCCL wants
/// of each.
std::uint64_t worth(LineFormat format, Algorithm algorithm, int ranks) {
  switch (format) {
    case LineFormat::ll:
      return 512ULL * 8 * (algorithm == Algorithm::ring ? static_cast<std::uint64_t>(ranks) : 1);
    case LineFormat::ll128:
      return 640ULL * 8;
    case LineFormat::simple:
      return 512ULL * 64;
  }
  return 1;
}

int steps_of(Operation operation, int ranks) { return (operation == Operation::all_reduce ? 2 : 1) * (ranks - 1); }

bool is_messages(Operation operation) { return operation == Operation::exchange || operation == Operation::all_to_all; }

struct Candidate {
  Algorithm algorithm = Algorithm::ring;
  LineFormat format = LineFormat::simple;
};

/// A network may carry less than the links within nodes.
double bus_rate(const Ground& ground, Candidate candidate, int channels) {
  constexpr double kGiga = 1e9;
  double bus = ground.ring.bytes_per_second();
  if (ground.nodes > 1) {
    constexpr double kUnknown = 12e9;
    const double network = ground.network > Rate{} ? ground.network.bytes_per_second() : kUnknown * ground.per_node;
    bus = std::min(bus, network);
  }
  const bool tree = candidate.algorithm == Algorithm::tree;
  if (tree) bus = std::min(bus * 0.92, channels * of(kTree, ground) * kGiga);
  switch (candidate.format) {
    case LineFormat::ll: {
      const double most = ground.links ? of(kMostLl, ground) * kGiga : bus;
      return std::min(most, tree ? bus / 3.8 : bus / 2);
    }
    case LineFormat::ll128: {
      const double each = of(tree ? kTreeLl128 : kRingLl128, ground) * kGiga;
      const double share = !tree ? 0.92 : ground.nodes == 1 ? 7.0 / 9 : 120.0 / 128;
      return std::min(share * bus, channels * each);
    }
    case LineFormat::simple:
      break;
  }
  return bus;
}

int channels_for(const Ground& ground, Candidate candidate, Bytes bytes, int ranks, const Fixed& fixed) {
  if (fixed.channels) return *fixed.channels;
  const auto least = static_cast<std::uint64_t>(ground.least_channels);
  const bool switched = candidate.algorithm == Algorithm::nvls;
  const auto most = static_cast<std::uint64_t>(
      switched ? std::max(ground.least_channels, std::min(ground.channels, kSwitchChannels)) : ground.channels);
  const std::uint64_t wanted = bytes.count() / worth(candidate.format, candidate.algorithm, ranks);
  return static_cast<int>(std::clamp(wanted, least, most));
}

double latency_us(const Ground& ground, Operation operation, Candidate candidate, int ranks) {
  const bool tree = candidate.algorithm == Algorithm::tree;
  const Latency& latency = (tree ? kOfTree : kOfRing)[candidate.format];
  double inside = ground.links ? latency.hop_link_us : latency.hop_pcie_us;
  if (tree) {
    const auto doublings = static_cast<int>(std::bit_width(static_cast<unsigned>(ground.nodes))) - 1;
    const int together = ground.nodes == 1 ? ranks : ground.per_node;
    return latency.base_us + 2 * ((together - 1) * inside + doublings * latency.hop_network_us);
  }
  const int steps = steps_of(operation, ranks);
  const int between = ground.nodes == 1 ? 0 : (operation == Operation::all_reduce ? 2 : 1) * (ground.nodes - 1);
  // Of each step the proxies take their part.
  const double overhead = candidate.format == LineFormat::simple ? 3 : 1;
  if (ground.nodes > 1) inside = std::max(inside, overhead);
  return latency.base_us + (steps - between) * inside + between * latency.hop_network_us;
}

/// A read brings the sum of all, and a store goes to all; one channel is counted for what ranks tell each other.
double predicted_of_switch_us(const Ground& ground, Bytes bytes, int ranks) {
  const double links =
      ground.ring.bytes_per_second() * kOfSwitch.at(static_cast<std::size_t>(std::clamp(ground.generation, 1, 4)) - 1);
  const double rate = links * (kSwitchChannels - 1) / kSwitchChannels * ranks / (ranks - 1);
  return kSwitchMicroseconds + static_cast<double>(bytes.count()) / rate * 1e6;
}

double predicted_us(const Ground& ground, Operation operation, Candidate candidate, Bytes bytes, int ranks,
                    int channels) {
  if (candidate.algorithm == Algorithm::nvls) return predicted_of_switch_us(ground, bytes, ranks);
  const bool tree = candidate.algorithm == Algorithm::tree;
  const auto size = static_cast<double>(bytes.count());
  double us = latency_us(ground, operation, candidate, ranks);
  double rate = bus_rate(ground, candidate, channels);
  rate *= tree ? 0.5 : static_cast<double>(ranks) / steps_of(operation, ranks);
  if (tree && bytes.count() >= 64) {
    const auto doublings = static_cast<std::size_t>(std::bit_width(bytes.count() / 64) - 1);
    if (doublings < kDoublings) rate *= kTreeShare[candidate.format][doublings];
  }
  // Rings over several nodes reach a plateau.
  constexpr double kPlateau = 64;
  if (!tree && candidate.format == LineFormat::simple && ground.nodes > 1 && operation == Operation::all_reduce &&
      size / (channels * static_cast<double>(ranks)) >= kPlateau) {
    us *= ground.generation == 1 ? 1.9 : 1.4;
  }
  return us + size / rate * 1e6;
}

std::string two_digits(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f", value);
  return text.data();
}

std::string name_of(Candidate candidate, bool of_trees) {
  const std::string format(to_string(candidate.format));
  return of_trees ? std::string(to_string(candidate.algorithm)) + " " + format : format;
}

/// A switch adds up slots of simple alone, of one node or domain.
bool can_be_switched(const Ground& ground, Operation operation, int ranks, const Fixed& fixed) {
  if (operation != Operation::all_reduce || (fixed.format && *fixed.format != LineFormat::simple)) return false;
  if (fixed.algorithm) return *fixed.algorithm == Algorithm::nvls;
  return ground.reduces && ground.nodes == 1 && ranks >= kLeastBehindSwitch;
}

/// What the user leaves to choose from, rings first.
std::vector<Candidate> candidates(const Ground& ground, Operation operation, int ranks, const Fixed& fixed) {
  std::vector<Candidate> all;
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree}) {
    if (algorithm == Algorithm::tree && operation != Operation::all_reduce) continue;
    if (fixed.algorithm && *fixed.algorithm != algorithm && operation == Operation::all_reduce) continue;
    for (const LineFormat format : {LineFormat::ll, LineFormat::ll128, LineFormat::simple}) {
      if (fixed.format ? *fixed.format != format : format == LineFormat::ll128 && !ground.links) continue;
      all.push_back({algorithm, format});
    }
  }
  if (can_be_switched(ground, operation, ranks, fixed)) all.push_back({Algorithm::nvls, LineFormat::simple});
  return all;
}

}  // namespace

/// Cards meet over PCIe, where no line of 128 B is sure to be seen whole; a bridge joins two of them at most.
Ground ground_of(std::string_view model, bool peer_access) {
  const bool card = model.find("PCIe") != std::string_view::npos || model.find("PCIE") != std::string_view::npos;
  Ground ground{};
  const auto* const found = std::ranges::find_if(
      kGenerations, [&](const Generation& each) { return model.find(each.name) != std::string_view::npos; });
  if (!peer_access || found == kGenerations.end()) return ground;
  ground.channels = found->channels;
  if (card) return ground;
  ground.links = true;
  ground.ring = found->ring;
  ground.generation = found->number;
  return ground;
}

Choice choose(const Ground& ground, Operation operation, Bytes bytes, int ranks, const Fixed& fixed) {
  const auto with = [&](Candidate candidate, std::string why) {
    Choice choice{.format = candidate.format,
                  .algorithm = candidate.algorithm,
                  .channels = channels_for(ground, candidate, bytes, ranks, fixed),
                  .why = std::move(why)};
    if (!is_messages(operation)) {
      choice.predicted = Seconds{1e-6 * predicted_us(ground, operation, candidate, bytes, ranks, choice.channels)};
    }
    return choice;
  };
  if (is_messages(operation)) {
    if (fixed.format) return with({.format = *fixed.format}, "the user's");
    constexpr Bytes kMostLl{16384};  // NCCL_P2P_LL_THRESHOLD
    const Bytes each =
        operation == Operation::exchange ? bytes : Bytes{bytes.count() / static_cast<std::uint64_t>(ranks)};
    return with({.format = each <= kMostLl ? LineFormat::ll : LineFormat::simple}, "messages of up to 16 KiB go by ll");
  }
  const std::vector<Candidate> all = candidates(ground, operation, ranks, fixed);
  if (all.size() == 1) return with(all.front(), "the user's");
  // Within a node without a choice the word "ring" says nothing.
  const bool trees = std::ranges::any_of(all, [](Candidate each) { return each.algorithm != Algorithm::ring; });
  std::optional<Choice> best;
  double least = 0;
  std::string why;
  for (const Candidate& candidate : all) {
    const Choice choice = with(candidate, {});
    const double us = choice.predicted->microseconds();
    why += (why.empty() ? "predicted us: " : ", ") + name_of(candidate, trees) + " " + two_digits(us);
    if (best && us >= least) continue;
    best = choice;
    least = us;
  }
  best->why = why;
  return *best;
}

const Choice& LastChoice::of(const Ground& ground, Operation operation, Bytes bytes, int ranks, const Fixed& fixed) {
  if (!choice_ || bytes_ != bytes) {
    choice_ = choose(ground, operation, bytes, ranks, fixed);
    bytes_ = bytes;
  }
  return *choice_;
}

}  // namespace twinlink::gpu
