#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "model/cli/commands.hpp"
#include "model/engine/flows/machine.hpp"
#include "model/study/child_process.hpp"
#include "model/study/survey.hpp"
#include "model/study/sweep/launcher_share.hpp"
#include "model/study/sweep/study_database.hpp"
#include "model/study/sweep/study_plan.hpp"
#include "model/study/sweep/study_report.hpp"
#include "model/study/sweep/study_results.hpp"
#include "platforms/reader/platform_file.hpp"
#include "platforms/tools/variation.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/progress.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/output_files.hpp"

namespace twinlink::model {
namespace {

namespace fs = std::filesystem;

struct StudyOptions {
  fs::path file{};
  fs::path out{};
  int jobs = cores();
  bool resume = false;
  fs::path report{};
};

struct MergeOptions {
  std::vector<fs::path> folders{};
  fs::path out{};
  fs::path report{};
};

std::string text_of(const YamlValue& value) {
  std::string text = "{" + value.text;
  for (const YamlValue& item : value.items) text += text_of(item);
  for (const YamlValue::Entry& entry : value.entries) text += entry.key + text_of(entry.value);
  return text + "}";
}

/// What the arguments say of the machine.
PlatformOptions platform_of(const std::vector<std::string>& arguments) {
  PlatformOptions options;
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (arguments[i] == "--platform") options.file = arguments[i + 1];
    if (arguments[i] == "--set") options.overrides.push_back(arguments[i + 1]);
  }
  return options;
}

/// Numbers that have a spread, of the platforms of a study.
class Bases {
 public:
  std::string operator()(const std::vector<std::string>& arguments, const std::string& path) {
    const PlatformOptions options = platform_of(arguments);
    std::string key = options.file.string();
    for (const std::string& set : options.overrides) key += "\n" + set;
    auto known = known_.find(key);
    if (known == known_.end()) {
      known = known_.emplace(key, Variations(read_platform(options)).numbers()).first;
    }
    const auto number = std::ranges::find(known->second, path, &VariableNumber::path);
    if (number == known->second.end()) {
      throw UsageError(fmt::format("spread: {} has no number '{}'", options.file.string(), path));
    }
    return number->text;
  }

 private:
  std::map<std::string, std::vector<VariableNumber>> known_{};
};

/// An option that the command does not have.
void require_options(const Study& study, const CLI::App& app, const fs::path& file) {
  const CLI::App* const command = app.get_subcommand(study.command);
  Diagnostics diagnostics;
  const auto require = [&](const std::vector<StudyOption>& options) {
    for (const StudyOption& option : options) {
      const bool is_there =
          option.flag().empty() ? study.command == "workload" : command->get_option_no_throw(option.flag()) != nullptr;
      if (is_there || !option.meanings.empty()) continue;
      diagnostics.error(option.position, fmt::format("'{}' is no option of '{}'", option.name, study.command));
    }
  };
  for (const auto* options : {&study.options, &study.axes}) {
    require(*options);
    for (const StudyOption& option : *options) std::ranges::for_each(option.meanings, require);
  }
  const auto names_platform = [](const std::vector<StudyOption>& options) {
    return std::ranges::find(options, "platform", &StudyOption::name) != options.end();
  };
  const auto has_platform = [&](const std::vector<StudyOption>& options) {
    return names_platform(options) || std::ranges::any_of(options, [&](const StudyOption& option) {
             return !option.meanings.empty() && std::ranges::all_of(option.meanings, names_platform);
           });
  };
  if (!has_platform(study.options) && !has_platform(study.axes)) {
    diagnostics.error({std::make_shared<const std::string>(file.string())}, "no 'platform' among options and axes");
  }
  diagnostics.throw_if_any();
}

/// The file that an argument names, besides platforms: a recorded job, places of ranks, a layout's blocks. Empty: none.
std::string file_named(const std::vector<std::string>& arguments, std::size_t i) {
  constexpr std::string_view kBlocks = "indexed:@";
  const std::string& argument = arguments[i];
  if (argument.starts_with(kBlocks)) return argument.substr(kBlocks.size());
  const bool place = i > 0 && arguments[i - 1] == "--place" && argument != "packed" && argument != "spread";
  return place || fs::path(argument).extension() == ".goal" ? argument : "";
}

/// Digest of this program's file: its code and the compiler's switches.
std::string build() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  std::uint64_t digest = 14695981039346656037U;  // FNV-1a, of 64 bits
  std::array<char, 1U << 16U> block{};
  while (file.read(block.data(), block.size()), file.gcount() > 0) {
    for (const char byte : std::span(block).first(static_cast<std::size_t>(file.gcount()))) {
      digest = (digest ^ static_cast<unsigned char>(byte)) * 1099511628211U;
    }
  }
  return fmt::format("{:016x}", digest);
}

