// Fiber: a thread of control that is switched by hand, and whose whole state can be saved and put back.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tests/explore/explorer/arena.hpp"
#include "tests/explore/explorer/hash.hpp"

namespace twinlink::explore {

/// Can a fiber be put back into an earlier state? Not under the address sanitizer, which keeps books about each stack.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kFibersCanGoBack = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kFibersCanGoBack = false;
#else
inline constexpr bool kFibersCanGoBack = true;
#endif
#else
inline constexpr bool kFibersCanGoBack = true;
#endif

/// Where a fiber stands: the live part of its stack, and its heap.
struct FiberImage {
  std::byte* stack_pointer = nullptr;
  std::vector<std::byte> stack;
  std::vector<std::byte> heap;
  bool ended = false;
};

class Fiber {
 public:
  /// `body` runs on the fiber and must not throw. With `own_heap` what it allocates comes from an arena; without, the
  /// fiber cannot be saved.
  Fiber(std::function<void()> body, bool own_heap);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Forgets where the fiber stands, destroying nothing: the next resume() begins the body anew.
  void restart();
  /// Goes on until the body suspends itself or ends; called from outside, on a fiber that has not ended.
  void resume();
  /// Back to the caller of resume(); called on the fiber.
  void suspend();
  [[nodiscard]] bool ended() const { return ended_; }
  /// Does the body run right now?
  [[nodiscard]] bool running() const { return running_; }
  [[nodiscard]] Arena* heap() { return heap_ ? &*heap_ : nullptr; }

  /// How much of the stack is in use, bytes.
  [[nodiscard]] std::size_t depth() const { return ended_ ? 0 : live_stack().size(); }

  void save(FiberImage& into) const;
  void restore(const FiberImage& image);
  /// Adds everything that decides how the fiber goes on.
  void hash(Hash& hash) const;

 private:
  static void entry(void* fiber);
  [[nodiscard]] std::span<const std::byte> live_stack() const;

  std::function<void()> body_;
  std::byte* map_;    ///< the guard page, then the stack
  std::byte* stack_;  ///< its lowest byte
  std::byte* stack_pointer_ = nullptr;
  void* resumer_ = nullptr;  ///< the stack pointer of who resumed
  std::optional<Arena> heap_;
  bool ended_ = false;
  bool running_ = false;
  bool fresh_ = true;
};

/// Zeroes the stack below the caller. What a call leaves behind there would come up again as padding of later frames,
/// and make equal states look different. That costs nothing but time, so this is only to save time.
void scrub_stack();

}  // namespace twinlink::explore
