// Signals: words that a peer's copies raise, in memory that the node shares. No message and no CPU of the receiver
// takes part; who waits looks at the word.
//
//   const Flag flag = signals.next(peer, signal);          // in put(): the device writes it behind the bytes
//   if (const auto value = signals.look(peer, tag, n)) ... // in await_signal(): raise n is here
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "protocols/core/rank.hpp"
#include "real/device/device_runtime.hpp"
#include "real/system/shared_memory.hpp"

namespace twinlink::real {

/// Per origin and tag a ring of words, in memory of the rank that is signalled. A word says which raise wrote it, and
/// the value that it carries.
class Signals {
 public:
  /// For a job of `ranks`; `runtime` must outlive this object.
  Signals(RankId self, int ranks, DeviceRuntime& runtime);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// For the peers' attach().
  [[nodiscard]] const SharedMemory::Token& token() const { return own_.token(); }
  /// Opens a peer's words. An EnvironmentError where that cannot be done.
  void attach(RankId peer, const SharedMemory::Token& token);

  /// Counts one more raise of `signal` at `peer`, and says what the device must write, and where, for it to be seen. A
  /// UsageError for a peer that cannot be signalled.
  Flag next(RankId peer, const Signal& signal);
  /// The value of raise `number` (from 0) of `peer` with `tag`, once it is here. An EnvironmentError if a later raise
  /// has taken its place: more than kMostSignals were raised and not taken.
  [[nodiscard]] std::optional<std::uint64_t> look(RankId peer, Tag tag, std::uint64_t number) const;

 private:
  using Key = std::pair<RankId, Tag>;
  [[nodiscard]] std::byte* first_byte(const SharedMemory& memory) const;

  RankId self_;
  DeviceRuntime& runtime_;
  SharedMemory own_;
  std::map<RankId, SharedMemory> peers_;
  std::set<RankId> pinned_;  ///< whose words this rank's device can write
  std::map<Key, std::uint64_t> raised_;
};

}  // namespace twinlink::real
