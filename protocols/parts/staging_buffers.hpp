// Staging buffers: host memory that a pipeline's pieces pass through, one per slot. With a depth of 2 the pieces take
// buffers 0, 1, 0, 1 and so on: Piece::slot says which.
#pragma once

#include <vector>

#include "protocols/core/lane.hpp"
#include "protocols/core/rank.hpp"

namespace twinlink {

/// Owns one host buffer per slot. They grow to the largest piece seen and are reused: allocating page-locked memory
/// costs more than most messages.
class StagingBuffers {
 public:
  StagingBuffers(Rank& rank, Memory memory) : rank_(rank), memory_(memory) {}
  ~StagingBuffers();
  StagingBuffers(const StagingBuffers&) = delete;
  StagingBuffers& operator=(const StagingBuffers&) = delete;

  /// Makes room for every piece of `pieces` in `slots` slots. Nothing may be in flight.
  void reserve(const std::vector<View>& pieces, std::size_t slots);
  /// The part of the slot's buffer that `piece` passes through.
  [[nodiscard]] View at(const Piece& piece) const { return {buffers_[piece.slot], Bytes{}, piece.bytes.length}; }

 private:
  void release_all();

  Rank& rank_;
  Memory memory_;
  std::vector<Buffer> buffers_;
};

}  // namespace twinlink
