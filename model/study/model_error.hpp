// How far simulated times are off, by what is simulated. A lead that is smaller is none.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocols/core/enum_table.hpp"

namespace twinlink::model {

enum class Simulated : std::uint8_t {
  within_node,         ///< messages of GPUs of one node
  between_nodes,       ///< messages of GPUs of two
  driven_collectives,  ///< whose copies and messages CPUs start
  block_collectives    ///< that thread blocks do by themselves
};

struct ModelError {
  double share = 0;  ///< geometric mean of how much longer the longer one of two times is, less one
  std::string_view of{};
  std::string_view source{};  ///< a file of this project
};

/// Of stored comparisons with machines that were not measured for it: MACHINES.md by kind, but for collectives that
/// CPUs drive, of which four GPUs tell that were predicted from two.
inline const ModelError& model_error(Simulated what) {
  static constexpr EnumTable<Simulated, ModelError> kErrors{
      ModelError{0.12, "messages of GPUs within a node", "validate/MACHINES.md"},
      ModelError{0.20, "messages of GPUs between nodes", "validate/MACHINES.md"},
      ModelError{0.30, "collectives that CPUs drive", "validate/data/h200-x4-workloads.txt"},
      ModelError{0.18, "collectives by NCCL", "validate/MACHINES.md"}};
  return kErrors[what];
}

}  // namespace twinlink::model
