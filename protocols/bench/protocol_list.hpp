// Protocols and their settings in words, the same in both programs.
#pragma once

#include <iosfwd>
#include <string>

#include "protocols/protocol.hpp"

namespace twinlink::bench {

/// What `list` prints of every protocol: what it is, its defaults, options, other names for them, and presets.
void print_protocols(std::ostream& out);

/// "chunk whole message, depth 2, engine=kernel-push".
std::string settings_text(const Settings& settings);

}  // namespace twinlink::bench
