#include "model/study/model_error.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "protocols/workloads/catalogue.hpp"

namespace twinlink::model {

Simulated simulated_by(const Protocol& protocol, bool one_node) {
  if (protocol.message_memory() != Memory::device) return Simulated::host_messages;
  return one_node ? Simulated::within_node : Simulated::between_nodes;
}

Simulated simulated_by(std::string_view algorithm) {
  const bool by_blocks = std::ranges::any_of(workloads::all_workloads(), [&](const workloads::Workload& workload) {
    return std::ranges::any_of(workload.algorithms,
                               [&](const auto& each) { return each.together && each.name == algorithm; });
  });
  return by_blocks ? Simulated::block_collectives : Simulated::driven_collectives;
}

std::string how_sure(Simulated what) {
  const ModelError& error = model_error(what);
  return fmt::format("machines that were not measured: {:.0f} % off in the mean ({}, {})", 100 * error.share, error.of,
                     error.source);
}

}  // namespace twinlink::model
