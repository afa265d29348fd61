// Exports: which memory every rank of the node offers, and how many have it open. RealMemory publishes what
// export_memory() is asked for, and enters what open_memory() opens.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>

#include "protocols/core/rank.hpp"
#include "real/system/shared_memory.hpp"

namespace twinlink::real {

/// One table per rank, in memory that the node shares: the owner writes entries, peers count themselves in and out. So
/// opening costs no message, and a release that must not be is refused at once.
class Exports {
 public:
  Exports();

  /// The place of an entry in its owner's table.
  using Slot = std::size_t;

  /// For the peers' attach().
  [[nodiscard]] const SharedMemory::Token& token() const { return own_.token(); }
  /// Opens a peer's table. An EnvironmentError where that cannot be done.
  void attach(RankId peer, const SharedMemory::Token& token);

  /// Offers memory of this rank. An EnvironmentError if the table is full.
  Slot publish(const IpcHandle& handle);
  /// Takes the offer back, unless a peer has the memory open; returns whether it did.
  bool withdraw(Slot slot);

  /// Counts this rank in. A UsageError if `owner` offers no such memory.
  Slot enter(RankId owner, const IpcHandle& handle);
  /// Counts this rank out: `slot` is what enter() returned.
  void leave(RankId owner, Slot slot);

 private:
  struct Entry {
    std::atomic<std::uint64_t> state;  ///< low 32 bits: the generation, odd while offered; high: users
    IpcHandle handle;
  };
  static constexpr std::size_t kEntries = 4096;
  static Entry* entries(const SharedMemory& memory);

  SharedMemory own_;
  std::map<RankId, SharedMemory> peers_;
};

}  // namespace twinlink::real
