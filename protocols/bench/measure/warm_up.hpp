// Rounds that are timed on a rank's clock, and when a connection is warm before: by what its ranks do and not by a
// clock, the same in both worlds.
//
// A connection's first uses are not like the later ones: buffers are allocated, mapped and registered, and a handshake
// finds out which way messages may go. It may take several messages, of each size, until all of that is done.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "protocols/trace/decorated_rank.hpp"

namespace twinlink::bench {

/// What a time budget leaves at least.
inline constexpr int kFewestRounds = 5;

/// How long `round` takes, in microseconds on the rank's clock.
double time_round(Rank& rank, const std::function<void()>& round);
/// Runs `round` `count` times; how long each took, in microseconds on the rank's clock.
std::vector<double> time_rounds(Rank& rank, int count, const std::function<void()>& round);

/// The rounds before those that count, where no connection is used, and how long each took. There is at least one, even
/// without any warm-up: it shows what a round takes, and caches have nothing of it before.
std::vector<double> trial_rounds(Rank& rank, int warmup, const std::function<void()>& round);

/// How many rounds fit into `budget`: `wanted`, or fewer but not below kFewestRounds. `trial` holds the times of rounds
/// already run, in microseconds; without any, and with a budget of zero, nothing is cut.
int rounds_within(Seconds budget, const std::vector<double>& trial, int wanted);

/// Counts what a rank is made ready with.
class SetUpRank final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;

  Answer check_peer_access(RankId peer) override { return ++counts_[0], inner().check_peer_access(peer); }
  Buffer allocate(Memory kind, Bytes size, Locality locality) override {
    return ++counts_[1], inner().allocate(kind, size, locality);
  }
  Buffer open_memory(RankId owner, const IpcHandle& handle) override {
    return ++counts_[2], inner().open_memory(owner, handle);
  }
  void register_memory(Buffer buffer) override {
    ++counts_[3];
    inner().register_memory(buffer);
  }

  /// How often it was asked for each of these verbs.
  using Counts = std::array<std::uint64_t, 4>;
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  Counts counts_{};
};

/// Uses connections until they are warm: until all who use them have gone through a round in which nothing was set up,
/// or just what the round before it set up (a cache that is too small never has what is needed), and in which no
/// handshake was left under way.
class WarmUp {
 public:
  /// `rank` is that of the connections, and outlives this. `connecting`: is a channel of this rank? `least_of_all`
  /// gives everybody the least of their numbers.
  WarmUp(SetUpRank& rank, std::function<bool()> connecting, std::function<int(int)> least_of_all)
      : rank_(rank), connecting_(std::move(connecting)), least_of_all_(std::move(least_of_all)) {}

  /// Runs `round` so often, once at least, and until it is warm. How long each took, in microseconds. All who take part
  /// do the same.
  std::vector<double> operator()(int least, const std::function<void()>& round);

 private:
  /// Five requests and their answers, a message for each, and as much again. Whoever needs longer is never through.
  static constexpr int kMost = 20;

  SetUpRank& rank_;
  std::function<bool()> connecting_;
  std::function<int(int)> least_of_all_;
  bool waits_ = true;  ///< for handshakes: until one has never come to its end
};

}  // namespace twinlink::bench
