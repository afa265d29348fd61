// What a function prints, for tests.
#pragma once

#include <sstream>
#include <string>

namespace twinlink::model {

/// What print(std::ostream&) writes.
template <class Print>
std::string printed(Print print) {
  std::ostringstream out;
  print(out);
  return out.str();
}

}  // namespace twinlink::model
