#include "protocols/bench/cli/options.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/measure/ends.hpp"
#include "protocols/bench/measure/one_process.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/output_files.hpp"
#include "protocols/bench/results/rounds.hpp"
#include "protocols/registry.hpp"

namespace twinlink::bench {
namespace {

void add_sweep_options(CLI::App& app, SweepOptions& options) {
  constexpr int kMostRounds = 10'000'000;
  add_size_options(app, options);
  const OptionGroup group(app, "Rounds");
  add_count_option(app, "-x,--warmup", 0, kMostRounds, "by size and pattern",
                   "Rounds of each size that are not counted, at least; more while a connection is set up",
                   [&](int rounds) { options.warmup = rounds; });
  add_count_option(app, "-i,--iterations", 1, kMostRounds, "by size, pattern and time", "Counted rounds of each size",
                   [&](int rounds) { options.iterations = rounds; });
  add_read_option(app, "--timeout", "TIME", format_seconds(options.timeout),
                  "The longest that one exchange may take; with unit: 500ms, 30s", [&options](const std::string& text) {
                    const Seconds timeout = parse_seconds(text);
                    if (!(timeout > Seconds{})) throw UsageError(fmt::format("'{}' is not longer than zero", text));
                    options.timeout = timeout;
                  });
  app.add_flag("--no-verify", options.no_verify, "Do not compare the payloads byte for byte");
}

/// What the user, or nobody, has chosen as the chunk: the beginning of a sentence about it.
std::string_view whose_chunk(const SettingsOptions& options, const Protocol& protocol, const Settings& settings) {
  if (options.chunk) return "--chunk";
  const std::string preset = preset_of(protocol, options);
  if (settings.chunk != make_settings(protocol, {.preset = preset}).chunk) return "--option's chunk of";
  return preset.empty() ? "the protocol's chunk of" : "the preset's chunk of";
}

Repeats with_wishes(Repeats repeats, const SweepOptions& wishes) {
  return {wishes.warmup.value_or(repeats.warmup), wishes.iterations.value_or(repeats.iterations)};
}

/// Who asks for a number of rounds gets it.
Seconds budget_of(const SweepOptions& wishes, const DefaultRepeats& defaults) {
  return wishes.iterations ? Seconds{} : defaults.budget;
}

DefaultRepeats everywhere(const Repeats& repeats) {
  return {.latency_small = repeats, .latency_large = repeats, .bandwidth_small = repeats, .bandwidth_large = repeats};
}

/// A message's blocks are limited by its layout; all of a window are there at once. To compare the payload takes calls
/// for each block and each gap.
void require_few_blocks(const Layout& layout, Bytes largest, int window, bool verify) {
  constexpr std::size_t kMostVerified = 32'768;
  constexpr std::size_t kMostOfWindow = 262'144;
  if (layout.contiguous()) return;
  const std::size_t blocks = layout.blocks(largest).size() * static_cast<std::size_t>(window);
  const std::size_t most = verify ? kMostVerified : kMostOfWindow;
  if (blocks <= most) return;
  throw UsageError(fmt::format("--layout {} gives a window of {} messages of {} more than {} blocks{}",
                               describe(layout), window, format_size(largest), most,
                               verify && blocks <= kMostOfWindow ? "; --no-verify takes them" : ""));
}

}  // namespace

CLI::Option* add_read_option(CLI::App& app, const std::string& name, const std::string& type,
                             const std::string& shown_default, const std::string& description,
                             std::function<void(const std::string&)> read) {
  const auto convert = [name, read = std::move(read)](const std::string& text) {
    try {
      read(text);
    } catch (const UsageError& error) {
      throw CLI::ValidationError(name, error.what());
    }
  };
  CLI::Option* option = app.add_option_function<std::string>(name, convert, description)->type_name(type);
  return shown_default.empty() ? option : option->default_str(shown_default);
}

CLI::Option* add_size_option(CLI::App& app, const std::string& name, Bytes& value, const std::string& description) {
  return add_read_option(app, name, "SIZE", format_size(value), description,
                         [&value](const std::string& text) { value = parse_size(text); });
}

CLI::Option* add_count_option(CLI::App& app, const std::string& name, int least, int most,
                              const std::string& shown_default, const std::string& description,
                              std::function<void(int)> take) {
  return add_read_option(app, name, fmt::format("N:{}..{}", least, most), shown_default, description,
                         [least, most, take = std::move(take)](const std::string& text) {
                           int number = 0;
                           const char* const end = text.data() + text.size();
                           const auto [stop, error] = std::from_chars(text.data(), end, number);
                           if (error != std::errc{} || stop != end || number < least || number > most) {
                             throw UsageError(fmt::format("'{}' is no whole number from {} to {}", text, least, most));
                           }
                           take(number);
                         });
}

CLI::Option* add_protocol_option(CLI::App& app, std::string& protocol, const std::string& description) {
  std::string names;
  for (const Protocol* each : all_protocols()) names += (names.empty() ? "" : ", ") + std::string(each->name());
  return add_read_option(app, "-p,--protocol", "NAME", protocol, description + ": " + names,
                         [&protocol](const std::string& text) { protocol = find_protocol(text).name(); });
}

void add_size_options(CLI::App& app, SweepOptions& options) {
  constexpr int kLargestFactor = 1 << 20;
  const OptionGroup group(app, "Sizes and pattern");
  add_size_option(app, "-b,--begin", options.begin, "Smallest message; K, M, G are binary");
  add_size_option(app, "-e,--end", options.end, "Largest message");
  add_count_option(app, "-f,--factor", 2, kLargestFactor, std::to_string(options.factor),
                   "Each size is this many times the one before", [&](int factor) { options.factor = factor; });
}

void add_pattern_options(CLI::App& app, Pattern& pattern, std::optional<int>& window) {
  const OptionGroup group(app, "Sizes and pattern");
  add_read_option(
      app, "--pattern", "NAME", std::string(to_string(pattern)),
      "What is measured: pingpong (time there and back, halved), bandwidth, bidirectional",
      [&pattern](const std::string& text) {
        const Pattern wanted = find_pattern(text);
        if (wanted == Pattern::copy) {
          throw UsageError("the pattern 'copy' has no peer; pingpong, bandwidth and bidirectional have one");
        }
        pattern = wanted;
      });
  add_count_option(app, "-W,--window", 1, kMaxWindow, std::to_string(kDefaultWindow),
                   "Messages that bandwidth and bidirectional send at once", [&](int messages) { window = messages; });
}

int window_of(Pattern pattern, std::optional<int> wanted) {
  if (pattern != Pattern::pingpong) return wanted.value_or(kDefaultWindow);
  if (!wanted) return 1;
  throw UsageError(
      fmt::format("--window {} has no effect: pingpong sends one message at a time; bandwidth and "
                  "bidirectional (--pattern) send windows",
                  *wanted));
}

void require_few_pieces(Bytes largest, int window, Bytes chunk, std::string_view whose) {
  constexpr std::uint64_t kMostOfMessage = 65536;
  constexpr std::uint64_t kMostOfWindow = 1U << 20U;
  const std::uint64_t messages{static_cast<std::uint64_t>(window)};
  const bool by_window = kMostOfWindow / messages < kMostOfMessage;
  const std::uint64_t most = by_window ? kMostOfWindow / messages : kMostOfMessage;
  const Bytes smallest{(largest.count() + most - 1) / most};
  if (chunk == Bytes{} || chunk >= smallest) return;
  throw UsageError(fmt::format(
      "{} {} cuts a {} into more than {} pieces: at least {} is needed{}", whose, format_size(chunk),
      by_window ? fmt::format("window of {} messages of {}", window, format_size(largest))
                : fmt::format("message of {}", format_size(largest)),
      by_window ? kMostOfWindow : kMostOfMessage, format_size(smallest), by_window ? ", or a smaller window" : ""));
}

std::size_t parts_of(const Protocol& protocol, const Settings& settings, const Packing& packing, Bytes size) {
  const std::uint64_t chunk = protocol.cuts_messages(settings) ? settings.chunk_or_whole().count() : 0;
  const std::uint64_t pieces = chunk == 0 ? 1 : (size.count() + chunk - 1) / chunk;
  return std::max<std::size_t>(pieces, packing.layout.contiguous() ? 1 : packing.layout.blocks(size).size());
}

void require_readable(const Protocol& protocol, const Settings& settings, const Packing& packing, Bytes size) {
  const std::size_t parts = parts_of(protocol, settings, packing, size);
  if (parts <= kMostShown) return;
  throw UsageError(
      fmt::format("a message of {} has {} parts, and nobody could read the steps of more than {}: "
                  "larger chunks or blocks, or a smaller size",
                  format_size(size), parts, kMostShown));
}

namespace {

/// Where messages lie, what is done between them, and by how many processes.
void add_message_options(CLI::App& app, RunOptions& options) {
  const OptionGroup group(app, "Sizes and pattern");
  add_read_option(app, "--ends", "FIRST,SECOND", "where the protocol takes its messages",
                  "Where the messages of the two devices lie, each device, host (pageable) or pinned: such as "
                  "device,host. An end in host memory is not copied, and its library sees that by the pointer",
                  [&options](const std::string& text) { options.ends = parse_ends(text); });
  add_read_option(
      app, "--compute", "TIME", "nothing",
      "A GPU that has received a message, or a window, computes so long before its rank goes on, with unit: "
      "20us. Times leave it out, but not the kernel's launch and end",
      [&options](const std::string& text) {
        options.compute = parse_seconds(text);
        if (options.compute > Seconds{}) return;
        throw UsageError(fmt::format("'{}' is not longer than zero", text));
      });
  app.add_flag("--one-process", options.one_process,
               "One process drives both GPUs: cudaMemcpyPeerAsync alone, without MPI, handles and handshake; needs "
               "-p gpudirect-v2. The second device's own rank only waits");
  add_count_option(app, "--buffers", 1, kMaxBuffers, "1",
                   "So many buffers at each end take turns, round by round: with more than a cache of handles or "
                   "registrations keeps, each message opens or registers its buffer again; cuda-ipc keeps all unless "
                   "-o cache=COUNT says how many",
                   [&options](int buffers) { options.buffers = buffers; });
}

}  // namespace

void add_run_options(CLI::App& app, RunOptions& options) {
  {
    const OptionGroup group(app, "Protocol");
    add_protocol_option(app, options.protocol, "How messages travel");
    add_settings_options(app, options.settings);
    add_layout_options(app, options.layout);
  }
  add_pattern_options(app, options.pattern, options.window);
  add_message_options(app, options);
  add_sweep_options(app, options.sweep);
  add_output_options(app, options.output,
                     {{"table", Format::table}, {"osu", Format::osu}, {"csv", Format::csv}, {"json", Format::json}});
  const OptionGroup outputs(app, "Output");
  CLI::Option* trace = app.add_option("--trace", options.trace,
                                      "Also write to this file what both ranks do for a first and a warm message of "
                                      "the smallest size, step by step, in the same words in every world")
                           ->type_name("FILE");
  app.add_flag("--trace-times", options.trace_times, "Begin the lines of the trace with their times")->needs(trace);
  const OptionGroup pairs(app, "Several pairs");
  app.add_flag(
         "--all-pairs", options.all_pairs,
         "Every two ranks in turn, each way: a matrix with its outliers marked, a result for each pair in the files")
      ->excludes(trace, app.get_option("--one-process"));
}

void add_passes_option(CLI::App& app, int& passes) {
  const OptionGroup group(app, "Rounds");
  constexpr int kMostPasses = 1000;
  add_count_option(
      app, "--passes", 1, kMostPasses, std::to_string(passes),
      fmt::format("Measure all so many times over. A pass whose median is more than 10 % above the quickest "
                  "one's does not count: what others do on the host may stay for minutes. A point is marked "
                  "as unstable (~) if {}",
                  kUnstableMeans),
      [&passes](int number) { passes = number; });
}

void add_probe_options(CLI::App& app, ProbeOptions& options) {
  app.add_option("--only", options.only, "Measure only what has this text in its name, such as 'peer copy'")
      ->type_name("TEXT")
      ->group("Sizes and pattern");
  add_sweep_options(app, options.sweep);
  add_output_options(app, options.output, {{"table", Format::table}, {"csv", Format::csv}, {"json", Format::json}},
                     "primitive of a GPU at a size");
}

DefaultRepeats measured_repeats() {
  // A tenth of the OSU benchmarks' rounds for latency, for a median needs no more; more than theirs for bandwidth, for
  // a hundred windows of small messages are over in a few milliseconds, which say little about the next ones.
  return {.latency_small = {.warmup = 100, .iterations = 1000},
          .latency_large = {.warmup = 10, .iterations = 100},
          .bandwidth_small = {.warmup = 10, .iterations = 1000},
          .bandwidth_large = {.warmup = 2, .iterations = 100},
          .budget = Seconds{2.0}};
}

DefaultRepeats simulated_repeats() { return everywhere({.warmup = 1, .iterations = 2}); }

DefaultRepeats simulated_repeats_at_once() { return everywhere({.warmup = 2, .iterations = 20}); }

void require_writable(const RunOptions& options) {
  require_writable(options.output);
  if (options.pairs.size() > 1 && is_special(options.output.json)) {
    throw UsageError(
        fmt::format("--json {}: several pairs have a file each, and this is none; --format json prints all",
                    options.output.json.string()));
  }
  require_output("--trace", options.trace);
  for (std::size_t pair = 1; pair < options.pairs.size() && !options.output.json.empty(); ++pair) {
    require_output("--json", file_of_pair(options.output.json, pair));
  }
}

Plan make_plan(const RunOptions& options, const DefaultRepeats& defaults) {
  if (options.all_pairs && options.output.format == Format::osu) throw UsageError("a matrix of pairs has no OSU form");
  const bool latency = options.pattern == Pattern::pingpong;
  const SweepOptions& sweep = options.sweep;
  const Protocol& protocol = options.stand_in != nullptr ? *options.stand_in : find_protocol(options.protocol);
  Settings settings = make_settings(protocol, options.settings);
  settings.timeout = sweep.timeout;
  std::vector<Bytes> sizes = size_sweep(sweep.begin, sweep.end, sweep.factor);
  const int window = window_of(options.pattern, options.window);
  if (protocol.cuts_messages(settings)) {
    require_few_pieces(sizes.back(), window, settings.chunk_or_whole(),
                       whose_chunk(options.settings, protocol, settings));
  }
  Packing packing = make_packing(options.layout);
  for (const Bytes size : sizes) check_packing(packing, size);
  require_few_blocks(packing.layout, sizes.back(), window, !sweep.no_verify);
  Plan plan{.pattern = options.pattern,
            .sizes = std::move(sizes),
            .window = window,
            .small = with_wishes(latency ? defaults.latency_small : defaults.bandwidth_small, sweep),
            .large = with_wishes(latency ? defaults.latency_large : defaults.bandwidth_large, sweep),
            .budget = budget_of(sweep, defaults),
            .passes = options.passes,
            .verify = !sweep.no_verify,
            .settings = std::move(settings),
            .preset = preset_of(protocol, options.settings),
            .facts = {.packing = std::move(packing),
                      .ends = options.ends,
                      .compute = options.compute,
                      .one_process = options.one_process,
                      .buffers = options.buffers}};
  check_ends(protocol, plan);
  if (plan.facts.one_process) check_one_process(protocol, plan);
  return plan;
}

ProbePlan make_plan(const ProbeOptions& options, const DefaultRepeats& defaults) {
  const SweepOptions& sweep = options.sweep;
  return {.sizes = size_sweep(sweep.begin, sweep.end, sweep.factor),
          // As many as of curves. A machine has hundreds of probes of large sizes, where bandwidth's rounds are enough.
          .small = with_wishes(defaults.latency_small, sweep),
          .large = with_wishes(defaults.bandwidth_large, sweep),
          .budget = budget_of(sweep, defaults),
          .passes = options.passes,
          .verify = !sweep.no_verify,
          .keep_samples = options.samples,
          .only = options.only,
          .timeout = sweep.timeout};
}

}  // namespace twinlink::bench
