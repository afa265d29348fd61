#include "model/study/advice.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <set>

#include "model/study/model_error.hpp"
#include "protocols/bench/results/crossing.hpp"

namespace twinlink::model {
namespace {

constexpr Bytes kSmallestChunk = 4_KiB;
constexpr std::uint64_t kMostPieces = 256;

using Chunk = std::optional<Bytes>;

/// One that is not set counts as a whole message: nobody has asked for pieces.
bool cuts(const Chunk& chunk) { return chunk.value_or(Bytes{}) != Bytes{}; }

std::uint64_t pieces_of(Bytes size, const Chunk& chunk) {
  return cuts(chunk) ? (size.count() + chunk->count() - 1) / chunk->count() : 1;
}

/// The chunk as it acts on a message of `size`.
Chunk acting_chunk(const Chunk& chunk, Bytes size) { return chunk >= size ? Bytes{} : chunk; }

/// Larger is simpler, and the whole message is the largest.
std::uint64_t coarseness(const Chunk& chunk) {
  return cuts(chunk) ? chunk->count() : std::numeric_limits<std::uint64_t>::max();
}

bool simpler(const Tuning& a, const Tuning& b) {
  if (a.chunk != b.chunk) return coarseness(a.chunk) > coarseness(b.chunk);
  return a.depth < b.depth;
}

double fastest(std::span<const Sample> samples) { return std::ranges::min(samples, {}, &Sample::time_us).time_us; }

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
    sum += std::log(*time / fastest(samples));
  }
  single.loss = std::exp(sum / static_cast<double>(contestant.samples.size())) - 1;
  return single;
}

/// The simplest of those up to `limit_us`; null if there is none.
const Sample* simplest_within(std::span<const Sample> samples, double limit_us) {
  const Sample* best = nullptr;
  for (const Sample& sample : samples) {
    if (sample.time_us <= limit_us && (best == nullptr || simpler(sample.tuning, best->tuning))) best = &sample;
  }
  return best;
}

/// The variants of one protocol at one size.
struct Group {
  struct Entry {
    const Variant* who;
    std::span<const Sample> samples;
  };
  std::vector<Entry> variants{};
  bool library = false;
};

Choice choose(const Group& group, double margin) {
  double fastest_us = std::numeric_limits<double>::infinity();
  for (const auto& [who, samples] : group.variants) fastest_us = std::min(fastest_us, fastest(samples));
  for (const auto& [who, samples] : group.variants) {
    if (const Sample* best = simplest_within(samples, fastest_us * (1 + margin))) return {*who, *best, fastest_us};
  }
  assert(false && "the fastest is within every margin");
  return {};
}

std::optional<double> time_of(const SizeAdvice& advice, const std::string& protocol) {
  const auto found =
      std::ranges::find(advice.ranking, protocol, [](const Choice& choice) { return choice.who.protocol; });
  return found == advice.ranking.end() ? std::nullopt : std::optional(found->fastest_us);
}

const std::string& winner_of(const SizeAdvice& advice) { return advice.ranking.front().who.protocol; }

Takeover make_takeover(const SizeAdvice& before, const SizeAdvice& after) {
  Takeover takeover{.from = winner_of(before), .to = winner_of(after), .after = before.size, .by = after.size};
  const auto to_before = time_of(before, takeover.to);
  const auto from_after = time_of(after, takeover.from);
  if (to_before && from_after) {
    takeover.at = bench::crossing({before.size, before.ranking.front().fastest_us, *to_before},
                                  {after.size, *from_after, after.ranking.front().fastest_us});
  }
  return takeover;
}

}  // namespace

std::string to_string(const Variant& variant) {
  std::string text = variant.protocol;
  if (!variant.preset.empty()) text += " " + variant.preset;
  for (const auto& [name, value] : variant.options) text += " " + name + "=" + value;
  return text;
}

SearchSpace default_search(Bytes largest, const Tuning& own) {
  SearchSpace space{
      .chunks = {Bytes{}}, .depths = {1, 2, 4, 8, 16}, .own_depth = own.depth, .most_pieces = kMostPieces};
  for (Bytes chunk = kSmallestChunk; chunk < largest; chunk = chunk * 2) space.chunks.push_back(chunk);
  if (!std::ranges::count(space.chunks, own.chunk)) space.chunks.push_back(own.chunk);
  if (!std::ranges::count(space.depths, own.depth)) space.depths.push_back(own.depth);
  std::ranges::sort(space.depths);
  return space;
}

std::vector<Tuning> tunings_at(Bytes size, int window, const SearchSpace& space) {
  assert(!space.depths.empty() && std::ranges::is_sorted(space.depths));
  std::set<Chunk> chunks;
  for (const Chunk& chunk : space.chunks) chunks.insert(acting_chunk(chunk, size));
  std::vector<Tuning> tunings;
  for (const Chunk& chunk : chunks) {
    const std::uint64_t pieces = pieces_of(size, chunk) * static_cast<std::uint64_t>(window);
    if (cuts(chunk) && pieces > space.most_pieces) continue;
    std::uint64_t shallower = 0;  // the depth before
    for (const std::optional<int>& depth : space.depths) {
      if (shallower < pieces || depth == space.own_depth) tunings.push_back({chunk, depth});
      shallower = static_cast<std::uint64_t>(depth.value_or(0));
    }
  }
  return tunings;
}

