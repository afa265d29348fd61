// The settings of a protocol in words.
#pragma once

#include <string>

#include "protocols/core/protocol.hpp"

namespace twinlink::bench {

/// "chunk whole message, depth 2, engine=kernel-push".
std::string settings_text(const Settings& settings);

}  // namespace twinlink::bench
