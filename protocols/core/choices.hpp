// Choices: the names that a user may write, each with what it stands for.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace twinlink {

template <class Value>
struct OptionChoice {
  std::string_view name;
  Value value;
};

/// Ends Option::values of an option that takes a list.
inline constexpr std::string_view kOfList = ",...";

/// A table of choices, a constexpr variable of namespace scope:
///   constexpr Choices kBuffers{OptionChoice<bool>{"own", false}, OptionChoice<bool>{"shared", true}};
/// It keeps its joined names itself. A template over the table would keep them once for all tables of one name, also
/// where each file has its own in an anonymous namespace: g++ 14 makes one symbol of them.
template <class Value, std::size_t kCount>
class Choices {
 public:
  template <class... More>
  consteval explicit Choices(const OptionChoice<Value>& first, const More&... more) : table_{first, more...} {
    for (const auto& choice : table_) {
      if (length_ > 0) names_.at(length_++) = '|';
      for (const char letter : choice.name) names_.at(length_++) = letter;
    }
    for (std::size_t i = 0; i < kOfList.size(); ++i) names_.at(length_ + i) = kOfList.at(i);
  }

  /// "own|shared": the names, as Option::values lists them. Lives as long as the table.
  [[nodiscard]] constexpr std::string_view names() const { return {names_.data(), length_}; }

  /// "own|shared,...": the same of an option that takes a list of them, or, behind a '^', all but those.
  [[nodiscard]] constexpr std::string_view list_names() const { return {names_.data(), length_ + kOfList.size()}; }

  [[nodiscard]] constexpr auto begin() const { return table_.begin(); }
  [[nodiscard]] constexpr auto end() const { return table_.end(); }

 private:
  static constexpr std::size_t kLongestName = 20;  // a longer one does not compile

  std::array<OptionChoice<Value>, kCount> table_;
  std::array<char, kCount * kLongestName + kOfList.size()> names_{};
  std::size_t length_ = 0;
};

template <class Value, class... More>
Choices(OptionChoice<Value>, More...) -> Choices<Value, 1 + sizeof...(More)>;

/// What is off or on.
inline constexpr Choices kSwitch{OptionChoice<bool>{"0", false}, OptionChoice<bool>{"1", true}};

}  // namespace twinlink
