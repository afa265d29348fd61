// Registration cache: device memory that the network adapter has been told of stays known to it, because telling it
// again costs more than most messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

#include "protocols/core/protocol.hpp"
#include "protocols/core/rank.hpp"

namespace twinlink {

/// Of gpudirect-v3. Registers buffers for as long as messages hold them, and keeps the most recently used ones
/// registered beyond that. Buffers are registered whole. What the user releases meanwhile is forgotten when its turn
/// comes.
class RegistrationCache {
 public:
  /// `rank` outlives it. At most `capacity` buffers stay registered while no message holds them; with 0 every message
  /// registers its buffer and takes that back.
  RegistrationCache(Rank& rank, std::size_t capacity) : rank_(rank), capacity_(capacity) {}
  ~RegistrationCache();
  RegistrationCache(const RegistrationCache&) = delete;
  RegistrationCache& operator=(const RegistrationCache&) = delete;

  /// A message uses `buffer` from now on. Registers it unless it is known; the rank pays for that.
  void hold(Buffer buffer);
  /// The message uses it no more: its operations have ended. The buffer stays registered while there is room.
  void let_go(Buffer buffer);
  /// No message uses anything any more.
  void let_all_go();

  /// Hits, misses (each of them a registration) and evictions.
  [[nodiscard]] std::vector<Counter> counters() const;

 private:
  struct Entry {
    Buffer buffer{};
    int holders = 0;
  };
  using Entries = std::list<Entry>;

  void evict();
  void forget(Entries::iterator entry);

  Rank& rank_;
  std::size_t capacity_;
  Entries entries_{};  ///< the most recently used first
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
  std::uint64_t evicted_ = 0;
};

}  // namespace twinlink
