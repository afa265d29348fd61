#include "protocols/bench/measure/payload.hpp"

#include <algorithm>

#include "protocols/bench/measure/driver.hpp"

namespace twinlink::bench {
namespace {

constexpr std::uint64_t kAlignment = 256;

// The window's largest size keeps the patterns of two seeds apart, and kMostBlocks those of two blocks of a place; 0 is
// the sentinel.
twinlink::Payload pattern_of(std::uint64_t seed, std::size_t place, std::size_t block) {
  return {1 + (seed * kMaxWindow + place) * (kMostBlocks + 1) + block};
}
/// What a sender has in its gaps: none of it may arrive.
twinlink::Payload gap_pattern(std::uint64_t seed, std::size_t place) { return pattern_of(seed, place, kMostBlocks); }

std::vector<LayoutBlock> gaps_between(const std::vector<LayoutBlock>& blocks) {
  std::vector<LayoutBlock> gaps;
  Bytes end{};
  for (const LayoutBlock& block : blocks) {
    if (block.displacement > end) gaps.push_back({end, block.displacement - end});
    end = block.displacement + block.length;
  }
  return gaps;
}

View part(const View& place, const LayoutBlock& block) { return place.slice(block.displacement, block.length); }

}  // namespace

Window::Window(Bytes size, int messages, const Layout& layout)
    : extent_(layout.extent(size)),
      blocks_(layout.blocks(size)),
      gaps_(gaps_between(blocks_)),
      stride_((std::max<std::uint64_t>(extent_.count(), 1) + kAlignment - 1) / kAlignment * kAlignment),
      messages_(static_cast<std::size_t>(messages)),
      places_(std::clamp<std::size_t>(kMaxWindowMemory.count() / stride_.count(), 1, messages_)) {}

Bytes Window::memory() const { return stride_ * places_; }

View Window::place(Buffer buffer, std::size_t index) const { return {buffer, stride_ * index, extent_}; }

std::vector<View> Window::messages(Buffer buffer) const {
  std::vector<View> views;
  views.reserve(messages_);
  for (std::size_t i = 0; i < messages_; ++i) views.push_back(place(buffer, i % places_));
  return views;
}

void fill(MeasuredRank& rank, const Window& window, Buffer buffer, std::uint64_t seed) {
  for (std::size_t i = 0; i < window.places(); ++i) {
    const View place = window.place(buffer, i);
    if (!window.gaps().empty()) rank.fill(place, gap_pattern(seed, i));
    std::size_t number = 0;
    for (const LayoutBlock& block : window.blocks()) rank.fill(part(place, block), pattern_of(seed, i, number++));
  }
}

void wipe(MeasuredRank& rank, const Window& window, Buffer buffer) {
  for (std::size_t i = 0; i < window.places(); ++i) {
    const View place = window.place(buffer, i);
    rank.fill(place, kSentinel);
    // A pattern begins where its view does, and check() looks at each gap by itself.
    for (const LayoutBlock& gap : window.gaps()) rank.fill(part(place, gap), kSentinel);
  }
}

std::optional<std::string> check(MeasuredRank& rank, const Window& window, Buffer buffer, std::uint64_t seed) {
  for (std::size_t i = 0; i < window.places(); ++i) {
    const View place = window.place(buffer, i);
    const std::string message = " of message " + std::to_string(i);
    std::size_t number = 0;
    for (const LayoutBlock& block : window.blocks()) {
      Verdict verdict = rank.check(part(place, block), pattern_of(seed, i, number++));
      verdict.first_bad += block.displacement;
      if (!verdict.intact()) return to_string(verdict) + message;
    }
    for (const LayoutBlock& gap : window.gaps()) {
      const Verdict verdict = rank.check(part(place, gap), kSentinel);
      const Bytes at = gap.displacement + verdict.first_bad;
      if (!verdict.intact()) return "written at byte " + std::to_string(at.count()) + message + ", between its blocks";
    }
  }
  return std::nullopt;
}

}  // namespace twinlink::bench
