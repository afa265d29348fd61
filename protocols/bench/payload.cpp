#include "protocols/bench/payload.hpp"

#include <algorithm>

#include "protocols/bench/driver.hpp"

namespace twinlink::bench {
namespace {

constexpr std::uint64_t kAlignment = 256;

// The window's largest size keeps the patterns of two seeds apart; 0 is the sentinel.
twinlink::Pattern pattern_of(std::uint64_t seed, std::size_t place) { return {1 + seed * kMaxWindow + place}; }

}  // namespace

Window::Window(Bytes size, int messages)
    : size_(size),
      stride_((std::max<std::uint64_t>(size.count(), 1) + kAlignment - 1) / kAlignment * kAlignment),
      messages_(static_cast<std::size_t>(messages)),
      places_(std::clamp<std::size_t>(kMaxWindowMemory.count() / stride_.count(), 1, messages_)) {}

Bytes Window::memory() const { return stride_ * places_; }

View Window::place(Buffer buffer, std::size_t index) const { return {buffer, stride_ * index, size_}; }

std::vector<View> Window::messages(Buffer buffer) const {
  std::vector<View> views;
  views.reserve(messages_);
  for (std::size_t i = 0; i < messages_; ++i) views.push_back(place(buffer, i % places_));
  return views;
}

void fill(Rank& rank, const Window& window, Buffer buffer, std::uint64_t seed) {
  for (std::size_t i = 0; i < window.places(); ++i) rank.fill(window.place(buffer, i), pattern_of(seed, i));
}

void wipe(Rank& rank, const Window& window, Buffer buffer) {
  for (std::size_t i = 0; i < window.places(); ++i) rank.fill(window.place(buffer, i), kSentinel);
}

std::optional<std::string> check(Rank& rank, const Window& window, Buffer buffer, std::uint64_t seed) {
  for (std::size_t i = 0; i < window.places(); ++i) {
    const Verdict verdict = rank.check(window.place(buffer, i), pattern_of(seed, i));
    if (!verdict.intact()) return to_string(verdict) + " of message " + std::to_string(i);
  }
  return std::nullopt;
}

}  // namespace twinlink::bench
