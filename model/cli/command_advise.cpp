#include <algorithm>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "model/cli/question.hpp"
#include "model/study/advice_report.hpp"
#include "model/study/idle_options.hpp"
#include "model/study/jobs/job_advice.hpp"
#include "model/study/jobs/library_settings.hpp"
#include "model/study/jobs/mpi_rules.hpp"
#include "model/study/jobs/tuner_rules.hpp"
#include "model/study/survey.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/progress.hpp"
#include "protocols/bench/cli/settings_options.hpp"
#include "protocols/bench/measure/driver.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/output_files.hpp"
#include "protocols/core/options.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

struct AdviseOptions {
  Question question{};
  std::vector<std::string> protocols{};  ///< empty: all
  bench::NamedValues options{};
  bench::SweepOptions sweep{.begin = Bytes{4}, .end = Bytes{64U << 20U}};
  std::vector<std::string> chunks{};  ///< empty: the default search's
  std::vector<int> depths{};          ///< likewise
  bench::OutputOptions output{};
  std::filesystem::path settings{};  ///< for `library`; empty: none are asked for
  std::string library{};
};

struct WorkloadAdvice {
  bool any_place = false;
  std::filesystem::path rules{};  ///< for a library; empty: none are asked for
  std::string library = "nccl-tuner";
};

void require_two_devices(const std::vector<Place>& places) {
  if (places[0] != places[1]) return;
  throw UsageError(fmt::format("--from and --to are both {}: a comparison needs two devices", to_string(places[0])));
}

std::vector<Bytes> read_chunks(const std::vector<std::string>& texts, Bytes largest, int window) {
  std::vector<Bytes> chunks;
  for (const std::string& text : texts) {
    const Bytes chunk = parse_size(text);
    if (chunk > largest) {
      throw UsageError(fmt::format("--chunk {} is larger than the largest message, {} (-e); 0 is the whole message",
                                   format_size(chunk), format_size(largest)));
    }
    bench::require_few_pieces(largest, window, chunk);
    chunks.push_back(chunk);
  }
  return chunks;
}

/// The default search, or what the user asks for in its place.
SearchSpace space_for(const Protocol& protocol, const Settings& base, Bytes largest, const std::vector<Bytes>& chunks,
                      const std::vector<int>& depths) {
  SearchSpace space = default_search(largest, {base.chunk, base.depth});
  if (!may_set(protocol, "chunk")) space.chunks = {base.chunk};
  if (!may_set(protocol, "depth")) space.depths = {base.depth};
  if (!chunks.empty()) {
    space.chunks.assign(chunks.begin(), chunks.end());
    space.most_pieces = UINT64_MAX;
  }
  if (!depths.empty()) {
    space.depths.assign(depths.begin(), depths.end());
    space.own_depth.reset();
  }
  return space;
}

/// A single tuning is simulated at every size, so it may not cut an exchange of the largest into more pieces than this:
/// a second or two.
constexpr std::uint64_t kMostPiecesOfASingle = 8192;

/// The single tunings of all contestants, in our words and in those of libraries.
struct Singles {
  std::vector<SingleTuning> ours{};
  std::vector<LibraryAdvice> libraries{};

  [[nodiscard]] std::vector<SingleTuning> incomplete() const {
    std::vector<SingleTuning> found;
    const auto take = [&](const SingleTuning& single) {
      if (!single.missing.empty()) found.push_back(single);
    };
    std::ranges::for_each(ours, take);
    for (const LibraryAdvice& library : libraries) take(library.tuning);
    return found;
  }
};

Singles best_singles(const std::vector<Contestant>& contestants, Bytes finest_chunk) {
  Singles singles;
  for (const Contestant& contestant : contestants) {
    if (auto single = best_single_tuning(contestant, {.finest_chunk = finest_chunk})) {
      singles.ours.push_back(std::move(*single));
    }
    if (contestant.who.preset.empty()) continue;
    const Protocol& protocol = find_protocol(contestant.who.protocol);
    const Preset& preset = find_preset(protocol, contestant.who.preset);
    if (auto advice = advice_in_aliases(protocol.aliases(), preset, contestant, finest_chunk)) {
      singles.libraries.push_back(std::move(*advice));
    }
  }
  return singles;
}

