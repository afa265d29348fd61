// The data path that host staging and GPUDirect v1 share. What differs is the kind of host memory in the middle, and
// how the pipeline is kept in step.
#pragma once

#include <string>

#include "protocols/credits.hpp"
#include "protocols/lane.hpp"
#include "protocols/protocol.hpp"
#include "protocols/staging_buffers.hpp"

namespace twinlink {

struct StagedStyle {
  Memory memory = Memory::pageable;  ///< of the host buffers
  std::size_t credits = 0;           ///< the receiver grants so many at once; 0: posted receives are enough
  bool synchronous = false;          ///< the CPU waits for every copy
};

/// Device memory -> host buffer -> network -> host buffer -> device memory, piece by piece.
class StagedChannel : public Channel {
 public:
  StagedChannel(Rank& rank, RankId peer, Settings settings, const StagedStyle& style);

  [[nodiscard]] std::string path_taken() const override;

 private:
  Outcome do_exchange(std::span<const View> outgoing, std::span<const View> incoming) override;

  /// `wholes`: by piece, the length of its message.
  std::vector<Step> sending_steps(const Credits& credits, std::vector<Bytes> wholes);
  std::vector<Step> receiving_steps(const Credits& credits, std::vector<Bytes> wholes);

  Rank& rank_;
  RankId peer_;
  Settings settings_;
  StagedStyle style_;
  StagingBuffers out_;
  StagingBuffers in_;
  Seconds deadline_{};  ///< of the exchange under way
  Message credit_;      ///< grants carry nothing
};

/// A copy of a pipeline: one that goes on while the rank does other things, or one that the CPU waits for.
Started pipeline_copy(Rank& rank, View to, View from, Stream stream, bool synchronous, Seconds deadline);

}  // namespace twinlink
