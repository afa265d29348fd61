// What the caches of a node's CPUs hold of its host memories: the bytes that were used last, whoever used them.
// CPUs copy what the caches hold faster than what they have to fetch from memory.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "model/engine/flows/machine.hpp"
#include "model/engine/flows/platform_names.hpp"
#include "platforms/machine/platform.hpp"
#include "protocols/core/rank.hpp"
#include "protocols/core/units.hpp"

namespace twinlink::model {

/// One cache, which forgets first what was used the longest time ago.
class Cache {
 public:
  explicit Cache(Bytes capacity) : capacity_(capacity) {}

  [[nodiscard]] Bytes capacity() const { return capacity_; }
  /// A rank's bytes from the address `at` on are used, all at once. How many of them it did not hold.
  Bytes use(RankId rank, Bytes at, Bytes length);

 private:
  struct Stretch {
    RankId rank{};
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  using ByUse = std::list<Stretch>;
  using ByPlace = std::map<std::pair<RankId, std::uint64_t>, ByUse::iterator>;

  /// It holds none of these bytes any more. How many of them it did hold.
  Bytes lose(RankId rank, Bytes at, Bytes length);
  /// Forgets [begin, end) of a stretch that holds all of it; what lies before and behind stays as it was used.
  void forget(ByPlace::iterator stretch, std::uint64_t begin, std::uint64_t end);
  void insert(ByUse::iterator before, const Stretch& stretch);

  Bytes capacity_;
  Bytes held_{};
  ByUse by_use_;  ///< the one used last comes first; none overlap
  ByPlace by_place_;
};

/// Bytes in the host memory of a node.
struct HostBytes {
  Site site{};
  RankId rank{};  ///< whose they are
  Bytes at{};     ///< their address in its space
  Bytes length{};
  std::uint64_t alike = 1;  ///< of interleaved bytes: so many memories have as many; counted with their length
};

/// The caches of all nodes: one for each host memory whose platform says what they hold. Others hold everything.
class HostCaches {
 public:
  /// `node` outlives this.
  explicit HostCaches(const Node& node);

  /// Does the platform say of any memory what they hold?
  [[nodiscard]] bool any() const { return any_; }
  /// The stretches are gone through side by side, from the first byte to the last: what is copied from the one to the
  /// other. The most that was lacking of one of them, of all that are
  /// alike.
  Bytes go_through(std::span<const HostBytes> stretches);

 private:
  /// Null where the platform does not say what it holds.
  Cache* cache_of(const Site& site);

  const Node& node_;
  bool any_;
  std::map<std::pair<int, std::size_t>, Cache> caches_;  ///< by node and memory, once used
};

}  // namespace twinlink::model