bool chunks_matter(const Contestant& contestant) {
  for (const auto& [size, samples] : contestant.samples) {
    for (const Sample& sample : samples) {
      if (!cuts(sample.tuning.chunk)) continue;
      const Sample* const whole = sample_for(size, samples, {Bytes{}, sample.tuning.depth});
      if (whole == nullptr || whole->time_us != sample.time_us) return true;
    }
  }
  return false;
}

const Sample& simplest_of_fastest(std::span<const Sample> samples, double margin) {
  assert(!samples.empty());
  return *simplest_within(samples, fastest(samples) * (1 + margin));
}

double slower_by(const SizeAdvice& advice, std::size_t place) {
  return advice.ranking[place].fastest_us / advice.ranking.front().fastest_us - 1;
}

std::optional<SingleTuning> best_single_tuning(const Contestant& contestant, const SingleSearch& search,
                                               double margin) {
  std::set<Chunk> chunks;
  std::set<std::optional<int>> depths(search.depths.begin(), search.depths.end());
  for (const auto& [size, samples] : contestant.samples) {
    for (const Sample& sample : samples) {
      const Chunk& chunk = sample.tuning.chunk;
      if (!cuts(chunk) || chunk >= search.finest_chunk) chunks.insert(chunk);
      if (search.depths.empty()) depths.insert(sample.tuning.depth);
    }
  }
  std::vector<SingleTuning> singles;
  std::vector<Sample> means;  // so that the same rule chooses; the mean takes the place of the time
  for (const Chunk& chunk : chunks) {
    for (const std::optional<int>& depth : depths) {
      auto single = as_single(contestant, {chunk, depth});
      if (!single) continue;
      means.push_back({single->tuning, 1 + single->loss, {}});
      singles.push_back(std::move(*single));
    }
  }
  if (means.empty()) return std::nullopt;
  return *std::ranges::find(singles, simplest_of_fastest(means, margin).tuning, &SingleTuning::tuning);
}

std::optional<LibraryAdvice> advice_in_aliases(std::span<const Alias> aliases, const Preset& preset,
                                               const Contestant& contestant, Bytes finest_chunk) {
  const auto alias_of = [&](std::string_view target) -> const Alias* {
    const auto found = std::ranges::find_if(aliases, [&](const Alias& alias) {
      return alias.target == target && !alias.library.empty() && preset.name.starts_with(alias.library);
    });
    return found == aliases.end() ? nullptr : &*found;
  };
  const Alias* const chunk = alias_of("chunk");
  const Alias* const depth = alias_of("depth");
  if (chunk == nullptr) return std::nullopt;
  SingleSearch search{.finest_chunk = finest_chunk};
  if (depth == nullptr) search.depths = {preset.settings.depth};
  auto best = best_single_tuning(contestant, search);
  if (!best || !cuts(best->tuning.chunk)) return std::nullopt;
  LibraryAdvice advice{.tuning = std::move(*best), .fixed_depth = depth == nullptr};
  const Tuning& tuning = advice.tuning.tuning;
  const auto line = [](const Alias& alias, std::uint64_t value) {
    return std::string(alias.name) + "=" + std::to_string(value);
  };
  advice.lines.push_back(line(*chunk, (*tuning.chunk + chunk->header).count()));
  if (depth != nullptr && tuning.depth) {
    advice.lines.push_back(line(*depth, static_cast<std::uint64_t>(*tuning.depth)));
  }
  return advice;
}

Advice make_advice(std::span<const Contestant> contestants, Ranks ranks, double margin) {
  std::map<Bytes, std::vector<Group>> by_size;
  for (const Contestant& contestant : contestants) {
    for (const auto& [size, samples] : contestant.samples) {
      std::vector<Group>& groups = by_size[size];
      const bool same = ranks == Ranks::protocols && !groups.empty() &&
                        groups.back().variants.front().who->protocol == contestant.who.protocol;
      if (!same) groups.emplace_back();
      groups.back().variants.push_back({&contestant.who, samples});
      groups.back().library = contestant.library;
    }
  }
  Advice advice;
  for (const auto& [size, groups] : by_size) {
    SizeAdvice at_size{.size = size};
    for (const Group& group : groups) {
      at_size.ranking.push_back(
          choose(group, group.library ? std::max(margin, model_error(Simulated::block_collectives).share) : margin));
    }
    std::ranges::stable_sort(at_size.ranking, {}, &Choice::fastest_us);
    if (!advice.sizes.empty() && winner_of(advice.sizes.back()) != winner_of(at_size)) {
      advice.takeovers.push_back(make_takeover(advice.sizes.back(), at_size));
    }
    advice.sizes.push_back(std::move(at_size));
  }
  return advice;
}

}  // namespace twinlink::model
