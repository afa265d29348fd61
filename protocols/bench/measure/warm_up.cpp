#include "protocols/bench/measure/warm_up.hpp"

#include "protocols/bench/results/rounds.hpp"

namespace twinlink::bench {

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