/// Chosen by extrapolation, then simulated, until those that are chosen have been simulated at all sizes. What has not
/// come to that after a few rounds is left out: no figure is shown that was not simulated.
Singles simulated_singles(std::vector<Contestant>& contestants, const Platform& platform, const SurveyPlan& plan) {
  constexpr int kMostRounds = 4;
  const std::uint64_t bytes = plan.sizes.back().count() * static_cast<std::uint64_t>(plan.window);
  const Bytes finest_chunk{bytes / kMostPiecesOfASingle};
  Singles singles = best_singles(contestants, finest_chunk);
  for (int round = 0; round < kMostRounds && !singles.incomplete().empty(); ++round) {
    simulate_missing(contestants, singles.incomplete(), platform, plan);
    singles = best_singles(contestants, finest_chunk);
  }
  std::erase_if(singles.ours, [](const SingleTuning& single) { return !single.missing.empty(); });
  std::erase_if(singles.libraries, [](const LibraryAdvice& library) { return !library.tuning.missing.empty(); });
  return singles;
}

AdviceReport make_report(const Platform& platform, const SurveyPlan& plan, Survey survey, Ranks ranks) {
  if (survey.contestants.empty()) {
    std::string reasons;
    for (const Remark& remark : survey.left_out) reasons += fmt::format("\n  {}: {}", remark.who, remark.text);
    throw UnavailableError("no protocol can move device memory between these two:" + reasons);
  }
  AdviceReport report{.program = program_name(),
                      .platform = platform.name,
                      .pattern = plan.pattern,
                      .window = plan.window,
                      .from = plan.places[0],
                      .to = plan.places[1]};
  const Topology topology(platform);
  for (Place* place : {&report.from, &report.to}) place->device = topology.type_of(topology.gpu_of(*place)).model;
  report.advice = make_advice(survey.contestants, ranks);
  report.survey = std::move(survey);
  return report;
}

void deliver(const AdviceReport& report, const bench::OutputOptions& options,
             void (*print)(const AdviceReport&, std::ostream&)) {
  switch (options.format) {
    case bench::Format::csv:
      std::cout << to_csv(report);
      break;
    case bench::Format::json:
      std::cout << bench::to_text(to_json(report), 2) << '\n';
      break;
    default:
      print(report, std::cout);
  }
  if (!options.json.empty()) bench::write_json_file(options.json, to_json(report));
  if (!options.csv.empty()) bench::write_file(options.csv, to_csv(report));
}

/// Settings of a library, in the place of advice.
ExitCode emit_settings(const Platform& platform, const AdviseOptions& options, const std::string& command_line) {
  bench::require_output("--emit", options.settings);
  const bench::OutputOptions& output = options.output;
  if (!output.json.empty() || !output.csv.empty() || output.format != bench::Format::table) {
    throw UsageError("--emit writes settings alone, no table, --json or --csv");
  }
  if (!options.protocols.empty() || !options.chunks.empty() || !options.depths.empty()) {
    throw UsageError("--emit tries the library's own settings: no -p, --chunk and --depth");
  }
  const Question& question = options.question;
  bench::Progress progress("simulations", bench::ProgressView::standard_error(wall_clock));
  const SettingsSearch search{.library = options.library,
                              .places = read_pair(question.pair, platform),
                              .sizes = bench::size_sweep(options.sweep.begin, options.sweep.end, options.sweep.factor),
                              .pattern = question.pattern,
                              .window = bench::window_of(question.pattern, question.window),
                              .at_once = question.at_once,
                              .on_progress = progress.listener()};
  require_two_devices(search.places);
  note_idle_faults(platform, search.places);
  note_all(idle_within_node(question.platform.within_node, platform, search.places));
  const LibrarySettings settings = library_settings(platform, search);
  progress.clear();
  std::string command = command_line;
  std::ranges::replace(command, '\n', ' ');  // within a comment a line ends it
  bench::write_file(options.settings, to_text(settings, search, platform.name, command));
  const std::size_t lines = settings.lines.size();
  std::cout << fmt::format("{}: {} for {}, of {} that change times from {} to {}\n", options.settings.string(),
                           lines == 0 ? "no setting, for none gains more than the model errs"
                                      : fmt::format("{} setting{}", lines, lines == 1 ? "" : "s"),
                           settings.preset, settings.tried.size(), to_string(search.places[0]),
                           to_string(search.places[1]));
  return ExitCode::ok;
}

