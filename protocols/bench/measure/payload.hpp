// The memory that messages are sent from and received into, and the proof that they arrived.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "protocols/core/measured_rank.hpp"
#include "protocols/layout/layout.hpp"

namespace twinlink::bench {

/// A buffer that is released at the end of its scope; not while an exception passes, for then operations may still use
/// it, and the rank frees it when it ends.
class ScopedBuffer {
 public:
  ScopedBuffer(Rank& rank, Memory kind, Bytes size, Locality locality = Locality::near)
      : rank_(rank), buffer_(rank.allocate(kind, size, locality)) {}
  ~ScopedBuffer() {
    if (std::uncaught_exceptions() == 0) rank_.release(buffer_);
  }
  ScopedBuffer(const ScopedBuffer&) = delete;
  ScopedBuffer& operator=(const ScopedBuffer&) = delete;

  [[nodiscard]] Buffer buffer() const { return buffer_; }
  [[nodiscard]] View first(Bytes count) const { return {buffer_, Bytes{}, count}; }

 private:
  Rank& rank_;
  Buffer buffer_;
};

/// A window of messages of one size in one buffer. Messages start at multiples of 256 bytes, as allocations on a GPU
/// do.
class Window {
 public:
  /// `messages` messages of `size` bytes, gaps of the layout not counted. As many as fit into kMaxWindowMemory have
  /// places of their own, at least one; the others share these places in turn.
  Window(Bytes size, int messages, const Layout& layout = {});

  [[nodiscard]] Bytes memory() const;
  [[nodiscard]] std::size_t places() const { return places_; }
  /// All of a message's memory, gaps included.
  [[nodiscard]] View place(Buffer buffer, std::size_t index) const;
  /// Within a place: the blocks of the message, and the gaps between them.
  [[nodiscard]] const std::vector<LayoutBlock>& blocks() const { return blocks_; }
  [[nodiscard]] const std::vector<LayoutBlock>& gaps() const { return gaps_; }
  /// All messages, in order.
  [[nodiscard]] std::vector<View> messages(Buffer buffer) const;

 private:
  Bytes extent_;
  std::vector<LayoutBlock> blocks_;
  std::vector<LayoutBlock> gaps_;
  Bytes stride_;
  std::size_t messages_;
  std::size_t places_;
};

/// Fills every block of every place of the window with a pattern of its own, different for every `seed`, and the gaps
/// with yet another.
void fill(MeasuredRank& rank, const Window& window, Buffer buffer, std::uint64_t seed);
/// Fills every place with the sentinel.
void wipe(MeasuredRank& rank, const Window& window, Buffer buffer);
/// What is wrong with a window that should hold what fill() wrote with `seed` into its blocks, and wipe() into its
/// gaps: "dropped at byte 4096 of message 3", "written at byte 70 of message 3, between its blocks".
std::optional<std::string> check(MeasuredRank& rank, const Window& window, Buffer buffer, std::uint64_t seed);

}  // namespace twinlink::bench
