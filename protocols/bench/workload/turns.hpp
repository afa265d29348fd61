// What a schedule takes, from what its turns take: of the steps that all ranks do at the same time each kind is timed
// alone, and the longest way through the steps of all ranks is what is predicted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "protocols/workloads/catalogue.hpp"

namespace twinlink::bench {

/// The turns of an algorithm: steps of several ranks, and all that they have messages with, as early as those before
/// them let. Of turns in which the ranks send and add up the same lengths, one stands for all: a kind.
class Turns {
 public:
  /// Of a job with more messages than kMostMessages the steps of rank 0 stand for those of all.
  Turns(const workloads::Algorithm& algorithm, const workloads::Shape& shape, std::uint64_t elements);
  /// As long as this takes a second at most.
  static constexpr std::size_t kMostMessages = 2'000'000;

  struct Kind {
    std::size_t messages = 0;  ///< that all ranks have in a turn, about
    std::size_t most = 0;      ///< and the rank that has most
  };
  [[nodiscard]] const std::vector<Kind>& kinds() const { return kinds_; }
  [[nodiscard]] std::size_t count() const { return kind_of_.size(); }
  /// Do the steps of each rank fall into turns? Not where there are too many to look, and ranks wait in turn.
  [[nodiscard]] bool known() const { return known_; }
  /// Of each rank its step in turns of that kind, by its place in the rank's schedule; -1: none.
  [[nodiscard]] std::vector<int> steps_of(std::size_t kind) const;

  /// The longest way through the steps of all ranks, in us, where each begins when its rank and its peers are through
  /// with those before. `us`: by kind what each rank takes; empty where it was not timed, and is as those beside it.
  [[nodiscard]] double longest_us(const std::vector<std::vector<double>>& us) const;

 private:
  struct Step {
    int rank = 0;
    int number = 0;         ///< in the schedule of the rank
    std::size_t first = 0;  ///< of its messages
    std::size_t last = 0;
    std::size_t turn = 0;
  };

  void add(int rank, const workloads::Schedule& schedule);
  template <class Cost, class Meet>
  std::vector<double> ends(const Cost& cost, const Meet& meet) const;
  [[nodiscard]] std::size_t find(const Step& step, int end, const std::vector<bool>& met) const;
  bool find_turns();
  void find_kinds();

  int ranks_;
  bool all_alike_ = false;  ///< rank 0's steps are those of all ranks
  bool known_ = true;
  std::vector<Step> steps_{};
  std::vector<std::uint64_t> contents_{};  ///< of each step, as a number
  std::vector<int> ends_{};                ///< of the messages, in the order of the steps, ascending in each
  std::vector<std::size_t> first_of_{};    ///< of each rank its first step, and behind them where the last one ends
  std::vector<std::size_t> kind_of_{};     ///< of each turn
  std::vector<Kind> kinds_{};
  std::vector<std::size_t> first_turn_{};  ///< of each kind
};

/// A kind of turn that is to be timed, with all of its messages or one in so many.
struct TimedTurn {
  std::size_t kind = 0;
  int one_in = 1;
};

/// Which turns stand for all: of few messages all kinds, of many some, spread over the way; and of a turn that has very
/// many itself two parts of it, one behind the other, which say what a message adds.
std::vector<TimedTurn> turns_to_time(const Turns& turns);

/// The step of a rank with one message in so many of those that have bytes; its peers leave out the same ones.
workloads::Step part_of(const workloads::Step& step, const workloads::Shape& shape, int rank, int one_in);

/// By kind what each rank takes in it, for longest_us(): from what turns_to_time() took, us[turn][rank], with
/// messages[turn] of all ranks.
std::vector<std::vector<double>> times_of_kinds(const Turns& turns, const std::vector<TimedTurn>& timed,
                                                const std::vector<std::vector<double>>& us,
                                                const std::vector<std::size_t>& messages);

/// How many messages all ranks send and receive, about.
std::size_t messages_of(const workloads::Algorithm& algorithm, const workloads::Shape& shape, std::uint64_t elements);

}  // namespace twinlink::bench
