// HandleCache: the memory of one peer that this rank has open, so that a buffer is opened at its first use only. To
// open takes 90 us on a Fermi and 0.9 ms on an H200. cuda-ipc has a cache for each connection.
//
//   const Buffer theirs = cache.acquire(handle);   // at a message's begin
//   ... copy from it ...
//   cache.release(theirs);                         // at its end; the memory stays open
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "protocols/core/choices.hpp"
#include "protocols/core/rank.hpp"

namespace twinlink {

/// Which unused entry makes room for a new one.
enum class Eviction {
  lru,     ///< the one that has been unused for longest
  openmpi  ///< the one that was released last: what Open MPI's code does, although it calls the list LRU
};

inline constexpr Choices kEvictions{OptionChoice<Eviction>{"lru", Eviction::lru},
                                    OptionChoice<Eviction>{"openmpi", Eviction::openmpi}};

/// How often a lookup ended in which way. `hits`, `misses` and `invalid` together are all lookups.
struct CacheCounts {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t invalid = 0;  ///< the range was known under another handle: its memory has been replaced
  std::uint64_t evicted = 0;  ///< entries closed to make room
};

/// Finds a range by its owner's (address, size) and compares the handle's bytes, for an address is used again when
/// memory is released. Closes nothing that is in use. Closes everything when it ends.
class HandleCache {
 public:
  /// At most `capacity` ranges stay open; zero: without limit. Where all are in use there are more, until one is
  /// released. `rank` must outlive the cache.
  HandleCache(Rank& rank, RankId owner, std::size_t capacity, Eviction eviction)
      : rank_(rank), owner_(owner), capacity_(capacity), eviction_(eviction) {}
  ~HandleCache();
  HandleCache(const HandleCache&) = delete;
  HandleCache& operator=(const HandleCache&) = delete;

  /// The memory of that handle, opened if need be; in use until release(). Errors are those of Rank::open_memory().
  /// A hit asks nothing of the rank.
  Buffer acquire(const IpcHandle& handle);
  /// One use of what acquire() returned has ended.
  void release(Buffer buffer);

  [[nodiscard]] const CacheCounts& counts() const { return counts_; }
  /// The ranges that are open.
  [[nodiscard]] std::size_t size() const { return entries_.size() + replaced_.size(); }

 private:
  using Range = std::pair<std::uint64_t, std::uint64_t>;  ///< address and size
  struct Entry {
    IpcHandle handle{};
    Buffer buffer{};
    int users = 0;
    std::uint64_t released = 0;  ///< when it was released last, as a count of releases
  };
  using Entries = std::map<Range, Entry>;

  /// Takes an entry off both tables; the memory stays open.
  void forget(Entries::iterator entry);
  /// Closes unused entries until there are at most `count`, as far as that is possible.
  void shrink_to(std::size_t count);
  [[nodiscard]] Entries::iterator victim();

  Rank& rank_;
  RankId owner_;
  std::size_t capacity_;
  Eviction eviction_;
  Entries entries_;
  std::unordered_map<std::uint32_t, Entries::iterator> by_buffer_;  ///< of entries_, by the id of what is open
  std::vector<Entry> replaced_;                                     ///< invalid, but still in use
  std::uint64_t releases_ = 0;
  CacheCounts counts_;
};

}  // namespace twinlink
