// The memory of MPI_Bsend, for `cuda-aware -o send=buffered`: an exchange copies its
// messages here and sends these copies.
#pragma once

#include <span>
#include <vector>

#include "protocols/core/rank.hpp"

namespace twinlink {

/// The memory that a user attaches for MPI_Bsend: ordinary host memory, into which the CPU copies what is to be sent.
class AttachedBuffer {
 public:
  /// `rank` must outlive this. A copy may take `timeout`.
  AttachedBuffer(Rank& rank, Seconds timeout) : rank_(rank), timeout_(timeout) {}
  ~AttachedBuffer();
  AttachedBuffer(const AttachedBuffer&) = delete;
  AttachedBuffer& operator=(const AttachedBuffer&) = delete;

  /// Copies the messages, one after the other, and waits for each copy; those of the call before must have left. An
  /// outcome other than `delivered` names what became of a copy.
  Outcome take(std::span<const View> messages);
  /// What take() has copied.
  [[nodiscard]] std::span<const View> messages() const { return messages_; }

 private:
  void make_room(std::span<const View> messages);

  Rank& rank_;
  Seconds timeout_;
  Buffer memory_{};
  std::vector<View> messages_;
};

}  // namespace twinlink
