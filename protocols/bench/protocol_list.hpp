// What `list` prints about the protocols, the same in both programs.
#pragma once

#include <iosfwd>

namespace twinlink::bench {

/// Every protocol: what it is, its defaults, options, other names for them, and presets.
void print_protocols(std::ostream& out);

}  // namespace twinlink::bench
