// The protocols in words, the same in both programs.
#pragma once

#include <iosfwd>

namespace twinlink::bench {

/// What `list` prints of every protocol: what it is, its defaults, options, other names for them, and presets.
void print_protocols(std::ostream& out);

}  // namespace twinlink::bench
