// Arena: the heap of one fiber, at addresses that never change, so that it can be saved, put back and compared byte by
// byte. While an arena is active, operator new takes from it; memory of an arena may be deleted at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace twinlink::explore {

/// Equal live blocks at equal addresses make equal bytes: freed memory is zeroed and merged at once, and a new block
/// goes to the lowest place where it fits. The order in which things were freed leaves no trace.
class Arena {
 public:
  /// Takes one of kArenas fixed ranges of kCapacity bytes. A std::bad_alloc when none is left.
  Arena();
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// `size` bytes, aligned for every fundamental type. A std::bad_alloc beyond kCapacity.
  void* allocate(std::size_t size);
  /// `block` must be live and of this arena.
  void free(void* block) noexcept;
  /// Forgets all blocks. Nothing is destroyed.
  void clear();

  /// From the first to the last live block.
  [[nodiscard]] std::span<const std::byte> used() const { return {begin_, top_}; }
  /// Puts back what used() was.
  void restore(std::span<const std::byte> saved);

  static constexpr std::size_t kCapacity = std::size_t{8} << 20U;
  static constexpr std::size_t kArenas = 64;

 private:
  struct Header;
  [[nodiscard]] Header* at(std::size_t offset) const;

  std::byte* begin_;
  std::size_t top_ = 0;  ///< end of the last live block, bytes from begin_
};

/// Makes `arena` the active one until the end of the scope; null is the ordinary heap.
class ActiveArena {
 public:
  explicit ActiveArena(Arena* arena);
  ~ActiveArena();
  ActiveArena(const ActiveArena&) = delete;
  ActiveArena& operator=(const ActiveArena&) = delete;

 private:
  Arena* before_;
};

}  // namespace twinlink::explore