ExitCode advise(AdviseOptions options, const std::string& command_line) {
  const Question& question = options.question;
  const Platform platform = read_platform(question.platform);
  if (!options.settings.empty()) return emit_settings(platform, options, command_line);
  SurveyPlan plan{.places = read_pair(question.pair, platform),
                  .pattern = question.pattern,
                  .window = bench::window_of(question.pattern, question.window),
                  .sizes = bench::size_sweep(options.sweep.begin, options.sweep.end, options.sweep.factor),
                  .library = platform.library,
                  .at_once = question.at_once,
                  .all_choices = true,
                  .protocols = options.protocols,
                  .options = options.options};
  for (const std::string& name : plan.protocols) {  // refuses what there is not
    static_cast<void>(bench::make_settings(find_protocol(name), {.options = plan.options}));
  }
  require_two_devices(plan.places);
  note_idle_faults(platform, plan.places);
  note_all(idle_within_node(question.platform.within_node, platform, plan.places));
  require_writable(options.output);
  const Bytes largest = plan.sizes.back();
  const std::vector<Bytes> chunks = read_chunks(options.chunks, largest, plan.window);
  std::ranges::sort(options.depths);
  plan.space = [&](const Protocol& protocol, const Settings& base) {
    return space_for(protocol, base, largest, chunks, options.depths);
  };
  bench::Progress progress("simulations", bench::ProgressView::standard_error(wall_clock));
  plan.on_progress = progress.listener();
  Survey survey = make_survey(platform, plan);
  Singles singles = simulated_singles(survey.contestants, platform, plan);
  progress.clear();
  AdviceReport report = make_report(platform, plan, std::move(survey), Ranks::protocols);
  report.command = command_line;
  report.environment = environment_of(platform, question.platform);
  report.singles = std::move(singles.ours);
  std::erase_if(report.singles, [&](const SingleTuning& single) {  // other choices are of interest where they win
    const auto is_ranked = [&](const SizeAdvice& at_size) {
      return std::ranges::find(at_size.ranking, single.who, &Choice::who) != at_size.ranking.end();
    };
    return !single.who.options.empty() && std::ranges::none_of(report.advice.sizes, is_ranked);
  });
  report.libraries = std::move(singles.libraries);
  deliver(report, options.output, print_advice);
  return ExitCode::ok;
}

/// Rules for a library, in the place of advice.
ExitCode emit_rules(const JobSearch& search, const WorkloadAdvice& wished, const std::string& command_line) {
  const std::filesystem::path& file = wished.rules;
  if (wished.library == "openmpi") {
    const MpiRules rules = mpi_rules(search);
    std::string command = command_line;
    std::ranges::replace(command, '\n', ' ');  // within a comment a line ends it
    bench::write_file(file, to_text(rules, file.string(), command));
    const auto count = std::ranges::count_if(rules.rules, [](const MpiRule& rule) { return rule.algorithm != 0; });
    std::cout << fmt::format(
        "{}: {} for {} of {} ranks, of {} sizes that were tried\n", file.string(),
        count == 0 ? "no rule, for nothing beats all others" : fmt::format("{} rule{}", count, count == 1 ? "" : "s"),
        rules.collective, rules.ranks, rules.sizes);
    return ExitCode::ok;
  }
  const TunerRules rules = tuner_rules(search);
  bench::write_file(file, to_csv(rules, command_line));
  std::cout << fmt::format("{}: {} for {} of {} ranks on {} {}, of {} {} that were tried\n", file.string(),
                           rules.rules.empty()
                               ? "no rule, for NCCL's own choice is as good"
                               : fmt::format("{} rule{}", rules.rules.size(), rules.rules.size() == 1 ? "" : "s"),
                           rules.collective, rules.ranks, rules.nodes, rules.nodes == 1 ? "node" : "nodes", rules.sizes,
                           rules.sizes == 1 ? "size" : "sizes");
  return ExitCode::ok;
}

