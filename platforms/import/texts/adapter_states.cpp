#include "platforms/import/texts/adapter_states.hpp"

#include <sstream>

#include "platforms/import/texts/text_scan.hpp"

namespace twinlink::platforms {

std::map<std::string, AdapterState> read_adapter_states(const std::string& text) {
  std::map<std::string, AdapterState> states;
  AdapterState* adapter = nullptr;  // of the lines that follow
  bool active = false;              // its port
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos) continue;
    TextScan scan(std::string_view(line).substr(first));
    // "CA 'mlx5_0'" of ibstat, "Infiniband device 'mlx5_0' port 1 status:" of ibstatus.
    if (scan.take("CA '") || scan.take("Infiniband device '")) {
      adapter = &states[std::string(scan.until("'"))];
      active = false;
    } else if (scan.take("link ")) {  // "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ib0"
      const std::string name(scan.until("/ "));
      if (scan.pass(" state ")) states[name].up = states[name].up || scan.take("ACTIVE");
    } else if (adapter != nullptr && (scan.take("State:") || scan.take("state:"))) {
      active =
          scan.rest().find("Active") != std::string_view::npos || scan.rest().find("ACTIVE") != std::string_view::npos;
      adapter->up = adapter->up || active;
    } else if (adapter != nullptr && active && (scan.take("Rate:") || scan.take("rate:"))) {
      double gigabits = 0;
      while (scan.take("\t") || scan.take(" ")) {
      }
      constexpr double kMost = 1e5;
      if (scan.number(gigabits) && gigabits > 0 && gigabits < kMost) adapter->gigabits += gigabits;
    }
  }
  return states;
}

}  // namespace twinlink::platforms