StudyIdentity identity_of(const Study& study, const std::vector<StudyPoint>& points) {
  StudyIdentity identity{
      .study = study.title + "\n",
      .program = fmt::format("{} with SimGrid {}, build {}", program_name(), simgrid_version(), build()),
      .points = points.size()};
  std::set<std::string> platforms;           // with what they include
  std::map<std::string, std::string> files;  // all of them, with what they hold
  for (const StudyPoint& point : points) {
    identity.study += fmt::format("{}\n", fmt::join(point.arguments, " "));
    platforms.insert(platform_of(point.arguments).file.string());
    for (std::size_t i = 0; i < point.arguments.size(); ++i) {
      if (const std::string file = file_named(point.arguments, i); !file.empty()) files.try_emplace(file);
    }
  }
  for (const std::string& platform : platforms) files.try_emplace(platform);
  for (auto& [file, text] : files) {
    try {  // the points say themselves what is wrong with one
      Diagnostics diagnostics;
      if (!platforms.contains(file)) {
        text = bench::read_file(file);
      } else if (const std::optional<YamlValue> document = load_yaml(find_platform(file), diagnostics)) {
        text = text_of(*document);
      }
    } catch (const Error&) {
    }
    identity.study += file + "\n" + text + "\n";
  }
  for (const StudyOption& axis : study.axes) identity.axes.push_back(axis.name);
  return identity;
}

/// The command of a point, in a process of its own: its times, for the process that began it.
std::string result_of(Program& program, const StudyPoint& point) {
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0 || ::dup2(nowhere, STDOUT_FILENO) < 0 || ::dup2(nowhere, STDERR_FILENO) < 0) {
    throw EnvironmentError("dup2", "standard output cannot be left out");
  }
  std::vector<std::string> arguments = point.arguments;
  std::ranges::reverse(arguments);  // as the parser wants them
  try {
    program.app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    throw UsageError(bench::describe(program.app, error));
  }
  std::vector<SizeTime> times;
  program.on_times = [&times](std::vector<SizeTime> told) { times = std::move(told); };
  if (program.action() != ExitCode::ok) throw Error("a check failed");
  return to_text(times);
}

void write_results(const StudyIdentity& identity, const std::vector<FinishedPoint>& points, const fs::path& out,
                   const fs::path& page) {
  const std::vector<StudyRow> rows = rows_of(points);
  const std::string csv = to_csv(identity, rows);
  bench::write_file(out / "study.csv", csv);
  bench::write_json_file(out / "study.json", to_json(identity, rows));
  if (!page.empty()) {
    const std::string title = identity.study.substr(0, identity.study.find('\n'));
    const std::vector<report::Attachment> data{{"study.csv", csv}};
    bench::write_file(page, report::to_html(to_document(title, identity, rows), data));
  }
  print_best(identity, rows, std::cout);
  std::cout << fmt::format("# {} points: {}, {}\n", points.size(), (out / "study.csv").string(),
                           (out / "study.json").string());
  for (std::size_t shown = 0; const StudyRow& row : rows) {
    constexpr std::size_t kMost = 5;
    if (row.error.empty() || ++shown > kMost) continue;
    std::cout << fmt::format("# failed: {}: {}\n", fmt::join(row.values, ", "), row.error);
  }
}