ExitCode advise_of_workload(Question question, const WorkloadAdvice& wished, const std::string& command_line) {
  const bench::WorkloadOptions& workload = question.job.workload;
  const bool any_within = workload.protocol.empty();
  const bool any_between = any_within && workload.between.empty() && workload.between_domains.empty();
  bench::require_output("--emit", wished.rules);
  if (!wished.rules.empty() && !(workload.json.empty() && workload.csv.empty())) {
    throw UsageError("--emit writes rules alone, no --json and no --csv");
  }
  if (workload.algorithm == "all") throw UsageError("--algorithm all: advise tries all where none is named");
  const Platform platform = prepare(question);
  bench::Progress progress("simulations", bench::ProgressView::standard_error(wall_clock));
  const JobSearch search{.platform = &platform,
                         .job = question.job,
                         .any_place = wished.any_place,
                         .any_within = any_within,
                         .any_between = any_between,
                         .any_chunk = !workload.settings.chunk,
                         .any_depth = !workload.settings.depth,
                         .at_once = question.at_once,
                         .on_progress = progress.listener()};
  if (!wished.rules.empty()) {
    const ExitCode code = emit_rules(search, wished, command_line);
    progress.clear();
    return code;
  }
  const JobAdvice advice = advise_job(search);
  progress.clear();
  print_job_advice(advice, search, std::cout);
  if (!workload.json.empty()) {
    nlohmann::json json = to_json(advice, search);
    json["program"] = program_name();
    json["command"] = command_line;
    json["environment"] = environment_of(platform, question.platform);
    bench::write_json_file(workload.json, json);
  }
  if (!workload.csv.empty()) bench::write_file(workload.csv, to_csv(advice, search));
  return ExitCode::ok;
}

}  // namespace

ExitCode compare_protocols(const PlatformOptions& from, const PairOptions& pair, Bytes size,
                           const bench::OutputOptions& output, const std::string& command_line) {
  const Platform platform = read_platform(from);
  const auto as_they_are = [](const Protocol&, const Settings& base) {
    return SearchSpace{.chunks = {base.chunk}, .depths = {base.depth}, .most_pieces = UINT64_MAX};
  };
  const SurveyPlan plan{.places = read_pair(pair, platform),
                        .sizes = {size},
                        .library = platform.library,
                        .at_once = cores(),
                        .space = as_they_are,
                        .all_presets = true,
                        .references = true};
  if (size == Bytes{}) throw UsageError("--size: the smallest message that can be compared is 1 B");
  require_two_devices(plan.places);
  note_idle_faults(platform, plan.places);
  note_all(idle_within_node(from.within_node, platform, plan.places));
  require_writable(output);
  AdviceReport report = make_report(platform, plan, make_survey(platform, plan), Ranks::variants);
  report.command = command_line;
  report.environment = environment_of(platform, from);
  deliver(report, output, print_comparison);
  return ExitCode::ok;
}

