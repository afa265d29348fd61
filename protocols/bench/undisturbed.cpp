#include "protocols/bench/undisturbed.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace twinlink::bench {
namespace {

/// Long enough that the agreement after each batch is little, short beside the time for which others come and go.
constexpr double kBatchUs = 200;
/// To have seen the core without company: what was seen to disturb stayed for up to half a second, with milliseconds
/// between.
constexpr Seconds kLearning{3};

/// What a rank says of a batch. The least of all counts.
enum Verdict : int { out_of_time, disturbed, undisturbed };

std::vector<double> times_of(int count, const std::function<double()>& round) {
  std::vector<double> times_us;
  times_us.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) times_us.push_back(round());
  return times_us;
}

/// `count` of them if there are more, evenly spread.
std::vector<double> spread(const std::vector<double>& all, std::size_t count) {
  if (all.size() <= count) return all;
  std::vector<double> some;
  for (std::size_t i = 0; i < count; ++i) some.push_back(all[i * all.size() / count]);
  return some;
}

}  // namespace

UndisturbedRounds::UndisturbedRounds(Rank& rank, const Undisturbed& wanted, Patience patience)
    : rank_(rank), wait_(wanted.wait), patience_(patience) {
  if (wait_ == Seconds{}) return;
  watch_.emplace(rank, wanted.glance, kLearning);
  glance_ = [this] { return watch_->alone(); };
}

UndisturbedRounds::UndisturbedRounds(Rank& rank, Seconds wait, Patience patience, Glance glance)
    : rank_(rank), wait_(wait), patience_(patience), glance_(std::move(glance)) {}

std::optional<Seconds> UndisturbedRounds::glance() const {
  return watch_ ? std::optional(watch_->quickest()) : std::nullopt;
}

Rounds UndisturbedRounds::time(int count, const std::vector<double>& trial, const std::function<double()>& round) {
  return time(std::array{rank_.id()}, count, trial, round);
}

Rounds UndisturbedRounds::time(std::span<const RankId> group, int count, const std::vector<double>& trial,
                               const std::function<double()>& round) {
  if (wait_ == Seconds{}) return {.times_us = times_of(count, round)};
  const double round_us = trial.empty() ? 0 : trial.back();
  const double in_batch = round_us > 0 ? std::clamp(kBatchUs / round_us, 1.0, static_cast<double>(count)) : count;
  const int batch = agree_in(rank_, group, static_cast<int>(in_batch), patience_);
  const Seconds deadline = rank_.now() + wait_ + Seconds{round_us * count * 1e-6};
  std::vector<double> kept;
  std::vector<double> others;
  int verdict = undisturbed;
  while (verdict != out_of_time && std::cmp_less(kept.size(), count)) {
    const bool before = glance_();
    const std::vector<double> times_us = times_of(std::min(batch, count - static_cast<int>(kept.size())), round);
    const bool mine = before && glance_();
    const int said = mine ? undisturbed : rank_.now() < deadline ? disturbed : out_of_time;
    verdict = agree_in(rank_, group, said, patience_);
    std::ranges::copy(times_us, std::back_inserter(verdict == undisturbed ? kept : others));
  }
  const bool enough = std::cmp_greater_equal(kept.size(), std::min(count, kFewestRounds));
  if (enough) return {.times_us = std::move(kept), .left_out = others.size()};
  std::ranges::copy(kept, std::back_inserter(others));
  // Hundreds of thousands that were repeated in vain tell no more than as many as were asked for.
  return {.times_us = spread(others, static_cast<std::size_t>(count)), .disturbed = true};
}

}  // namespace twinlink::bench
