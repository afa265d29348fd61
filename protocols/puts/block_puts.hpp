// BlockPuts: messages between two ranks that the thread blocks of a kernel store straight into the peer's memory, and
// the signals behind them, which the peer's blocks await (protocols/gpu/puts.hpp).
//
//   at both ends, when a message is put for the first time
//   1. make FIFOs, clear: signals, of which none is raised
//   2. send place, receive place
//   with every message
//   3. launch: blocks that put, and blocks that await
#pragma once

#include <string>

#include "protocols/core/protocol.hpp"
#include "protocols/nccl/peer_fifos.hpp"

namespace twinlink {

/// What the option "blocks" of a protocol says. A UsageError for too many, or where its "engine" is not "blocks".
int put_blocks(const Protocol& protocol, const Settings& settings);

class BlockPuts {
 public:
  /// `blocks` each way; 0: one for each 16 KiB, up to 32. `rank` outlives it. The ends are connected for tags::kReady.
  BlockPuts(Rank& rank, RankId peer, int blocks);

  /// Both ends alike, before the first launch.
  Outcome open(Seconds deadline) { return fifos_.open(gpu::LineFormat::simple, deadline); }
  /// Puts `from` to `there`, memory of the peer that is opened, and waits for what the peer puts, into `into`. Any of
  /// them may be empty, but not all. Both ends do it with the same lengths.
  Op launch(const View& from, const View& there, const View& into);
  /// A launch may have been given up: nothing is closed in order any more.
  void fail() { fifos_.fail(); }
  /// "4 blocks", of the last launch.
  [[nodiscard]] std::string blocks_taken() const;

 private:
  Rank& rank_;
  int blocks_;
  nccl::PeerFifos fifos_;
  int last_ = 1;
};

}  // namespace twinlink
