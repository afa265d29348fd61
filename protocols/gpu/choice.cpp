#include "protocols/gpu/choice.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace twinlink::gpu {
namespace {

struct Generation {
  std::string_view name;  ///< in the model
  Rate ring;              ///< of all NVLinks
  Rate most_ll;
  Rate ll128_channel;
  int channels;
};

/// Links times what tuning.cc and topo.h take for one; the most of LL in one node, and of LL128 by channel; channels as
/// `NCCL_DEBUG=INFO` prints them on machines of eight.
constexpr std::array kGenerations{Generation{"B200", Rate{18 * 40.1e9}, Rate{282e9}, Rate{40e9}, 24},
                                  Generation{"H100", Rate{18 * 20.6e9}, Rate{141e9}, Rate{36.7e9}, 24},
                                  Generation{"H200", Rate{18 * 20.6e9}, Rate{141e9}, Rate{36.7e9}, 24},
                                  Generation{"A100", Rate{12 * 20e9}, Rate{87.7e9}, Rate{20e9}, 24},
                                  Generation{"V100", Rate{6 * 20e9}, Rate{39e9}, Rate{20e9}, 12}};

/// By format: of a ring.
struct Latency {
  double base_us;
  double hop_link_us;
  double hop_pcie_us;
};
constexpr Latency latency_of(LineFormat format) {
  switch (format) {
    case LineFormat::ll:
      return {6.6, 0.6, 1.0};
    case LineFormat::ll128:
      return {14.0, 1.9, 2.5};
    case LineFormat::simple:
      return {8.4, 3.4, 5.7};
  }
  return {};
}

/// Bytes that a channel is worth, by which a small message has fewer of them: threads of a block, times what NCCL wants
/// of each.
std::uint64_t worth(LineFormat format, int ranks) {
  switch (format) {
    case LineFormat::ll:
      return 512ULL * 8 * static_cast<std::uint64_t>(ranks);
    case LineFormat::ll128:
      return 640ULL * 8;
    case LineFormat::simple:
      return 512ULL * 64;
  }
  return 1;
}

int steps_of(Operation operation, int ranks) { return (operation == Operation::all_reduce ? 2 : 1) * (ranks - 1); }

bool is_messages(Operation operation) { return operation == Operation::exchange || operation == Operation::all_to_all; }

Rate rate_of(const Ground& ground, LineFormat format, int channels) {
  const double ring = ground.ring.bytes_per_second();
  switch (format) {
    case LineFormat::ll: {
      const double most = ground.most_ll.bytes_per_second();
      return Rate{most > 0 ? std::min(most, ring / 2) : ring / 2};
    }
    case LineFormat::ll128:
      return Rate{std::min(0.92 * ring, channels * ground.ll128_channel.bytes_per_second())};
    case LineFormat::simple:
      break;
  }
  return ground.ring;
}

int channels_for(const Ground& ground, LineFormat format, Bytes bytes, int ranks, const Fixed& fixed) {
  if (fixed.channels) return *fixed.channels;
  const auto least = static_cast<std::uint64_t>(ground.least_channels);
  const auto most = static_cast<std::uint64_t>(ground.channels);
  return static_cast<int>(std::clamp(bytes.count() / worth(format, ranks), least, most));
}

double predicted_us(const Ground& ground, Operation operation, LineFormat format, Bytes bytes, int ranks,
                    int channels) {
  const Latency latency = latency_of(format);
  const int steps = steps_of(operation, ranks);
  const double moved = static_cast<double>(bytes.count()) * steps / ranks;
  return latency.base_us + steps * (ground.links ? latency.hop_link_us : latency.hop_pcie_us) +
         moved / rate_of(ground, format, channels).bytes_per_second() * 1e6;
}

std::string two_digits(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f", value);
  return text.data();
}

}  // namespace

/// Cards meet over PCIe, where no line of 128 B is sure to be seen whole; a bridge joins two of them at most.
Ground ground_of(std::string_view model, bool peer_access) {
  const bool card = model.find("PCIe") != std::string_view::npos || model.find("PCIE") != std::string_view::npos;
  Ground ground{.links = peer_access && !card};
  const auto* const found = std::ranges::find_if(
      kGenerations, [&](const Generation& each) { return model.find(each.name) != std::string_view::npos; });
  if (!peer_access || found == kGenerations.end()) return ground;
  if (card) {
    ground.channels = found->channels;
    return ground;
  }
  ground.ring = found->ring;
  ground.most_ll = found->most_ll;
  ground.ll128_channel = found->ll128_channel;
  ground.channels = found->channels;
  return ground;
}

Choice choose(const Ground& ground, Operation operation, Bytes bytes, int ranks, const Fixed& fixed) {
  const auto with = [&](LineFormat format, std::string why) {
    return Choice{format, channels_for(ground, format, bytes, ranks, fixed), std::move(why)};
  };
  if (fixed.format) return with(*fixed.format, "the user's");
  if (is_messages(operation)) {
    constexpr Bytes kMostLl{16384};  // NCCL_P2P_LL_THRESHOLD
    const Bytes each =
        operation == Operation::exchange ? bytes : Bytes{bytes.count() / static_cast<std::uint64_t>(ranks)};
    return with(each <= kMostLl ? LineFormat::ll : LineFormat::simple, "messages of up to 16 KiB go by ll");
  }
  std::optional<Choice> best;
  double least = 0;
  std::string why;
  for (const LineFormat format : {LineFormat::ll, LineFormat::ll128, LineFormat::simple}) {
    if (format == LineFormat::ll128 && ground.ll128_channel == Rate{}) continue;
    const Choice choice = with(format, {});
    const double us = predicted_us(ground, operation, format, bytes, ranks, choice.channels);
    why += (why.empty() ? "predicted us: " : ", ") + std::string(to_string(format)) + " " + two_digits(us);
    if (best && us >= least) continue;
    best = choice;
    least = us;
  }
  best->why = why;
  return *best;
}

}  // namespace twinlink::gpu
