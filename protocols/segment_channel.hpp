// GPUDirect v1 within a node: a segment of host memory that both processes have page-locked.
#pragma once

#include <string>

#include "protocols/lane.hpp"
#include "protocols/protocol.hpp"

namespace twinlink {

struct SegmentStyle {
  std::size_t credits = 1;   ///< the receiver gives so many slots back at once
  bool synchronous = false;  ///< the CPU waits for every copy
};

/// Device memory -> slot of the sender's segment -> device memory; no byte passes through the network or a CPU. Needs a
/// chunk, the size of a slot.
class SegmentChannel final : public Channel {
 public:
  /// Both ends open each other's segment: exchanges messages, for at most the timeout. An EnvironmentError if the peer
  /// does not come.
  SegmentChannel(Rank& rank, RankId peer, const Settings& settings, const SegmentStyle& style);
  ~SegmentChannel() override;
  SegmentChannel(const SegmentChannel&) = delete;
  SegmentChannel& operator=(const SegmentChannel&) = delete;

  [[nodiscard]] std::string path_taken() const override;

 private:
  Outcome do_exchange(std::span<const View> outgoing, std::span<const View> incoming) override;
  struct Transfer;
  [[nodiscard]] Buffer share();
  std::vector<Step> sending_steps(Transfer& transfer);
  std::vector<Step> receiving_steps(Transfer& transfer);
  [[nodiscard]] View slot(Buffer segment, const Piece& piece) const;

  Rank& rank_;
  RankId peer_;
  Settings settings_;
  SegmentStyle style_;
  Seconds deadline_{};  ///< of the exchange under way
  Buffer mine_{};
  Buffer theirs_{};
  Message nothing_;  ///< of messages that carry nothing
};

}  // namespace twinlink
