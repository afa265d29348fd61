// Rounds during which the cores of all that take part were their own.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "protocols/bench/measure/collectives.hpp"
#include "protocols/bench/measure/core_watch.hpp"
#include "protocols/bench/results/rounds.hpp"

namespace twinlink::bench {

/// Times rounds in batches, and keeps those before and after which every rank of the group had its core for itself.
/// What others do on a core makes some rounds up to 1.7 times as long, comes and goes within tenths of a second, and
/// belongs to no machine that a platform describes. A rank that has company for some batches goes to another core, and
/// so it does after some more in any case, so that the rounds are not of one place that chance has chosen.
class UndisturbedRounds {
 public:
  /// How many times as long as on a core of its own does this rank's work take? CoreWatch::look(), but for tests.
  using Glance = std::function<double()>;

  /// A `wait` of zero watches nothing: every round counts. Otherwise it is how much longer the rounds of one size may
  /// take for the sake of those that are left out: the same for every size, or what was found would differ by that.
  /// Where a rank has more than one core to go to, it goes to another one at once, before the first message.
  UndisturbedRounds(Rank& rank, Undisturbed wanted, Patience patience);
  /// For tests: with looks of their own, and where the rank is.
  UndisturbedRounds(Rank& rank, Undisturbed wanted, Patience patience, Glance glance);

  /// CoreWatch::quickest(); nothing if nothing is watched.
  [[nodiscard]] std::optional<double> glance() const;

  /// `count` rounds, each of which tells its time in microseconds; `trial` has the times of rounds before them, of
  /// which the last says about how long one takes. All ranks of `group`, its first one leading, make the same call with
  /// the same count. Where too few are undisturbed in the time there is, about `count` rounds of the batches with the
  /// least company count, and the result says so.
  Rounds time(std::span<const RankId> group, int count, const std::vector<double>& trial,
              const std::function<double()>& round);
  /// Of this rank alone.
  Rounds time(int count, const std::vector<double>& trial, const std::function<double()>& round);

 private:
  int company(double before, double after);

  Rank& rank_;
  Undisturbed wanted_;
  Patience patience_;
  std::optional<CoreWatch> watch_;
  Glance glance_;
  int in_company_ = 0;    ///< batches in turn, as of now
  int on_this_core_ = 0;  ///< batches since the last change of cores, or the last time that one was refused
  bool settles_ = false;  ///< has just come to another core, whose caches know nothing of it
};

}  // namespace twinlink::bench
