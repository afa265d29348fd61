// Choices: the names that a user may write, each with what it stands for.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace twinlink {

/// A table of them is a constexpr std::array of namespace scope.
template <class Value>
struct OptionChoice {
  std::string_view name;
  Value value;
};

/// What is off or on.
inline constexpr std::array kSwitch{OptionChoice<bool>{"0", false}, OptionChoice<bool>{"1", true}};

namespace internal {

template <const auto& kTable>
constexpr auto joined_names() {
  constexpr std::size_t kLength = [] {
    std::size_t length = kTable.size() - 1;  // the bars
    for (const auto& choice : kTable) length += choice.name.size();
    return length;
  }();
  std::array<char, kLength> text{};
  auto* at = text.data();
  for (const auto& choice : kTable) {
    if (at != text.data()) *at++ = '|';
    at = std::ranges::copy(choice.name, at).out;
  }
  return text;
}

template <const auto& kTable>
inline constexpr auto kJoinedNames = joined_names<kTable>();

}  // namespace internal

/// "own|shared": a table's names, as Option::values lists them.
template <const auto& kTable>
inline constexpr std::string_view kNamesOf{internal::kJoinedNames<kTable>.data(),
                                           internal::kJoinedNames<kTable>.size()};

}  // namespace twinlink
