// Tables with a row for each value of an enum. A value without a row does not compile.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "protocols/core/text.hpp"

namespace twinlink {

/// Has the value a name? The compiler writes one without as a cast: "(Engine)4".
template <class Enum, Enum kValue>
consteval bool is_named() {
  const std::string_view text = __PRETTY_FUNCTION__;
  constexpr std::string_view kBefore = "kValue = ";
  return text[text.find(kBefore) + kBefore.size()] != '(';
}

/// How many values an enum has that counts from 0 without a gap.
template <class Enum, std::size_t kFrom = 0>
consteval std::size_t count_of() {
  static_assert(std::is_enum_v<Enum>);
  if constexpr (is_named<Enum, static_cast<Enum>(kFrom)>()) {
    return count_of<Enum, kFrom + 1>();
  } else {
    return kFrom;
  }
}

/// The rows in the order of the values.
template <class Enum, class Row>
class EnumTable {
 public:
  template <class... Rows>
  constexpr explicit EnumTable(const Rows&... rows) : rows_{Row(rows)...} {
    static_assert(sizeof...(Rows) == count_of<Enum>(), "a row for each value of the enum");
  }

  [[nodiscard]] constexpr const Row& operator[](Enum value) const { return rows_.at(static_cast<std::size_t>(value)); }
  [[nodiscard]] static constexpr std::size_t size() { return count_of<Enum>(); }
  [[nodiscard]] constexpr const auto& rows() const { return rows_; }

 private:
  std::array<Row, count_of<Enum>()> rows_;
};

template <class Enum>
using Words = EnumTable<Enum, std::string_view>;

/// The value of that name; refuse_name() where there is none.
template <class Enum>
Enum value_named(const Words<Enum>& words, std::string_view name, std::string_view what) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words.rows().at(i) == name) return static_cast<Enum>(i);
  }
  refuse_name(what, name, words.rows());
}

}  // namespace twinlink
