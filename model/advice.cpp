#include "model/advice.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <set>

#include "protocols/bench/crossing.hpp"

namespace twinlink::model {
namespace {

constexpr Bytes kSmallestChunk = 4_KiB;
constexpr std::uint64_t kMostPieces = 256;

std::uint64_t pieces_of(Bytes size, Bytes chunk) {
  return chunk == Bytes{} ? 1 : (size.count() + chunk.count() - 1) / chunk.count();
}

/// The chunk as it acts on a message of `size`.
Bytes acting_chunk(Bytes chunk, Bytes size) { return chunk >= size ? Bytes{} : chunk; }

/// Larger is simpler, and the whole message is the largest.
std::uint64_t coarseness(Bytes chunk) {
  return chunk == Bytes{} ? std::numeric_limits<std::uint64_t>::max() : chunk.count();
}

bool simpler(const Tuning& a, const Tuning& b) {
  if (a.chunk != b.chunk) return coarseness(a.chunk) > coarseness(b.chunk);
  return a.depth < b.depth;
}

/// The time of a message of `size` with `tuning`: that of the deepest sample that is not deeper, for tunings_at()
/// leaves out what is deeper than there are pieces.
const Sample* sample_for(Bytes size, const std::vector<Sample>& samples, const Tuning& tuning) {
  const Sample* found = nullptr;
  for (const Sample& sample : samples) {
    if (sample.tuning.chunk != acting_chunk(tuning.chunk, size) || sample.tuning.depth > tuning.depth) continue;
    if (found == nullptr || sample.tuning.depth > found->tuning.depth) found = &sample;
  }
  return found;
}

/// As sample_for() would have it at a size at which the chunk was not tried: on the straight line through the two
/// largest sizes below at which it was.
std::optional<double> extrapolate(const Contestant& contestant, Bytes size, const Tuning& tuning) {
  std::vector<std::pair<double, double>> last;  // size and time, the largest size first
  for (auto at = contestant.samples.rbegin(); at != contestant.samples.rend() && last.size() < 2; ++at) {
    if (at->first >= size || at->first <= tuning.chunk) continue;
    if (const Sample* sample = sample_for(at->first, at->second, tuning)) {
      last.emplace_back(static_cast<double>(at->first.count()), sample->time_us);
    }
  }
  if (last.size() < 2) return std::nullopt;
  const double slope = (last[0].second - last[1].second) / (last[0].first - last[1].first);
  return last[0].second + slope * (static_cast<double>(size.count()) - last[0].first);
}

/// `tuning` for all sizes, or nothing if there is a size for which it has no time.
std::optional<SingleTuning> as_single(const Contestant& contestant, const Tuning& tuning) {
  SingleTuning single{.who = contestant.who, .tuning = tuning};
  double sum = 0;
  for (const auto& [size, samples] : contestant.samples) {
    const Sample* sample = sample_for(size, samples, tuning);
    if (sample == nullptr) single.missing.push_back(size);
    const auto time = sample != nullptr ? sample->time_us : extrapolate(contestant, size, tuning);
    if (!time) return std::nullopt;
    sum += std::log(*time / std::ranges::min(samples, {}, &Sample::time_us).time_us);
  }
  single.loss = std::exp(sum / static_cast<double>(contestant.samples.size())) - 1;
  return single;
}

bool simulated_at(const Contestant& contestant, int depth) {
  return std::ranges::any_of(contestant.samples, [&](const auto& at_size) {
    return std::ranges::count(at_size.second, depth, [](const Sample& sample) { return sample.tuning.depth; }) > 0;
  });
}

std::optional<double> time_of(const SizeAdvice& advice, const Variant& who) {
  const auto found = std::ranges::find(advice.ranking, who, &Choice::who);
  return found == advice.ranking.end() ? std::nullopt : std::optional(found->fastest_us);
}

Takeover make_takeover(const SizeAdvice& before, const SizeAdvice& after) {
  const Variant& from = before.ranking.front().who;
  const Variant& to = after.ranking.front().who;
  Takeover takeover{.from = from, .to = to, .after = before.size, .by = after.size};
  const auto to_before = time_of(before, to);
  const auto from_after = time_of(after, from);
  if (to_before && from_after) {
    takeover.at = bench::crossing({before.size, before.ranking.front().fastest_us, *to_before},
                                  {after.size, *from_after, after.ranking.front().fastest_us});
  }
  return takeover;
}

}  // namespace

std::string to_string(const Variant& variant) {
  return variant.preset.empty() ? variant.protocol : variant.protocol + " " + variant.preset;
}

SearchSpace default_search(Bytes largest, const Tuning& protocol_default) {
  SearchSpace space{.chunks = {Bytes{}}, .depths = {1, 2, 4, 8, 16}, .most_pieces = kMostPieces};
  for (Bytes chunk = kSmallestChunk; chunk < largest; chunk = chunk * 2) space.chunks.push_back(chunk);
  if (!std::ranges::count(space.chunks, protocol_default.chunk)) space.chunks.push_back(protocol_default.chunk);
  if (!std::ranges::count(space.depths, protocol_default.depth)) space.depths.push_back(protocol_default.depth);
  std::ranges::sort(space.depths);
  return space;
}

std::vector<Tuning> tunings_at(Bytes size, int window, const SearchSpace& space) {
  assert(!space.depths.empty() && std::ranges::is_sorted(space.depths));
  std::set<Bytes> chunks;
  for (const Bytes chunk : space.chunks) chunks.insert(acting_chunk(chunk, size));
  std::vector<Tuning> tunings;
  for (const Bytes chunk : chunks) {
    const std::uint64_t pieces = pieces_of(size, chunk) * static_cast<std::uint64_t>(window);
    if (chunk != Bytes{} && pieces > space.most_pieces) continue;
    for (std::size_t i = 0; i < space.depths.size(); ++i) {
      if (i > 0 && static_cast<std::uint64_t>(space.depths[i - 1]) >= pieces) break;
      tunings.push_back({chunk, space.depths[i]});
    }
  }
  return tunings;
}

const Sample& simplest_of_fastest(std::span<const Sample> samples, double margin) {
  assert(!samples.empty());
  const double limit = std::ranges::min(samples, {}, &Sample::time_us).time_us * (1 + margin);
  const Sample* best = nullptr;
  for (const Sample& sample : samples) {
    if (sample.time_us <= limit && (best == nullptr || simpler(sample.tuning, best->tuning))) best = &sample;
  }
  return *best;
}

double slower_by(const SizeAdvice& advice, std::size_t place) {
  return advice.ranking[place].fastest_us / advice.ranking.front().fastest_us - 1;
}

std::optional<SingleTuning> best_single_tuning(const Contestant& contestant, const SingleSearch& search,
                                               double margin) {
  std::set<Bytes> chunks;
  std::set<int> depths(search.depths.begin(), search.depths.end());
  for (const auto& [size, samples] : contestant.samples) {
    for (const Sample& sample : samples) {
      const Bytes chunk = sample.tuning.chunk;
      if (chunk == Bytes{} || chunk >= search.finest_chunk) chunks.insert(chunk);
      if (search.depths.empty()) depths.insert(sample.tuning.depth);
    }
  }
  std::vector<SingleTuning> singles;
  std::vector<Sample> means;  // so that the same rule chooses; the mean takes the place of the time
  for (const Bytes chunk : chunks) {
    for (const int depth : depths) {
      auto single = as_single(contestant, {chunk, depth});
      if (!single) continue;
      means.push_back({single->tuning, 1 + single->loss, {}});
      singles.push_back(std::move(*single));
    }
  }
  if (means.empty()) return std::nullopt;
  return *std::ranges::find(singles, simplest_of_fastest(means, margin).tuning, &SingleTuning::tuning);
}

std::vector<LibraryAdvice> advice_in_aliases(std::span<const Alias> aliases, std::span<const Preset> presets,
                                             const Contestant& contestant, Bytes finest_chunk) {
  const auto names_of = [&](std::string_view target) {
    std::vector<std::string> names;
    for (const Alias& alias : aliases) {
      if (alias.target == target) names.emplace_back(alias.name);
    }
    return names;
  };
  std::vector<LibraryAdvice> all;
  const auto add = [&](const std::vector<int>& depths, std::string_view fixed_depth_of) {
    auto best = best_single_tuning(contestant, {.depths = depths, .finest_chunk = finest_chunk});
    if (!best || best->tuning.chunk == Bytes{}) return;
    LibraryAdvice advice{.tuning = std::move(*best), .fixed_depth_of = std::string(fixed_depth_of)};
    const Tuning& tuning = advice.tuning.tuning;
    for (const std::string& name : names_of("chunk")) {
      advice.lines.push_back(name + "=" + std::to_string(tuning.chunk.count()));
    }
    if (depths.empty()) {
      for (const std::string& name : names_of("depth")) {
        advice.lines.push_back(name + "=" + std::to_string(tuning.depth));
      }
    }
    all.push_back(std::move(advice));
  };
  if (names_of("chunk").empty()) return all;
  if (!names_of("depth").empty()) {
    add({}, {});
  } else {
    for (const Preset& preset : presets) {
      if (simulated_at(contestant, preset.settings.depth)) add({preset.settings.depth}, preset.name);
    }
  }
  return all;
}

Advice make_advice(std::span<const Contestant> contestants, double margin) {
  std::map<Bytes, SizeAdvice> by_size;
  Advice advice;
  for (const Contestant& contestant : contestants) {
    for (const auto& [size, samples] : contestant.samples) {
      by_size[size].ranking.push_back({.who = contestant.who,
                                       .best = simplest_of_fastest(samples, margin),
                                       .fastest_us = std::ranges::min(samples, {}, &Sample::time_us).time_us});
    }
  }
  for (auto& [size, at_size] : by_size) {
    at_size.size = size;
    std::ranges::stable_sort(at_size.ranking, {}, &Choice::fastest_us);
    if (!advice.sizes.empty() && advice.sizes.back().ranking.front().who != at_size.ranking.front().who) {
      advice.takeovers.push_back(make_takeover(advice.sizes.back(), at_size));
    }
    advice.sizes.push_back(std::move(at_size));
  }
  return advice;
}

}  // namespace twinlink::model
