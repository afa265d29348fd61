// Bodies that several tests explore.
#pragma once

#include <string>
#include <string_view>

#include "protocols/protocol.hpp"
#include "tests/explore/scenario.hpp"

namespace twinlink::explore {

/// What rank `from` sends as message `index`.
Pattern content(int from, int index);

/// How two ranks exchange messages: `forth` of them from rank 0 to rank 1, and `back`.
struct Exchange {
  std::string_view protocol;
  int forth = 1;
  int back = 1;
  Bytes size = 64_B;
  Settings settings{};
};

/// Both ranks connect, exchange once, say their outcome as the ending, and require the right content.
Scenario exchange_of(const Exchange& exchange);

}  // namespace twinlink::explore
