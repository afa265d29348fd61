// Choice: which line format a program takes, and how many channels: NCCL's rule (src/graph/tuning.cc), which is the
// least predicted time, of a base, the hops of a ring or a tree, and the bytes over its bandwidth, with the tables of a
// release.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/core/units.hpp"
#include "protocols/gpu/ground.hpp"
#include "protocols/gpu/work.hpp"

namespace twinlink::gpu {

/// By switches that add up?
constexpr bool is_by_switch(Algorithm algorithm) {
  return algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree;
}

struct Choice {
  LineFormat format = LineFormat::simple;
  Algorithm algorithm = Algorithm::ring;
  int channels = 1;
  int parts = 0;                       ///< of an all-to-all: channels of a message to one rank
  std::optional<Seconds> predicted{};  ///< of messages nothing is
  /// "predicted us: ring ll 8.21, tree ll 9.21, ...; by nccl-2.28"
  std::string why{};
  /// What each fact did: "LL128 off: the GPUs meet over PCIe", "channels: twice 12 of 20 GB/s".
  std::vector<std::string> facts{};
};

/// What a user has fixed. Of several formats or algorithms those are chosen from, whatever the release leaves off;
/// none: from what it leaves on.
struct Fixed {
  std::vector<LineFormat> formats{};
  std::optional<int> channels{};
  std::vector<Algorithm> algorithms{};

  [[nodiscard]] bool leaves(LineFormat format) const { return formats.empty() || contains(formats, format); }
  [[nodiscard]] bool leaves(Algorithm algorithm) const { return algorithms.empty() || contains(algorithms, algorithm); }

 private:
  template <class T>
  static bool contains(const std::vector<T>& list, T what) {
    return std::ranges::find(list, what) != list.end();
  }
};

/// For `bytes` of a buffer, or of the longer one of two messages, in a job of `ranks`. The same at all ranks of a
/// machine of equal GPUs. An UnavailableError where nothing is on of what the user leaves.
Choice choose(const Ground& ground, Operation operation, Bytes bytes, int ranks, const Fixed& fixed);

/// The choice for the last size of one operation, which is kept: with its reason it takes longer than a launch. For one
/// ground, and one that is fixed.
class LastChoice {
 public:
  const Choice& of(const Ground& ground, Operation operation, Bytes bytes, int ranks, const Fixed& fixed);
  /// Nothing before the first.
  [[nodiscard]] const std::optional<Choice>& last() const { return choice_; }

 private:
  std::optional<Choice> choice_{};
  Bytes bytes_{};
};

}  // namespace twinlink::gpu
