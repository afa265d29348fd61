// What a schedule takes, from what single messages take: the longest way through the steps of all ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "protocols/workloads/catalogue.hpp"

namespace twinlink::bench {

/// What something took at some sizes, in us: straight lines between them, and on beyond the last one.
class SizeCosts {
 public:
  /// Sizes ascend.
  void add(Bytes size, double us) { points_.emplace_back(static_cast<double>(size.count()), us); }
  [[nodiscard]] bool empty() const { return points_.empty(); }
  /// Nothing where there are no sizes.
  [[nodiscard]] double of(Bytes size) const;
  /// What is not because of the bytes: of one size alone nobody knows, and it is nothing.
  [[nodiscard]] double of_none() const { return points_.size() < 2 ? 0 : of(Bytes{}); }

 private:
  std::vector<std::pair<double, double>> points_;
};

/// Messages within a node, or between nodes.
struct MessageCosts {
  SizeCosts alone{};      ///< one of a node, one way
  SizeCosts all{};        ///< each of a node sends one to the next and receives one, at the same time
  double further_us = 0;  ///< for each further message that a rank has at the same time, beside its bytes
  /// As `all`, by the bytes together of kMany messages or more of a rank, to peers all over the group. Empty: `all`.
  SizeCosts spread{};
  /// Messages to peers 1, 2, 4, ... places further on: how much longer they take than to the next, beside the time of
  /// none. What they share is not what neighbours do. Empty: as long.
  std::vector<double> by_reach{};
  static constexpr std::size_t kMany = 4;

  /// Time of the messages of a rank that has so many each way at once, with `bytes` together. `share` is 0 where
  /// they are alone in its node, and 1 where all ranks have as many; the farthest peer is 2^`reach` places away.
  [[nodiscard]] double of(Bytes bytes, std::size_t messages, double share, std::size_t reach = 0) const;
};

/// One rank and all others, with a message between it and each of them at once: by the size of one.
struct StarCosts {
  SizeCosts in{};   ///< to the one
  SizeCosts out{};  ///< from it
};

/// Additions or copies on a GPU: one, and several that are queued at once, each of a size.
struct LocalCosts {
  static constexpr std::size_t kSeveral = 8;
  SizeCosts one{};
  SizeCosts several{};  ///< empty: as many times one
  /// Time of one behind others.
  [[nodiscard]] double further(Bytes bytes) const;
};

struct StepCosts {
  MessageCosts within{};
  MessageCosts between{};
  LocalCosts adds{};
  LocalCosts copies{};
  StarCosts star{};
};

/// What an algorithm takes, in us: a step begins when its ranks are through with those before it, and costs what its
/// messages and what is local cost. Links are shared as far as StepCosts say. Of a job with more messages than
/// kMostMessages the steps of the first node stand for all, one after the other; infinite where they do not, for the
/// ranks wait for each other in turn.
double predicted_us(const workloads::Algorithm& algorithm, const workloads::Shape& shape, std::uint64_t elements,
                    const StepCosts& costs);
/// As long as the prediction takes a second at most.
inline constexpr std::size_t kMostMessages = 6'000'000;

/// How many messages all ranks send and receive, about.
std::size_t messages_of(const workloads::Algorithm& algorithm, const workloads::Shape& shape, std::uint64_t elements);

}  // namespace twinlink::bench
