// The data path that host staging and GPUDirect v1 share. What differs is the kind of host memory in the middle.
#pragma once

#include <string>

#include "protocols/protocol.hpp"
#include "protocols/staging_buffers.hpp"

namespace twinlink {

/// Device memory -> host buffer -> network -> host buffer -> device memory, piece by piece.
class StagedChannel : public Channel {
 public:
  /// `memory` is the kind of the host buffers.
  StagedChannel(Rank& rank, RankId peer, const Settings& settings, Memory memory);

  Outcome exchange(std::span<const View> outgoing, std::span<const View> incoming) override;
  [[nodiscard]] std::string path_taken() const override;

 private:
  Rank& rank_;
  RankId peer_;
  Settings settings_;
  Memory memory_;
  StagingBuffers out_;
  StagingBuffers in_;
};

}  // namespace twinlink
