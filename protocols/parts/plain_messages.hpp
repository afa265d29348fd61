// Messages that go as they lie: no copy before or after them. `host` sends all of its messages so, and `cuda-aware`
// those in host memory.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "protocols/core/lane.hpp"
#include "protocols/core/protocol.hpp"
#include "protocols/parts/sending.hpp"

namespace twinlink {

/// Exchanges with one peer by send() and receive() alone, of any memory that the rank's send() takes.
class PlainMessages {
 public:
  /// Messages are cut into the settings' chunks, of which `depth` are under way at once each way. `rank` must outlive
  /// this.
  PlainMessages(Rank& rank, RankId peer, const Settings& settings, Sending how = Sending::standard);
  PlainMessages(const PlainMessages&) = delete;
  PlainMessages& operator=(const PlainMessages&) = delete;

  /// As Channel::exchange(): the peer makes the opposite call with the same sizes.
  Outcome exchange(std::span<const View> outgoing, std::span<const View> incoming);

 private:
  Rank& rank_;
  Bytes chunk_;
  Seconds timeout_;
  // State of the exchange under way, kept for the next one.
  static constexpr std::size_t kIncoming = 0;
  static constexpr std::size_t kOutgoing = 1;
  std::array<std::vector<Bytes>, 2> wholes_;  ///< by lane and piece: the length of its message
  std::array<Lane, 2> lanes_;
};

}  // namespace twinlink
