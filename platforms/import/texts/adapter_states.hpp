// What ibstat, ibstatus and 'rdma link' say of adapters, wherever in a text they stand.
#pragma once

#include <map>
#include <string>

namespace twinlink::platforms {

struct AdapterState {
  bool up = false;      ///< has a port that is active
  double gigabits = 0;  ///< of all its active ports, each way; 0: not told
};

/// By what the system calls them: "mlx5_0".
std::map<std::string, AdapterState> read_adapter_states(const std::string& text);

}  // namespace twinlink::platforms