bool any_failed(const std::vector<FinishedPoint>& points) {
  return std::ranges::any_of(points, [](const FinishedPoint& point) { return !point.error.empty(); });
}

/// Says what is missing.
ExitCode end_of(const StudyIdentity& identity, const std::vector<FinishedPoint>& points) {
  const std::size_t missing = identity.points - points.size();
  if (missing > 0) std::cout << fmt::format("# {} of {} points are missing\n", missing, identity.points);
  return missing > 0 || any_failed(points) ? ExitCode::failed : ExitCode::ok;
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw UsageError(fmt::format("--out {}: {}", folder.string(), error.message()));
}

/// Makes the folder, and lets no output be an input or another output.
void prepare_outputs(const fs::path& out, const fs::path& page) {
  for (const char* name : {"study.csv", "study.json", "study.sqlite"}) bench::note_output("a result", out / name);
  bench::note_output("--report", page);
  make_folder(out);
  if (!page.empty()) require_page(page);
}

ExitCode run_study(const StudyOptions& options, Program& program) {
  const Study study = read_study(options.file);
  require_options(study, program.app, options.file);
  Bases bases;
  const std::vector<StudyPoint> points = study.points(std::ref(bases));
  const StudyIdentity identity = identity_of(study, points);
  const Share share = share_of_launcher();
  if (share.ranks > 1 && !options.report.empty()) {
    throw UsageError("--report: of all points; 'study merge' writes it when all processes have ended");
  }
  prepare_outputs(options.out, options.report);
  const std::string name = share.ranks == 1 ? "study.sqlite" : fmt::format("study-{}.sqlite", share.rank);
  StudyDatabase database(options.out / name, identity, options.resume);

  std::vector<std::size_t> left;
  const std::set<std::size_t> done = database.done();
  for (std::size_t place = 0; place < points.size(); ++place) {
    const bool mine = place % static_cast<std::size_t>(share.ranks) == static_cast<std::size_t>(share.rank);
    if (mine && !done.contains(place)) left.push_back(place);
  }
  bench::Progress progress("points", bench::ProgressView::standard_error(wall_clock));
  std::size_t ended = 0;
  std::size_t lost = 0;
  const auto work = [&](std::size_t number) {
    const StudyPoint& point = points[left[number]];
    if (!point.error.empty()) throw UsageError(point.error);
    return result_of(program, point);
  };
  in_each_child_process(left.size(), work, options.jobs, [&](const ChildEnd& end) {
    const std::size_t place = left[end.number];
    FinishedPoint point{.place = place, .values = points[place].values, .sample = points[place].sample};
    progress.show(++ended, left.size());
    try {
      point.times = size_times(end.get(), fmt::format("point {}", place));
    } catch (const Error& error) {
      if (end.lost()) {  // nothing is known of it, and --resume runs it again
        progress.clear();
        std::cerr << fmt::format("lost: {}: {}\n", fmt::join(point.values, ", "), error.what());
        ++lost;
        return;
      }
      point.error = error.what();
    }
    database.add(point);
  });
  progress.clear();
  const std::vector<FinishedPoint> finished = database.points();
  if (share.ranks > 1) {
    std::cout << fmt::format("# {} of {} points: {}; 'study merge' joins them\n", finished.size(), points.size(),
                             (options.out / name).string());
    return lost > 0 || any_failed(finished) ? ExitCode::failed : ExitCode::ok;
  }
  write_results(identity, finished, options.out, options.report);
  return end_of(identity, finished);
}

/// The databases in a folder, or the file itself.
std::vector<fs::path> databases_in(const fs::path& folder) {
  if (!fs::is_directory(folder)) return {folder};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".sqlite") files.push_back(entry.path());
  }
  if (files.empty()) throw UsageError(folder.string() + ": there is no database of a study");
  std::ranges::sort(files);
  return files;
}

