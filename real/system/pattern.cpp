#include "real/system/pattern.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace twinlink::real {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

/// The output function of splitmix64 (Steele, Lea and Flood): every bit depends on every bit.
std::uint64_t scramble(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// The words of a pattern, one after the other.
class Words {
 public:
  Words(Payload pattern, std::uint64_t first_byte)
      : pattern_(pattern),
        index_(first_byte / kWord),
        state_(scramble(pattern.seed + kGamma) + kGamma * (first_byte / kWord)) {}
  std::uint64_t next() {
    return is_summable(pattern_) ? summable_element(pattern_, index_++) : scramble(state_ += kGamma);
  }

 private:
  static constexpr std::uint64_t kGamma = 0x9e3779b97f4a7c15;
  Payload pattern_;
  std::uint64_t index_;
  std::uint64_t state_;
};

}  // namespace

void write_pattern(std::span<std::byte> bytes, Payload pattern, std::uint64_t first) {
  Words words(pattern, first);
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(kWord, bytes.size()))) {
    const std::uint64_t word = words.next();
    std::memcpy(bytes.data(), &word, std::min(kWord, bytes.size()));
  }
}

std::byte pattern_byte(Payload pattern, std::uint64_t index) {
  std::array<std::byte, kWord> word{};
  write_pattern(word, pattern, index - index % kWord);
  return word[index % kWord];
}

std::optional<std::size_t> find_difference(std::span<const std::byte> bytes, Payload pattern, std::uint64_t first) {
  Words words(pattern, first);
  for (std::size_t at = 0; at < bytes.size(); at += kWord) {
    const std::size_t length = std::min(kWord, bytes.size() - at);
    const std::uint64_t word = words.next();
    if (std::memcmp(&word, bytes.data() + at, length) == 0) continue;
    std::array<std::byte, kWord> expected{};
    std::memcpy(expected.data(), &word, sizeof word);
    const auto bad = std::ranges::mismatch(std::span(expected).first(length), bytes.subspan(at, length));
    return at + static_cast<std::size_t>(bad.in2 - (bytes.begin() + static_cast<std::ptrdiff_t>(at)));
  }
  return std::nullopt;
}

}  // namespace twinlink::real
