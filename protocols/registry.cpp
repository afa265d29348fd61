#include "protocols/registry.hpp"

#include <array>
#include <string>
#include <vector>

#include "protocols/builtin.hpp"
#include "protocols/core/edit_distance.hpp"
#include "protocols/cuda_ipc/cuda_ipc.hpp"
#include "protocols/gpudirect_v2/gpudirect_v2.hpp"

namespace twinlink {

std::span<const Protocol* const> all_protocols() {
  static const std::array protocols{&gpudirect_v2_protocol(), &gpudirect_v3_protocol(), &symmetric_put_protocol(),
                                    &cuda_ipc_protocol(),     &gpudirect_v1_protocol(), &cuda_aware_protocol(),
                                    &staging_protocol(),      &host_protocol()};
  return protocols;
}

const Protocol& find_protocol(std::string_view name) {
  std::vector<std::string> names;
  for (const Protocol* protocol : all_protocols()) {
    if (protocol->name() == name) return *protocol;
    names.emplace_back(protocol->name());
  }
  std::string message = "unknown protocol '" + std::string(name) + "'";
  if (const std::string guess = closest(name, names); !guess.empty()) message += "; did you mean '" + guess + "'?";
  message += " (there are:";
  for (const std::string& known : names) message += " " + known;
  throw UsageError(message + ")");
}

}  // namespace twinlink
