// A survey: every protocol between two devices, simulated with many settings, each simulation in a process of its own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/engine/flows/platform_names.hpp"
#include "model/study/advice.hpp"
#include "platforms/machine/platform.hpp"
#include "protocols/bench/cli/progress.hpp"
#include "protocols/bench/cli/settings_options.hpp"
#include "protocols/bench/results/results.hpp"
#include "protocols/core/path.hpp"
#include "protocols/core/protocol.hpp"

namespace twinlink::model {

/// What is simulated, and how.
struct SurveyPlan {
  std::vector<Place> places{};  ///< two different ones
  bench::Pattern pattern = bench::Pattern::pingpong;
  int window = 1;              ///< messages of one exchange
  std::vector<Bytes> sizes{};  ///< ascending
  std::string library{};       ///< of the machine: protocols begin with its preset, where they have it
  int at_once = 1;             ///< simulations at a time
  /// Which tunings of a protocol are tried around these settings.
  std::function<SearchSpace(const Protocol&, const Settings&)> space{};
  /// Are presets tried that differ from the defaults or from each other in chunk and depth alone?
  bool all_presets = false;
  /// Is every choice that a protocol's options offer tried, those together that change a time alone?
  bool all_choices = false;
  std::vector<std::string> protocols{};  ///< only these; empty: all
  bool references = false;               ///< are protocols for host memory simulated too?
  /// Are settings left out that cannot win, as far as the first ones show it? False: every one is simulated.
  bool prunes = true;
  bench::NamedValues options{};     ///< set in all tunings; every protocol of the survey has them
  bench::OnProgress on_progress{};  ///< told of simulations
};

/// A protocol that takes no part, or a remark on one that does.
struct Remark {
  std::string who{};
  std::string text{};
};

struct Survey {
  /// Protocols for device memory that run on the path, in the registry's order; the presets of one follow it.
  std::vector<Contestant> contestants{};
  std::vector<Contestant> references{};  ///< protocols for host memory: no choice for device messages
  std::vector<Remark> left_out{};        ///< refused, or not delivered: why
  std::vector<Remark> remarks{};         ///< a fallback that takes part, settings left out, options not tried
};

/// Simulates warm messages with the protocols of the registry and their presets. A tuning that a protocol refuses is
/// left out, and so is one whose message is not delivered in time; who has none that is left is no contestant. A wrong
/// payload is a CheckError, as in every measurement.
Survey make_survey(const Platform& platform, const SurveyPlan& plan);

/// Simulates `tunings` at their missing sizes too, and adds the times to their contestants.
void simulate_missing(std::vector<Contestant>& contestants, const std::vector<SingleTuning>& tunings,
                      const Platform& platform, const SurveyPlan& plan);

/// May its users set "chunk", "depth" or an option? A protocol that does collectives is what a library does, and that
/// has its own names for all that it lets be set.
bool may_set(const Protocol& protocol, std::string_view what);
/// The choices of an option besides its default: of a limit, no message and every one up to `largest`. None where it is
/// a count, or what users may not set.
std::vector<std::string> other_choices(const Protocol& protocol, const Option& option, Bytes largest);

/// A core for each simulation.
int cores();

}  // namespace twinlink::model
