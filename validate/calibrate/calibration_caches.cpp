#include "validate/calibrate/calibration_caches.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>

#include "protocols/bench/results/statistics.hpp"
#include "validate/primitives/cost_fit.hpp"
#include "validate/primitives/message_times.hpp"

namespace twinlink::validate {
namespace {

using Kind = Primitive::Kind;

/// Bytes that have to be fetched from memory take so many times as long at least, and that explains so much of what is
/// between the lines at least; less may be anything.
constexpr double kClearly = 1.1;
constexpr double kExplained = 0.5;

/// A message of which bytes are all that counts.
struct Sample {
  Kind kind{};
  Bytes memory{};       ///< that its round goes through
  double log_each = 0;  ///< of the time for a byte
};

bool tells_bytes(const GroupedProbe& grouped) {
  const Kind kind = grouped.primitive.kind;
  return (kind == Kind::message || kind == Kind::gap) && grouped.primitive.same_node && grouped.size() >= kBytesDecide;
}

std::vector<Sample> samples_of(const std::vector<Group>& groups) {
  std::vector<Sample> samples;
  for (const Group& group : groups) {
    for (const GroupedProbe& grouped : group.lines) {
      if (!tells_bytes(grouped)) continue;
      const double each = grouped.time().value() / static_cast<double>(grouped.size().count());
      samples.push_back({grouped.primitive.kind, memory_of_round(grouped.primitive, grouped.size()), std::log(each)});
    }
  }
  return samples;
}

struct Mean {
  double sum = 0;
  double count = 0;
  void add(double value) {
    sum += value;
    count += 1;
  }
  [[nodiscard]] double value() const { return sum / count; }
};

/// What a split leaves unexplained: the squares of what is between each sample and the mean of those of its kind on the
/// same side. Nothing for one that leaves a kind whole, or where one kind's bytes do not take clearly longer.
std::optional<double> unexplained(const std::vector<Sample>& samples, Bytes most_held) {
  std::map<Kind, std::map<bool, Mean>> means;
  for (const Sample& sample : samples) means[sample.kind][sample.memory > most_held].add(sample.log_each);
  for (const auto& [kind, sides] : means) {
    if (sides.size() < 2 || sides.at(true).value() - sides.at(false).value() < std::log(kClearly)) return std::nullopt;
  }
  double rest = 0;
  for (const Sample& sample : samples) {
    rest += std::pow(sample.log_each - means[sample.kind][sample.memory > most_held].value(), 2);
  }
  return rest;
}

/// The same of no split at all.
double unexplained(const std::vector<Sample>& samples) {
  std::map<Kind, Mean> means;
  for (const Sample& sample : samples) means[sample.kind].add(sample.log_each);
  double rest = 0;
  for (const Sample& sample : samples) rest += std::pow(sample.log_each - means[sample.kind].value(), 2);
  return rest;
}

/// What caches hold, and where that divides the samples.
struct Split {
  Bytes most_held{};  ///< of all rounds that the caches hold, the one that goes through most memory
  Bytes cache{};      ///< between that and the least of the others
};

/// The middle on a logarithmic scale, in whole MiB if one lies there. `least` is held, and `most` is not.
Bytes between(Bytes least, Bytes most) {
  const double middle = std::sqrt(static_cast<double>(least.count()) * static_cast<double>(most.count()));
  const auto mib = static_cast<double>((1_MiB).count());
  const Bytes rounded = 1_MiB * static_cast<std::uint64_t>(std::llround(middle / mib));
  return least <= rounded && rounded < most ? rounded : Bytes{static_cast<std::uint64_t>(middle)};
}

/// Nothing if no split explains enough.
std::optional<Split> find_split(const std::vector<Sample>& samples) {
  std::set<Bytes> memories;
  for (const Sample& sample : samples) memories.insert(sample.memory);
  double least = unexplained(samples) * (1 - kExplained);
  std::optional<Split> split;
  for (auto held = memories.begin(); held != memories.end() && std::next(held) != memories.end(); ++held) {
    const std::optional<double> rest = unexplained(samples, *held);
    if (!rest || *rest >= least) continue;
    least = *rest;
    split = {*held, between(*held, *std::next(held))};
  }
  return split;
}

}  // namespace

std::optional<Group> split_uncached(std::vector<Group>& groups, const platforms::Topology& topology,
                                    const ProbeSet& probes, PlatformEdit& edit) {
  const std::optional<Split> split = find_split(samples_of(groups));
  if (!split) return std::nullopt;
  Group uncached{.path = std::string(kUncached)};
  for (Group& group : groups) {
    const auto lacking = [&](const GroupedProbe& grouped) {
      return tells_bytes(grouped) && memory_of_round(grouped.primitive, grouped.size()) > split->most_held;
    };
    std::ranges::copy_if(group.lines, std::back_inserter(uncached.lines), lacking);
    std::erase_if(group.lines, lacking);
  }
  std::set<std::string> memories;
  for (const GroupedProbe& grouped : uncached.lines) {
    memories.insert(topology.name(grouped.primitive.from.location));
    memories.insert(topology.name(grouped.primitive.to.location));
  }
  for (const std::string& memory : memories) {
    set_fit(edit, fmt::format("nodes.memories.{}.cache", memory), split->cache, uncached, probes);
  }
  return uncached;
}

bool lacks_in_caches(const std::vector<Group>& groups, const platforms::Topology& topology) {
  return std::ranges::any_of(groups, [&](const Group& group) {
    return std::ranges::any_of(group.lines, [&](const GroupedProbe& grouped) {
      return tells_bytes(grouped) && lacks_in_caches(grouped.primitive, grouped.size(), topology);
    });
  });
}

void fit_uncached(const Group& group, const platforms::Topology& topology, const ProbeSet& probes, PlatformEdit& edit,
                  std::vector<std::string>& notes) {
  platforms::Platform held = topology.platform();
  const std::optional<platforms::Sourced<Rate>>& rate = held.intra_node.rate;
  if (!rate) {
    notes.push_back(group.path + ": neither the base nor the probes tell the rate of what the caches hold");
    return;
  }
  held.intra_node.uncached.reset();
  const platforms::Topology as_if_held(held);
  std::vector<double> longer;
  for (const GroupedProbe& grouped : group.lines) {
    const Seconds rest = grouped.time() - *predict(grouped.primitive, grouped.size(), as_if_held);
    longer.push_back(rest.value() / static_cast<double>(grouped.size().count()));
  }
  const double each = 1 / rate->value.bytes_per_second() + std::max(bench::upper_median(longer), 0.0);
  set_fit(edit, group.path, Rate{1 / each}, group, probes);
}

}  // namespace twinlink::validate
