// The states that were met, and what was left out when they were explored.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tests/explore/explorer/hash.hpp"

namespace twinlink::explore {

/// Ids of choices, ascending: those that need not be tried, for what follows them was or will be seen elsewhere.
using SleepIds = std::vector<std::uint64_t>;

/// A hash table that is grown and never shrunk.
class Visited {
 public:
  struct Entry {
    Key key{};
    std::uint32_t sleep = 0;  ///< which set of ids slept when the state was met
    std::int16_t alone = -1;  ///< the rank whose choices were enough, or -1
    bool used = false;
  };
  Visited() : table_(std::size_t{1} << 12U) {}

  /// The entry of `key`, and whether it is new. Valid until the next call.
  std::pair<Entry*, bool> find_or_insert(const Key& key);
  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// A number for a set of ids, and the set of a number.
  std::uint32_t number_of(const SleepIds& ids);
  [[nodiscard]] const SleepIds& ids_of(std::uint32_t number) const { return *sets_[number]; }

 private:
  [[nodiscard]] Entry& place_of(const Key& key);

  std::vector<Entry> table_;  ///< a power of two, open addressing
  std::uint64_t size_ = 0;
  std::map<SleepIds, std::uint32_t> numbers_;
  std::vector<const SleepIds*> sets_;
};

}  // namespace twinlink::explore
