// Optionals in tests: there, or the test fails with an exception.
#pragma once

#include <optional>
#include <stdexcept>

namespace twinlink::platforms::testing {

template <class T>
const T& present(const std::optional<T>& value) {
  if (!value) throw std::runtime_error("an optional that should hold a value is empty");
  return *value;
}
}  // namespace twinlink::platforms::testing
