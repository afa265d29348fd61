#include "protocols/bench/measure/warm_up.hpp"

#include <algorithm>

namespace twinlink::bench {

double time_round(Rank& rank, const std::function<void()>& round) {
  const Seconds start = rank.now();
  round();
  return (rank.now() - start).microseconds();
}

std::vector<double> time_rounds(Rank& rank, int count, const std::function<void()>& round) {
  std::vector<double> samples;
  samples.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) samples.push_back(time_round(rank, round));
  return samples;
}

std::vector<double> trial_rounds(Rank& rank, int warmup, const std::function<void()>& round) {
  return time_rounds(rank, std::max(warmup, 1), round);
}

int rounds_within(Seconds budget, const std::vector<double>& trial, int wanted) {
  if (budget == Seconds{} || trial.empty() || trial.back() <= 0) return wanted;
  const double affordable = budget.microseconds() / trial.back();
  if (affordable >= wanted) return wanted;
  return std::min(wanted, std::max(kFewestRounds, static_cast<int>(affordable)));
}

std::vector<double> WarmUp::operator()(int least, const std::function<void()>& round) {
  std::vector<double> times_us;
  SetUpRank::Counts last{};
  bool same = false;
  const auto once = [&] {
    const SetUpRank::Counts before = rank_.counts();
    times_us.push_back(time_round(rank_, round));
    SetUpRank::Counts made = rank_.counts();
    for (std::size_t i = 0; i < made.size(); ++i) made[i] -= before[i];
    same = made == SetUpRank::Counts{} || made == last;
    last = made;
  };
  do once();
  while (static_cast<int>(times_us.size()) < least);
  for (int more = 0; least_of_all_(same && !(waits_ && connecting_()) ? 1 : 0) == 0; ++more) {
    if (more == kMost) {
      waits_ = false;
      break;
    }
    once();
  }
  return times_us;
}

}  // namespace twinlink::bench