namespace {

void add_search_options(CLI::App& command, AdviseOptions& options) {
  add_platform_options(command, options.question.platform);
  add_pair_options(command, options.question.pair);
  const bench::OptionGroup group(command, "Search");
  const std::string protocol_option = "-p,--protocol";
  const auto take_protocols = [&options, protocol_option](const std::vector<std::string>& names) {
    try {
      options.protocols.clear();
      for (const std::string& name : names) options.protocols.emplace_back(find_protocol(name).name());
    } catch (const UsageError& error) {
      throw CLI::ValidationError(protocol_option, error.what());
    }
  };
  auto* const protocols =
      command.add_option_function<std::vector<std::string>>(protocol_option, take_protocols, "Compare only these")
          ->delimiter(',')
          ->type_name("NAME,...")
          ->default_str("all");
  bench::add_pattern_options(command, options.question.pattern, options.question.window);
  bench::add_size_options(command, options.sweep);
  command.add_option("--chunk", options.chunks, "Try these chunks, as 64K,256K; 0 is the whole message")
      ->delimiter(',')
      ->type_name("SIZE,...")
      ->default_str("0 and powers of two from 4K");
  command.add_option("--depth", options.depths, "Try these depths")
      ->delimiter(',')
      ->check(CLI::Range(1, kMaxDepth))
      ->type_name("N,...")
      ->default_str("1,2,4,8,16");
  bench::add_named_values(command, options.options, "Set an option of all protocols that -p names; may be repeated");
  command.get_option("--option")->needs(protocols);
  add_at_once_option(command, options.question.at_once);
  bench::add_output_options(
      command, options.output,
      {{"table", bench::Format::table}, {"csv", bench::Format::csv}, {"json", bench::Format::json}},
      "protocol at a size");
  auto* const emit = command.add_option("--emit", options.settings, "Write settings for the library of --for instead")
                         ->type_name("FILE")
                         ->group("Output");
  auto* const library = command.add_option("--for", options.library, "ucx: ucx.conf; mvapich2: its environment")
                            ->check(CLI::IsMember({"ucx", "mvapich2"}))
                            ->group("Output");
  emit->needs(library);
  library->needs(emit);
  bench::add_examples(command, {"twinlink-sim advise --platform keeneland-kids --from 0/0 --to 1/0",
                                "twinlink-sim advise --platform h200-nvlink -p gpudirect-v1,staging -b 64K -e 4M",
                                "twinlink-sim advise workload all-reduce --platform selene --ranks 16 -b 64M"});
}

void add_search_of_workload_options(CLI::App& command, Question& question, WorkloadAdvice& advice) {
  add_platform_options(command, question.platform, Naming::by_option);
  add_job_question(command, question);
  command.get_option("--place")->default_str("packed and spread are tried");
  command.get_option("--protocol")->default_str("those that suit all pairs are tried");
  command.get_option("--chunk")->default_str("whole messages and powers of two from 4K are tried");
  command.get_option("--depth")->default_str("1,2,4,8,16 are tried");
  command
      .add_option("--emit", advice.rules,
                  "Of -p nccl: write what NCCL should do otherwise to this file, as its tuner plugins read it")
      ->type_name("FILE.csv")
      ->group("Output");
  command
      .add_option("--for", advice.library,
                  "Who reads that file; openmpi: rules of coll_tuned, of -p host or cuda-aware")
      ->check(CLI::IsMember({"nccl-tuner", "openmpi"}))
      ->capture_default_str()
      ->needs("--emit")
      ->group("Output");
  bench::add_examples(
      command, {"twinlink-sim advise workload all-reduce --platform selene --ranks 16 -b 64M",
                "twinlink-sim advise workload all-to-all --platform hgx-h100 -p gpudirect-v2 -b 1M -e 64M",
                "twinlink-sim advise workload all-reduce --platform selene -p nccl --ranks 32 --emit tuner.csv"});
}

}  // namespace

void add_advise_command(Program& program) {
  const QuestionText text{
      .name = "advise",
      .of_messages =
          "Say which protocol is the fastest at which size, where they cross, and with which chunk and depth",
      .of_workload = "Say which algorithm, place, protocols, limits, chunk and depth make a workload fast"};
  add_question(program, text, {"--platform"},
               [&program](CLI::App& command, bool of_workload) -> std::function<ExitCode()> {
                 const auto options = std::make_shared<AdviseOptions>();
                 if (!of_workload) {
                   add_search_options(command, *options);
                   return [&program, options] { return advise(*options, program.command_line); };
                 }
                 const auto wished = std::make_shared<WorkloadAdvice>();
                 add_search_of_workload_options(command, options->question, *wished);
                 const CLI::Option* const place = command.get_option("--place");
                 return [&program, options, wished, place] {
                   wished->any_place = place->count() == 0;
                   return advise_of_workload(options->question, *wished, program.command_line);
                 };
               });
}

}  // namespace twinlink::model
