// GPUDirect v1 within a node: a segment of host memory that both processes have page-locked. The sender's GPU writes
// into a slot of it, and the receiver's GPU reads from there; control messages say when. `-o buffers=shared`.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "protocols/core/lane.hpp"
#include "protocols/core/protocol.hpp"
#include "protocols/parts/credits.hpp"

namespace twinlink {

/// How a pipeline through the segment is kept in step.
struct SegmentStyle {
  std::size_t credits = 1;   ///< the receiver gives so many slots back at once
  bool synchronous = false;  ///< the CPU waits for every copy
};

/// What is sent of a message before its first piece, and what is answered.
struct SegmentHeader {
  std::uint64_t length = 0;  ///< of what this side has
  std::uint64_t chunk = 0;   ///< by which this side cuts it
};

/// The chunk that suits a message of that size, where none is set. Of n chunks c of a message S the two copies take
/// S/r + c/r + (n + 1) g: at the rate r the copy in of a chunk overlaps with the copy out of the next, and after every
/// copy the engine rests for g. That is least at c = sqrt(S g r); the result is the power of two that is nearest to it
/// by ratio (of two the larger one, which takes fewer operations), within the limits below. Pure: both ends have the
/// same message, and the same chunk.
Bytes automatic_chunk(Bytes message);
/// g r: what a copy could move in the time between two of them. g = 2.4 us and r = 55 GB/s, measured on two H200 with
/// PCIe of the fifth generation, make 132 KB.
inline constexpr Bytes kGapBytes = 128_KiB;
/// Smaller chunks are all gap.
inline constexpr Bytes kLeastAutomaticChunk = 64_KiB;
/// The slots of a segment have this size; a larger chunk would only make the first copy out longer.
inline constexpr Bytes kMostAutomaticChunk = 4_MiB;

/// Device memory -> slot of the sender's segment -> device memory; no byte passes through the network or a CPU. The
/// chunk is the size of a slot; if it is zero, every message has its automatic_chunk().
class SegmentChannel final : public Channel {
 public:
  /// Meets the peer, which must do the same: both open each other's segment.
  SegmentChannel(Rank& rank, RankId peer, const Settings& settings, const SegmentStyle& style);
  ~SegmentChannel() override;
  SegmentChannel(const SegmentChannel&) = delete;
  SegmentChannel& operator=(const SegmentChannel&) = delete;

  [[nodiscard]] std::string path_taken() const override;

 private:
  Outcome do_exchange(std::span<const View> outgoing, std::span<const View> incoming) override;
  /// One direction of the exchange under way. Kept for the next one: to make such things anew takes as long as a small
  /// message.
  struct SegmentFlow {
    std::vector<std::optional<SegmentHeader>> begins{};  ///< by piece: of the message that it begins
    Credits credits{0, 1, 0};
    std::vector<ControlMessage> received{};  ///< by slot: the header, or its answer
  };
  void prepare(SegmentFlow& flow, Lane& lane, std::span<const View> messages) const;
  [[nodiscard]] Outcome connect_to_peer();
  [[nodiscard]] Outcome swap(const std::string& what, const ControlMessage& mine, ControlMessage& theirs,
                             Seconds deadline);
  [[nodiscard]] std::vector<Step> sending_steps();
  [[nodiscard]] std::vector<Step> receiving_steps();
  [[nodiscard]] View slot(Buffer segment, const Piece& piece) const;
  [[nodiscard]] Bytes slot_size() const;

  Rank& rank_;
  RankId peer_;
  Settings settings_;
  SegmentStyle style_;
  Seconds deadline_{};  ///< of the exchange under way
  Buffer mine_{};
  std::optional<Buffer> theirs_{};  ///< nothing if the connection was not made
  SegmentFlow in_;
  SegmentFlow out_;
  std::array<Lane, 2> lanes_;
  ControlMessage nothing_;  ///< of messages that carry nothing
};

}  // namespace twinlink
