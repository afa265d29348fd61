// The command-line options that twinlink-sim and twinlink-real share, and what becomes of them.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocols/bench/cli/layout_options.hpp"
#include "protocols/bench/cli/output_options.hpp"
#include "protocols/bench/cli/pair_options.hpp"
#include "protocols/bench/cli/settings_options.hpp"
#include "protocols/bench/measure/driver.hpp"
#include "protocols/bench/measure/pairs.hpp"
#include "protocols/bench/probe/probe.hpp"
#include "protocols/bench/results/results.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace twinlink::bench {

/// The sizes and rounds of a sweep. Where the user said nothing, the program's own world decides.
struct SweepOptions {
  Bytes begin{};
  Bytes end{};
  int factor = 2;
  std::optional<int> warmup{};
  std::optional<int> iterations{};
  Seconds timeout{30.0};
  bool no_verify = false;
};

struct RunOptions {
  std::string protocol{};              ///< exists
  const Protocol* stand_in = nullptr;  ///< instead of it; null: that one. It outlives the plan
  Pattern pattern = Pattern::pingpong;
  std::optional<int> window{};  ///< empty: window_of() decides
  SettingsOptions settings{};
  LayoutOptions layout{};
  SweepOptions sweep{.begin = Bytes{4}, .end = Bytes{64U << 20U}};
  int passes = 1;
  OutputOptions output{};
  std::filesystem::path trace{};  ///< empty: not written
  bool trace_times = false;
  std::optional<Ends> ends{};  ///< empty: where the protocol takes its messages
  Seconds compute{};
  bool one_process = false;
  int buffers = 1;
  bool all_pairs = false;         ///< instead of one pair
  std::vector<PairWish> pairs{};  ///< at once; empty: one pair, as the program chooses it
};

struct ProbeOptions {
  SweepOptions sweep{.begin = Bytes{1}, .end = Bytes{64U << 20U}, .factor = 4};
  int passes = 1;
  bool samples = false;  ///< store every round's time
  std::string only{};    ///< measure only what has this in its name; empty: all
  OutputOptions output{};
};

/// How often a world repeats when the user does not say.
struct DefaultRepeats {
  Repeats latency_small{};
  Repeats latency_large{};
  Repeats bandwidth_small{};
  Repeats bandwidth_large{};
  Seconds budget{};  ///< as Plan::budget
};
/// For real clocks: as many as a stable median needs, cut to the budget.
DefaultRepeats measured_repeats();
/// For a simulated clock, which does not vary: one round to warm up, two to show it.
DefaultRepeats simulated_repeats();
/// The same for pairs at once: each round finds the others at another point of theirs, so rounds do vary.
DefaultRepeats simulated_repeats_at_once();

/// Adds the options to `app`. `options` must live until the command line has been parsed; its values are the defaults.
/// Wrong values are CLI::ValidationErrors that say what is allowed.
void add_run_options(CLI::App& app, RunOptions& options);
void add_probe_options(CLI::App& app, ProbeOptions& options);

/// Beside them for a real clock, where passes differ: --passes.
void add_passes_option(CLI::App& app, int& passes);

/// Parts of them, for commands of another kind: -p, whose names are put to `description`; -b, -e and -f; --pattern and
/// --window.
CLI::Option* add_protocol_option(CLI::App& app, std::string& protocol, const std::string& description);
void add_size_options(CLI::App& app, SweepOptions& options);
void add_pattern_options(CLI::App& app, Pattern& pattern, std::optional<int>& window);

/// How many messages one exchange of the pattern has: one for pingpong, else what was asked for, or the default. A
/// UsageError for a window that pingpong was given.
int window_of(Pattern pattern, std::optional<int> wanted);

/// A UsageError for a chunk that cuts a message of the largest size, or a window of them, into too many pieces: each
/// costs memory and time of its own, and a one-byte chunk would take the whole machine. `whose` begins its text:
/// "--chunk", "the protocol's chunk of".
void require_few_pieces(Bytes largest, int window, Bytes chunk, std::string_view whose = "--chunk");

/// Pieces or blocks of a message, whichever are more: what a page, a drawing or a list has to show.
std::size_t parts_of(const Protocol& protocol, const Settings& settings, const Packing& packing, Bytes size);

/// More nobody could read.
inline constexpr std::size_t kMostShown = 4096;

/// A UsageError for a message of more parts than that.
void require_readable(const Protocol& protocol, const Settings& settings, const Packing& packing, Bytes size);

/// A UsageError for a file that cannot be written, is an input, or is to hold two things: found at once, not after an
/// hour of measuring. For the rank that writes; the others may be on hosts without that folder.
void require_writable(const RunOptions& options);

/// A UsageError for options that contradict each other.
Plan make_plan(const RunOptions& options, const DefaultRepeats& defaults);
ProbePlan make_plan(const ProbeOptions& options, const DefaultRepeats& defaults);

/// For an option whose text `read` takes; what `read` refuses with a UsageError is a usage error of the command line.
CLI::Option* add_read_option(CLI::App& app, const std::string& name, const std::string& type,
                             const std::string& shown_default, const std::string& description,
                             std::function<void(const std::string&)> read);
/// For an option that takes a whole number from `least` to `most`.
CLI::Option* add_count_option(CLI::App& app, const std::string& name, int least, int most,
                              const std::string& shown_default, const std::string& description,
                              std::function<void(int)> take);
/// For an option that takes a size: "4", "256K", "64M".
CLI::Option* add_size_option(CLI::App& app, const std::string& name, Bytes& value, const std::string& description);

}  // namespace twinlink::bench
