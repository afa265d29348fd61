// One message of a protocol, simulated and watched, and what 'explain' says of it: the path, who may take it, and what
// every step costs.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

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
  std::vector<std::string> reasons{};  ///< Channel::reasons()
  std::vector<std::string> idle{};     ///< SimulationOptions::idle_faults
  Seconds delivered{};
  std::vector<LinkShare> links{};  ///< that it crossed, as link_shares() has them
};

/// Sends messages of `size` from the first of two places to the second until they are warm, and tells of one more.
ObservedMessage observe_message(const Platform& platform, const std::vector<Place>& places, const Protocol& protocol,
                                const Settings& settings, const Packing& packing, Bytes size);

/// What became of one protocol when one was chosen.
struct ProtocolVerdict {
  std::string protocol{};
  std::string text{};  ///< "chosen", "refused: ..."
};

/// What a CUDA-aware library would do, whose choice depends on the size too.
struct LibraryChoice {
  std::string library{};
  std::string protocol{};
  std::string reason{};
  std::string rules{};  ///< a line for each
};

/// One operation, or the copies of many blocks.
struct ExplainedStep {
  OpReport report{};
  std::size_t operations = 1;
};

struct Explanation {
  std::string platform{};
  std::vector<Place> places{};  ///< with the devices' models
  Bytes size{};
  Packing packing{};
  Path path{};
  std::string within_node{};  ///< how messages pass there; empty between nodes
  std::vector<ProtocolVerdict> verdicts{};
  std::vector<LibraryChoice> libraries{};
  std::string protocol{};
  Settings settings{};
  std::string path_taken{};
  std::vector<std::string> reasons{};
  std::vector<ExplainedStep> steps{};
  Seconds delivered{};  ///< all times count from the start of the message
  /// Half of a round trip, which 'run' measures: the way back may be another one, and there a receiver gets ready only
  /// after its own message. Zero: not known.
  Seconds half_round_trip{};
  std::vector<LinkShare> links{};  ///< that the message crossed
};

/// Copies of the blocks of one message follow each other on their rank: one step for all of them.
std::vector<ExplainedStep> steps_of(const std::vector<OpReport>& reports);

/// What is known before the message is simulated.
void print_choice(const Explanation& all, std::ostream& out);
void print_steps(const Explanation& all, std::ostream& out);
/// Times in microseconds.
nlohmann::json to_json(const Explanation& all);

}  // namespace twinlink::model
