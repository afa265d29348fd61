// Bodies that several tests explore.
#pragma once

#include <string>
#include <string_view>

#include "protocols/core/protocol.hpp"
#include "protocols/core/tags.hpp"
#include "tests/explore/explorer/fiber.hpp"
#include "tests/explore/explorer/scenario.hpp"

namespace twinlink::explore {

inline constexpr Seconds kLong{1000};
inline constexpr Tag kMeet{tags::kFirstFree.value};
/// Of one message, where its size does not matter.
inline constexpr Bytes kSize = 64_B;

/// How many messages a test explores: fewer where fibers cannot go back, and each step back costs an execution.
inline constexpr int kMany = kFibersCanGoBack ? 7 : 3;
inline constexpr int kSome = kFibersCanGoBack ? 4 : 2;

/// What rank `from` sends as message `index`.
Payload content(int from, int index);

/// How two ranks exchange messages: `forth` of them from rank 0 to rank 1, and `back`.
struct Exchange {
  std::string_view protocol;
  int forth = 1;
  int back = 1;
  Bytes size = 64_B;
  Settings settings{};
  /// All messages of a rank and a direction lie in one buffer, one behind the other; else each has a buffer of its own.
  bool together = false;
};

/// Both ranks connect, exchange once, say their outcome as the ending, and require the right content.
Scenario exchange_of(const Exchange& exchange);

}  // namespace twinlink::explore
