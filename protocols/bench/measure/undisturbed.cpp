#include "protocols/bench/measure/undisturbed.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <utility>

namespace twinlink::bench {
namespace {

/// Long enough that the agreement after each batch is little, short beside the time for which others come and go.
constexpr double kBatchUs = 200;
/// To have seen the core without company: what was seen to disturb stayed for up to half a second, with milliseconds
/// between.
constexpr Seconds kLearning{3};
/// So many batches with company, about a millisecond: it stays for longer than a passing interrupt.
constexpr int kMostInCompany = 4;
/// So many batches, and then the next core: how far two cores are from each other and from a device differs, and which
/// of them a job begins with is chance. A message of 1 B was seen to take 0.6 to 0.9 us.
constexpr int kMostOnACore = 10;

/// Of a batch, what a rank says to the others is what its glances took, in thousandths of one on a core of its own. The
/// most of all counts, and this on top of it ends the rounds.
constexpr int kOutOfTime = 1'000'000;
constexpr int kAlone = static_cast<int>(CoreWatch::kAlone * 1000);
/// So much company stands for a core that does not know yet what runs on it, and more is not told apart.
constexpr int kSettling = 100'000;

struct Batch {
  int company = 0;
  std::vector<double> times_us{};
};

std::vector<double> times_of(int count, const std::function<double()>& round) {
  std::vector<double> times_us;
  times_us.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) times_us.push_back(round());
  return times_us;
}

/// Of the batches with the least company as many as have `count` rounds together, or all, in the order of their times.
Rounds quietest(const std::vector<Batch>& batches, std::size_t count) {
  std::vector<std::size_t> order(batches.size());
  std::iota(order.begin(), order.end(), std::size_t{});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return batches[i].company; });
  std::size_t rounds = 0;
  const auto enough = [&](std::size_t i) { return (rounds += batches[i].times_us.size()) >= count; };
  const auto last = std::ranges::find_if(order, enough);
  order.erase(last == order.end() ? last : std::next(last), order.end());
  std::ranges::sort(order);
  Rounds quiet;
  for (const std::size_t i : order) {
    quiet.disturbed = quiet.disturbed || batches[i].company > kAlone;
    std::ranges::copy(batches[i].times_us, std::back_inserter(quiet.times_us));
  }
  for (const Batch& batch : batches) quiet.left_out += batch.times_us.size();
  quiet.left_out -= quiet.times_us.size();
  return quiet;
}

}  // namespace

UndisturbedRounds::UndisturbedRounds(Rank& rank, Undisturbed wanted, Patience patience)
    : rank_(rank), wanted_(std::move(wanted)), patience_(patience) {
  if (wanted_.wait == Seconds{}) return;
  // Ranks that nobody has bound may begin on one core, where a first message waits until the other one's turn is over.
  if (wanted_.another_core) wanted_.another_core();
  watch_.emplace(rank, wanted_.glance, kLearning);
  glance_ = [this] { return watch_->look(); };
}

UndisturbedRounds::UndisturbedRounds(Rank& rank, Undisturbed wanted, Patience patience, Glance glance)
    : rank_(rank), wanted_(std::move(wanted)), patience_(patience), glance_(std::move(glance)) {}

std::optional<double> UndisturbedRounds::glance() const {
  return watch_ ? std::optional(watch_->quickest()) : std::nullopt;
}

/// Of a batch between two glances, in thousandths. Goes to another core after some of them with company, and anyway in
/// the end.
int UndisturbedRounds::company(double before, double after) {
  const int most = static_cast<int>(std::min(std::max(before, after) * 1000, static_cast<double>(kSettling)));
  in_company_ = most <= kAlone ? 0 : in_company_ + 1;
  ++on_this_core_;
  const bool too_long = in_company_ == kMostInCompany || on_this_core_ >= kMostOnACore;
  if (too_long) in_company_ = on_this_core_ = 0;
  const bool goes = too_long && wanted_.another_core && wanted_.another_core();
  return std::exchange(settles_, goes) ? kSettling : most;
}

Rounds UndisturbedRounds::time(int count, const std::vector<double>& trial, const std::function<double()>& round) {
  return time(std::array{rank_.id()}, count, trial, round);
}

Rounds UndisturbedRounds::time(std::span<const RankId> group, int count, const std::vector<double>& trial,
                               const std::function<double()>& round) {
  if (wanted_.wait == Seconds{}) return {.times_us = times_of(count, round)};
  const double round_us = trial.empty() ? 0 : trial.back();
  const double in_batch = round_us > 0 ? std::clamp(kBatchUs / round_us, 1.0, static_cast<double>(count)) : count;
  const int batch = agree_in(rank_, group, static_cast<int>(in_batch), patience_);
  // All go on at the same time: a batch in which one rank gets to know its core does not count for the others either.
  on_this_core_ = -agree_in(rank_, group, -on_this_core_, patience_);
  const Seconds deadline = rank_.now() + Seconds{round_us * count * 1e-6} + wanted_.wait;
  const int fewest = std::min(count, kFewestRounds);
  std::vector<Batch> batches;
  int undisturbed = 0;
  for (bool late = false; !late && undisturbed < count;) {
    const double before = glance_();
    std::vector<double> times_us = times_of(std::min(batch, count - undisturbed), round);
    const bool settled = settles_;
    const int mine = company(before, glance_());
    const bool out_of_time = mine > kAlone && !settled && rank_.now() >= deadline;
    const int most = -agree_in(rank_, group, -(mine + (out_of_time ? kOutOfTime : 0)), patience_);
    late = most >= kOutOfTime;
    if (most <= kAlone) undisturbed += static_cast<int>(times_us.size());
    batches.push_back({most, std::move(times_us)});  // of the last one only that it had company
  }
  return quietest(batches, static_cast<std::size_t>(undisturbed >= fewest ? undisturbed : count));
}

}  // namespace twinlink::bench
