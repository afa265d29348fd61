#include "protocols/bench/measure/pair_group.hpp"

#include <algorithm>

namespace twinlink::bench {
namespace {

/// Whoever has finished asks now and then, and tells its peer: seldom enough that it is still the load that it was.
constexpr int kQuestions = 16;

void run(int rounds, const std::function<void()>& round) {
  for (int i = 0; i < rounds; ++i) round();
}

}  // namespace

PairGroup::PairGroup(MeasuredRank& rank, const Plan& plan)
    : rank_(rank),
      leading_(rank.id() == plan.first),
      peer_(leading_ ? plan.second : plan.first),
      patience_(Patience::of_peer(plan.settings.timeout)),
      leaders_{plan.first},
      members_{plan.first, plan.second} {
  for (const Companion& pair : plan.beside) {
    leaders_.push_back(pair.first);
    members_.insert(members_.end(), {pair.first, pair.second});
  }
  if (alone()) return;
  patience_ = Patience::of_turn(plan.settings.timeout);
  // In the same order on every rank, though each pair's plan begins with its own ranks.
  std::ranges::sort(leaders_);
  std::ranges::sort(members_);
}

void PairGroup::synchronize() {
  if (alone()) return bench::synchronize(rank_, peer_, patience_);
  meet_in(rank_, members_, patience_);
}

int PairGroup::agree(int mine) {
  if (leading_ && !alone()) mine = agree_in(rank_, leaders_, mine, patience_);
  return bench::agree(rank_, peer_, leading_, mine, patience_);
}

void PairGroup::outlast(int counted, const std::function<void()>& round) {
  if (alone()) return;
  const int rounds = std::max(1, counted / kQuestions);
  if (!leading_) return follow(rounds, round);
  const RankId host = leaders_.front();
  const bool hosting = rank_.id() == host;
  // To the host: this pair's rounds are over. From the host: those of all are.
  if (!hosting) send_control_now(rank_, host, ControlMessage(), patience_);
  const std::vector<RankId> guests(leaders_.begin() + 1, leaders_.end());
  Listener listener(rank_, hosting ? guests : std::vector{host});
  while (!listener.received_all()) {
    send_control_now(rank_, peer_, ControlMessage(true), patience_);
    run(rounds, round);
  }
  if (hosting) {
    for (const RankId guest : guests) send_control_now(rank_, guest, ControlMessage(), patience_);
  }
  send_control_now(rank_, peer_, ControlMessage(false), patience_);
}

/// The other end of a pair learns from its leader whether there is more.
void PairGroup::follow(int rounds, const std::function<void()>& round) {
  while (recv_control_now(rank_, peer_, patience_).as<bool>()) run(rounds, round);
}

}  // namespace twinlink::bench