ExitCode merge(const MergeOptions& options) {
  std::vector<fs::path> files;
  for (const fs::path& folder : options.folders) {
    for (const fs::path& file : databases_in(folder)) files.push_back(file);
  }
  std::ranges::for_each(files, bench::note_input);
  prepare_outputs(options.out, options.report);
  const std::vector<FinishedPoint> points = merged(files);
  const StudyIdentity identity = StudyDatabase(files.front()).identity();
  const fs::path into = options.out / "study.sqlite";
  if (fs::exists(into)) throw UsageError(into.string() + ": is there already");
  StudyDatabase database(into, identity, false);
  for (const FinishedPoint& point : points) database.add(point);
  write_results(identity, points, options.out, options.report);
  return end_of(identity, points);
}

}  // namespace

void add_study_command(Program& program) {
  auto* command = program.app.add_subcommand("study", "Run a command over all values of some of its options");
  const auto options = std::make_shared<StudyOptions>();
  command->add_option("study", options->file, "What to run: a YAML file, see below")->type_name("FILE.yaml");
  command
      ->add_option("--out", options->out,
                   "Folder of the results: study.csv, study.json, and study.sqlite, which "
                   "keeps each point as soon as it is finished")
      ->type_name("FOLDER")
      ->group("Output");
  constexpr int kMostJobs = 1024;
  bench::add_count_option(*command, "-j,--jobs", 1, kMostJobs, "one for each core", "Points at a time",
                          [options](int jobs) { options->jobs = jobs; });
  add_page_option(*command, options->report, "best settings, what each axis changes, curves");
  command->add_flag("--resume", options->resume, "Go on after an interruption: what is finished is not run again");
  command->footer(
      "A study:\n"
      "  title: chunk and depth of staging\n"
      "  command: run                  # or workload\n"
      "  options: {platform: keeneland-kids, protocol: staging, begin: 64K, end: 4M, factor: 4}\n"
      "  axes: {chunk: [64K, 256K, 1M], depth: [1, 2, 4]}\n"
      "  combine: product              # or zip: the first values of all axes, then the second\n"
      "  spread: {gpu_types.m2090.copies.pinned-to-device.rate: 10%}  # of numbers, with\n"
      "  samples: 20                   # so many draws of them at each point, by\n"
      "  seed: 1\n"
      "Any option of the command is an axis. 'set PATH' and 'option NAME' are one --set or --option,\n"
      "'workload' is its argument. An axis of any name has names that stand for options, where these\n"
      "are maps: axes: {design: {rails: {set fabric.shape: rails}, ...}}. Axes are choices\n"
      "(protocols, chunk, depth, algorithm, place, 'set fabric.', design) or else what is asked.\n"
      "Instead of axes, 'points' is a list of maps of options.\n\n"
      "Under mpirun, srun or in a job array of Slurm each process takes its share into a database\n"
      "of its own in --out, and 'study merge' joins them.");
  auto* merging = command->add_subcommand("merge", "Join the databases of several processes");
  const auto merge_options = std::make_shared<MergeOptions>();
  merging->add_option("folders", merge_options->folders, "Folders with databases of one study")
      ->type_name("FOLDER...")
      ->required();
  merging->add_option("--out", merge_options->out, "Another folder, for what 'study' writes")
      ->type_name("FOLDER")
      ->required()
      ->group("Output");
  add_page_option(*merging, merge_options->report, "best settings, what each axis changes, curves");
  bench::add_examples(*command, {"twinlink-sim study validate/studies/sharing_an_adapter.yaml --out results/sharing",
                                 "mpirun -n 64 twinlink-sim study big.yaml --out big -j 1",
                                 "twinlink-sim study merge big --out big-all"});
  merging->callback([&program, merge_options] { program.action = [merge_options] { return merge(*merge_options); }; });
  command->callback([&program, options, merging] {
    if (merging->parsed() && !options->file.empty()) throw UsageError("study: FILE.yaml, or 'merge' and its folders");
    if (merging->parsed()) return;
    if (options->file.empty() || options->out.empty()) throw UsageError("study needs FILE.yaml and --out FOLDER");
    program.action = [&program, options] { return run_study(*options, program); };
  });
}

}  // namespace twinlink::model
