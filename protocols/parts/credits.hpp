// Credits: the receiver's buffers, as the sender may use them.
//
// The sender begins with one credit for each of the receiver's buffers. The receiver grants credits in batches, when as
// many buffers are free again, and only such that the sender will need: so no grant is left over when a transfer ends.
// Both ends know the batch and the number of pieces, so a grant carries nothing.
//
// With 6 pieces, 4 buffers and batches of 2 the sender waits for a grant before piece 4; the receiver grants once piece
// 1 is done with. A grant more, after piece 3, would serve pieces that there are not.
#pragma once

#include <algorithm>
#include <cstddef>

namespace twinlink {

/// Credits of one transfer, as both ends work them out. Pure.
class Credits {
 public:
  /// Credits for `pieces` through `buffers` buffers; `batch` is 1 to `buffers`, or 0 where credits are not used.
  Credits(std::size_t pieces, std::size_t buffers, std::size_t batch)
      : pieces_(pieces), buffers_(buffers), batch_(std::max<std::size_t>(batch, 1)) {}

  /// Must the sender receive a grant before it sends piece `index`?
  [[nodiscard]] bool sender_awaits_grant_before(std::size_t index) const {
    return index >= buffers_ && (index - buffers_) % batch_ == 0;
  }
  /// Does the receiver grant once the buffer of piece `index` is free? It does so for the pieces that follow when all
  /// buffers have been used once.
  [[nodiscard]] bool receiver_grants_after(std::size_t index) const {
    const std::size_t free = index + 1;
    return free % batch_ == 0 && buffers_ + free - batch_ < pieces_;
  }

 private:
  std::size_t pieces_;
  std::size_t buffers_;
  std::size_t batch_;
};

}  // namespace twinlink
