// Signals: words that a peer's copies raise, in memory that the node shares. No message and no CPU of the receiver
// takes part; who waits looks at the word.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "protocols/rank.hpp"
#include "real/device_runtime.hpp"
#include "real/shared_memory.hpp"

namespace twinlink::real {

/// One word per origin and tag, in memory of the rank that is signalled. It counts how often it was raised; its highest
/// bit says that something failed.
class Signals {
 public:
  /// Tags of signals are 0 to kTags-1.
  static constexpr int kTags = 4096;

  /// For a job of `ranks`; `runtime` must outlive this object.
  Signals(RankId self, int ranks, DeviceRuntime& runtime);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// For the peers' meet().
  [[nodiscard]] const SharedMemory::Token& token() const { return own_.token(); }
  /// Opens a peer's words. An EnvironmentError where that cannot be done.
  void meet(RankId peer, const SharedMemory::Token& token);

  /// Counts one more raise of `signal` at `peer`, and says what the device must write, and where, for it to be seen. A
  /// UsageError for a tag or a peer that cannot be signalled.
  Flag next(RankId peer, const Signal& signal);
  /// How often `peer` has raised `tag` here, and whether it failed.
  struct State {
    std::uint64_t count = 0;
    bool failed = false;
  };
  [[nodiscard]] State look(RankId peer, Tag tag) const;
  /// A UsageError for a tag that signals do not have.
  static void require(Tag tag);

 private:
  using Key = std::pair<RankId, Tag>;
  static std::size_t word(RankId origin, Tag tag);

  RankId self_;
  DeviceRuntime& runtime_;
  SharedMemory own_;
  std::map<RankId, SharedMemory> peers_;
  std::set<RankId> pinned_;  ///< whose words this rank's device can write
  std::map<Key, std::uint64_t> raised_;
};

}  // namespace twinlink::real
