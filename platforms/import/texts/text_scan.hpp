// A line of text, taken from left to right.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace twinlink::platforms {

class TextScan {
 public:
  explicit TextScan(std::string_view text) : rest_(text) {}

  [[nodiscard]] std::string_view rest() const { return rest_; }
  /// Takes `text`, if it is next.
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  /// Takes all up to the next `text`, and that; nothing where there is none.
  bool pass(std::string_view text) {
    const std::size_t at = rest_.find(text);
    if (at == std::string_view::npos) return false;
    rest_.remove_prefix(at + text.size());
    return true;
  }
  /// All up to one of `ends`, which stays.
  std::string_view until(std::string_view ends) {
    const std::string_view word = rest_.substr(0, rest_.find_first_of(ends));
    rest_.remove_prefix(word.size());
    return word;
  }
  std::size_t blanks() {
    std::size_t count = 0;
    while (take(" ")) ++count;
    return count;
  }
  /// Blanks before it are passed. Nothing is taken where there is none.
  template <class Number>
  bool number(Number& value) {
    const TextScan before = *this;
    blanks();
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error == std::errc{}) rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    if (error != std::errc{}) *this = before;
    return error == std::errc{};
  }

 private:
  std::string_view rest_;
};

}  // namespace twinlink::platforms
