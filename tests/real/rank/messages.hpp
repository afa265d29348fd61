// What an error says.
#pragma once

#include <string>

#include <gtest/gtest.h>

namespace twinlink::real {

/// The message of the E that `call` throws; empty, and a failure of the test, if it throws none.
template <class E, class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace twinlink::real
