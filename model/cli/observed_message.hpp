// One message of a protocol, simulated and watched: what each step did.
#pragma once

#include <string>
#include <vector>

#include "model/engine/flows/platform_names.hpp"
#include "model/study/watch/link_shares.hpp"
#include "platforms/machine/platform.hpp"
#include "protocols/bench/cli/layout_options.hpp"
#include "protocols/core/path.hpp"
#include "protocols/core/protocol.hpp"
#include "protocols/trace/op_report.hpp"

namespace twinlink::model {

struct ObservedMessage {
  std::vector<OpReport> reports{};  ///< in the order in which they began; times count from the start of the message
  std::string path_taken{};
  std::vector<std::string> idle{};  ///< SimulationOptions::idle_faults
  Seconds delivered{};
  std::vector<LinkShare> links{};  ///< that it crossed, as link_shares() has them
};

/// Sends messages of `size` from the first of two places to the second until they are warm, and tells of one more.
ObservedMessage observe_message(const Platform& platform, const std::vector<Place>& places, const Protocol& protocol,
                                const Settings& settings, const Packing& packing, Bytes size);

}  // namespace twinlink::model
