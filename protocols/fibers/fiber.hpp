// Fiber: code with a stack of its own, which runs until it pauses.
#pragma once

#include <cstddef>
#include <span>

namespace twinlink {

/// Whoever calls go_on() is outside; fibers may be outside of others. The owner keeps the stack, which outlives the
/// fiber.
class Fiber {
 public:
  explicit Fiber(std::span<std::byte> stack) : stack_(stack) {}
  ~Fiber() { forget_frames(); }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// The next go_on() calls `body` with `argument`, on the stack from its top. It must not throw. What the fiber did
  /// before must have ended.
  void begin(void (*body)(void*), void* argument);
  /// From outside: until the body pauses or ends.
  void go_on();
  /// On the fiber: go_on() returns, and this returns after the next one.
  void pause();
  /// Also before the first begin().
  [[nodiscard]] bool ended() const { return body_ == nullptr; }

 private:
  static void enter(void* fiber);
  void forget_frames();

  std::span<std::byte> stack_;
  void (*body_)(void*) = nullptr;
  void* argument_ = nullptr;
  void* place_ = nullptr;    ///< where the fiber stands
  void* outside_ = nullptr;  ///< where go_on() was called
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack_ = nullptr;
  void* fake_outside_ = nullptr;
  const void* outside_bottom_ = nullptr;
  std::size_t outside_size_ = 0;
#endif
};

}  // namespace twinlink
