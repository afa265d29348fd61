// How far simulated times are off, by what is simulated. A lead that is smaller is none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "protocols/core/enum_table.hpp"
#include "protocols/core/protocol.hpp"

namespace twinlink::model {

enum class Simulated : std::uint8_t {
  host_messages,
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

/// Of published figures of machines that were not measured for it: the half of MACHINES.md that is held back, by kind,
/// where a source of a machine counts once. But of collectives that CPUs drive, of which four GPUs tell that were
/// predicted from two.
inline const ModelError& model_error(Simulated what) {
  static constexpr EnumTable<Simulated, ModelError> kErrors{
      ModelError{0.04, "host messages", "validate/MACHINES.md"},
      ModelError{0.12, "messages of GPUs within a node", "validate/MACHINES.md"},
      ModelError{0.16, "messages of GPUs between nodes", "validate/MACHINES.md"},
      ModelError{0.30, "collectives that CPUs drive", "validate/data/h200-x4-workloads.txt"},
      ModelError{0.21, "collectives by NCCL", "validate/MACHINES.md"}};
  return kErrors[what];
}

/// What messages by `protocol` are, between GPUs or hosts of one node or of two.
Simulated simulated_by(const Protocol& protocol, bool one_node);
/// What a collective by that algorithm is: thread blocks do it by themselves, or CPUs drive it.
Simulated simulated_by(std::string_view algorithm);
/// A line for results of machines that nobody may have measured: "machines that were not measured: 20 % off in the mean
/// (messages of GPUs between nodes, validate/MACHINES.md)".
std::string how_sure(Simulated what);

}  // namespace twinlink::model
