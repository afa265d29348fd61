// Hash: 128 bits over everything that makes up a state. Two different states with one hash would make the explorer
// pass over one of them: with 10^8 states the chance is below 10^-22.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace twinlink::explore {

struct Key {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const Key&) const = default;
};

/// Folded 64 by 64 to 128 bit products, in two lanes with constants of their own.
class Hash {
 public:
  void add(std::uint64_t a, std::uint64_t b = 0) {
    high_ = fold(high_ ^ a ^ 0x9E3779B97F4A7C15U, b ^ 0xD1B54A32D192ED03U) + high_ * 5;
    low_ = fold(low_ ^ b ^ 0xA0761D6478BD642FU, a ^ 0xE7037ED1A0B428DBU) + low_ * 3;
  }
  void add(std::span<const std::byte> bytes) {
    add(bytes.size(), 1);
    while (bytes.size() >= 16) {
      std::array<std::uint64_t, 2> words{};
      std::memcpy(words.data(), bytes.data(), 16);
      add(words[0], words[1]);
      bytes = bytes.subspan(16);
    }
    if (bytes.empty()) return;
    std::array<std::uint64_t, 2> words{};
    std::memcpy(words.data(), bytes.data(), bytes.size());
    add(words[0], words[1]);
  }
  [[nodiscard]] Key key() const {
    return {fold(high_ ^ 0x8EBC6AF09C88C6E3U, low_ ^ 0x589965CC75374CC3U) ^ high_,
            fold(low_ ^ 0x1D8E4E27C47D124FU, high_ ^ 0xEB44ACCAB455D165U) ^ low_};
  }

 private:
  static std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
  }

  std::uint64_t high_ = 0x243F6A8885A308D3U;
  std::uint64_t low_ = 0x13198A2E03707344U;
};

}  // namespace twinlink::explore
