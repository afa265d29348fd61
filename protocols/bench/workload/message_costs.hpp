// What single messages, additions and copies take on the ranks of a job: timed, at the sizes that a workload has.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "protocols/bench/workload/prediction.hpp"
#include "protocols/workloads/groups.hpp"

namespace twinlink::bench {

/// What schedules send and do, as powers of two: the same numbers on all ranks.
struct Extent {
  int least = 0;  ///< 2^least elements are no more than the shortest message or addition has
  int most = 0;   ///< and 2^most no more than the longest one
  bool adds = false;
  bool copies = false;
  bool stars_in = false;   ///< a rank has a message from each of many others, and none back
  bool stars_out = false;  ///< or to each of them
  int star_least = 0;      ///< as `least` and `most`, of such messages
  int star_most = 0;

  void add(const workloads::Schedule& schedule);
  /// As one number, for those who are told.
  [[nodiscard]] int packed() const;
  static Extent unpacked(int packed);
  /// The sizes to be timed, in elements: from the least to the most, few of a large job.
  [[nodiscard]] std::vector<std::uint64_t> sizes(int ranks) const;
  /// Likewise, of the messages of stars.
  [[nodiscard]] std::vector<std::uint64_t> star_sizes() const;

 private:
  bool any_ = false;
  bool any_star_ = false;
};

/// One message to the next of the rank's node, or of those with its place on the other nodes, and one from the one
/// before: what costs are learnt from, and to others at some `distances`, all at once. Empty for a rank that is alone.
workloads::Schedule around(const workloads::Group& group, std::uint64_t elements,
                           const std::vector<int>& distances = {1});

/// Every rank of the job calls it with the same arguments. `time` runs a schedule on each of them, and says in us how
/// long it took on the slowest one. `allowed`: may all ranks send those messages?
StepCosts learn_costs(const workloads::Shape& shape, int self, const Extent& extent,
                      const std::function<double(const workloads::Schedule&)>& time,
                      const std::function<bool(const workloads::Schedule&)>& allowed);

}  // namespace twinlink::bench
