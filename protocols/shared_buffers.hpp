// SharedBuffers: what two ranks of a node know of each other's memory, for as long as a connection lasts.
#pragma once

#include <vector>

#include "protocols/rank.hpp"

namespace twinlink {

/// Memory of this rank that the peer knows, and memory of the peer that is open here. Closes that when it ends.
class SharedBuffers {
 public:
  /// `rank` must outlive this.
  SharedBuffers(Rank& rank, RankId peer) : rank_(rank), peer_(peer) {}
  ~SharedBuffers();
  SharedBuffers(const SharedBuffers&) = delete;
  SharedBuffers& operator=(const SharedBuffers&) = delete;

  /// Exported at its first use. Errors are those of Rank::export_memory().
  IpcHandle handle_of(const Buffer& buffer);
  /// Opened at its first use. Errors are those of Rank::open_memory().
  Buffer open(const IpcHandle& handle);

 private:
  struct Known {
    Buffer buffer;
    IpcHandle handle;
  };
  Rank& rank_;
  RankId peer_;
  std::vector<Known> exported_;
  std::vector<Known> opened_;
};

}  // namespace twinlink
