// The data path that host staging and GPUDirect v1 share. What differs is the kind of host memory in the middle, and
// how the pipeline is kept in step: a protocol fills in a StagedStyle, and this has the steps for all of them.
//
//   sender     copy out | (host copy) | (receive credit) | send
//   receiver   receive  | (host copy) | copy in          | (grant credit)
#pragma once

#include <array>
#include <string>
#include <vector>

#include "protocols/core/lane.hpp"
#include "protocols/core/protocol.hpp"
#include "protocols/parts/credits.hpp"
#include "protocols/parts/sending.hpp"
#include "protocols/parts/staging_buffers.hpp"

namespace twinlink {

/// One stream per direction, so that copies out and copies in use both copy engines at once. Copies of one stream would
/// wait for each other.
inline constexpr Stream kOutStream{0};
inline constexpr Stream kInStream{1};
/// Copies by the CPU wait for none of these.
inline constexpr Stream kHostStream{2};

/// In what the protocols that share this path differ.
struct StagedStyle {
  Memory memory = Memory::pageable;  ///< of the host buffers
  bool shared = true;                ///< GPU and network use one buffer; otherwise the CPU copies between two
  std::size_t credits = 0;           ///< the receiver grants so many at once; 0: posted receives are enough
  bool synchronous = false;          ///< the CPU waits for every copy
  Engine engine = Engine::dma;       ///< who copies between device and host memory
  Sending sending = Sending::standard;
};

/// Device memory -> host buffer -> network -> host buffer -> device memory, piece by piece. An end whose messages lie
/// in host memory gives them to the network as they lie, and copies nothing.
class StagedChannel : public Channel {
 public:
  StagedChannel(Rank& rank, RankId peer, Settings settings, const StagedStyle& style);

  [[nodiscard]] std::string path_taken() const override;

 private:
  Outcome do_exchange(std::span<const View> outgoing, std::span<const View> incoming) override;

  /// One direction of the exchange under way. Kept for the next one: to make such things anew takes as long as a small
  /// message.
  struct StagedFlow {
    StagingBuffers buffers;  ///< the GPU's
    StagingBuffers network;  ///< the adapter's, where that has its own
    Credits credits{0, 1, 0};
    std::vector<Bytes> wholes{};  ///< by piece, the length of its message
  };
  [[nodiscard]] std::vector<Step> sending_steps();
  [[nodiscard]] std::vector<Step> receiving_steps();
  /// What the network reads or writes.
  [[nodiscard]] View network_side(const StagedFlow& flow, const Piece& piece) const {
    if (lies_on_host(piece)) return piece.bytes;
    return style_.shared ? flow.buffers.at(piece) : flow.network.at(piece);
  }
  void prepare(StagedFlow& flow, Lane& lane, std::span<const View> messages);

  static bool lies_on_host(const Piece& piece) { return piece.bytes.buffer.memory != Memory::device; }

  Rank& rank_;
  RankId peer_;
  Settings settings_;
  StagedStyle style_;
  StagedFlow in_;
  StagedFlow out_;
  std::array<Lane, 2> lanes_;
  bool on_host_ = false;   ///< the messages of this end
  Seconds deadline_{};     ///< of the exchange under way
  ControlMessage credit_;  ///< grants carry nothing
};

/// A copy of a pipeline by the copy engine: one that goes on while the rank does other things, or, if `synchronous`,
/// one that the CPU waits for, at the longest until `deadline`.
Started pipeline_copy(Rank& rank, View to, View from, Stream stream, bool synchronous, Seconds deadline);

}  // namespace twinlink
