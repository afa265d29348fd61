// One message through a protocol on a simulated machine, timed.
#pragma once

#include <string>
#include <vector>

#include "platforms/machine/platform.hpp"
#include "protocols/core/protocol.hpp"

namespace twinlink::model::testing {

struct Timed {
  Seconds cold{};                   ///< of the first message, from both ends' call until the receiver's call returns
  Seconds warm{};                   ///< of the second, from the sender's call on; the receiver waits already
  std::vector<Counter> counters{};  ///< of the sender's channel
};

/// Sends the same message twice from the first place to the second and checks what arrives. Once per process.
Timed timed_message(const Platform& platform, const std::vector<Place>& places, const std::string& protocol, Bytes size,
                    const Settings& settings);

}  // namespace twinlink::model::testing
