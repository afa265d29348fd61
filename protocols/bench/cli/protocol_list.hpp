// The protocols in words, the same in both programs.
#pragma once

#include <iosfwd>

#include <nlohmann/json_fwd.hpp>

namespace twinlink::bench {

/// What `list` prints of every protocol: what it is, its defaults, options, other names for them, and presets.
void print_protocols(std::ostream& out);
nlohmann::json protocols_json();

}  // namespace twinlink::bench
