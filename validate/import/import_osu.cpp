// The text of the OSU micro-benchmarks, releases 3 to 7: a title, comment lines, the columns' names, a row per size.
//
// Launchers write before the title and between the lines, so that what begins with no digit and no '#' is passed over;
// what sounds like a warning becomes a note. A line that begins with a digit is a row, and must be a whole one.
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>
#include <regex>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/results/json_statistics.hpp"
#include "protocols/bench/results/osu_form.hpp"
#include "validate/import/buffers.hpp"
#include "validate/import/import_parts.hpp"
#include "validate/import/launcher_text.hpp"

namespace twinlink::validate {
namespace {

using bench::Pattern;

struct OsuTest {
  std::string_view title;
  std::string_view program;
  Pattern pattern;
};

/// A collective: what it is of ours, or a name of its own where we have none.
struct OsuCollective {
  std::string_view title;
  std::string_view program;
  std::string_view workload;
  bool per_rank = false;  ///< its size is what goes from a rank to one other, and not that of the whole buffer
  double (*bus_factor)(int ranks) = nullptr;
};

constexpr std::array kOsuTests{OsuTest{"Latency", "osu_latency", Pattern::pingpong},
                               OsuTest{"Multi Latency", "osu_multi_lat", Pattern::pingpong},
                               OsuTest{"Bandwidth", "osu_bw", Pattern::bandwidth},
                               OsuTest{"Bi-Directional Bandwidth", "osu_bibw", Pattern::bidirectional},
                               OsuTest{"Bidirectional Bandwidth", "osu_bibw", Pattern::bidirectional},
                               OsuTest{"Multiple Bandwidth / Message Rate", "osu_mbw_mr", Pattern::bandwidth}};

constexpr std::array kOsuCollectives{
    OsuCollective{"Allreduce Latency", "osu_allreduce", "all-reduce", false, there_and_back},
    OsuCollective{"Allgather Latency", "osu_allgather", "all-gather", true, all_but_own},
    OsuCollective{"Reduce_scatter Latency", "osu_reduce_scatter", "reduce-scatter", false, all_but_own},
    OsuCollective{"Broadcast Latency", "osu_bcast", "broadcast", false, once},
    OsuCollective{"All-to-All Personalized Exchange Latency", "osu_alltoall", "all-to-all", true, all_but_own},
    OsuCollective{"Barrier Latency", "osu_barrier", "barrier", false, once},
    OsuCollective{"Reduce Latency", "osu_reduce", "reduce", false, once},
    OsuCollective{"Gather Latency", "osu_gather", "gather", true, all_but_own},
    OsuCollective{"Scatter Latency", "osu_scatter", "scatter", true, all_but_own}};

/// Regular expressions call themselves for every character; no line of the benchmarks comes near to this.
constexpr std::size_t kLongestLine = 1024;

/// Columns that may follow size and value; what they say is not needed, but their number makes a row whole.
constexpr std::array<std::string_view, 7> kFurtherColumns{"Messages/s", "Validation", "Min Latency",  "Max Latency",
                                                          "Iterations", "Tail ",      "Transmit Size"};

/// A column, and where its name begins.
using Column = std::pair<std::size_t, std::string_view>;
std::vector<Column> further_columns(const std::string& line) {
  std::vector<Column> all;
  for (const std::string_view name : kFurtherColumns) {
    for (auto at = line.find(name); at != std::string::npos; at = line.find(name, at + 1)) all.emplace_back(at, name);
  }
  std::ranges::sort(all);
  return all;
}

const std::regex& title_form() {
  static const std::regex title(R"(#?\s*OSU (\S+) (.+) Test(?: v(\S+)| \(Version (\S+)\))?\s*)");
  return title;
}

/// A table with the lines before it, which launchers and ourselves write.
struct OsuTable {
  std::string text{};
  int lines_before = 0;
  std::string words{};  ///< "OSU MPI-CUDA Latency Test v7.5, line 3"
};

bool is_figure(const std::string& word) {
  return std::isdigit(static_cast<unsigned char>(word[0])) != 0 ||
         (word.size() > 1 && std::string_view("+-.").find(word[0]) != std::string_view::npos &&
          std::isdigit(static_cast<unsigned char>(word[1])) != 0);
}

/// A sign alone is the line that launchers draw, and a number before a word is one of their sentences.
bool begins_a_row(const std::string& line) {
  const std::vector<std::string> cells = words(line);
  if (cells.empty() || !is_figure(cells[0])) return false;
  constexpr std::size_t kFewest = 2;  // columns of a table: no sentence is that short
  return cells.size() <= kFewest || is_figure(cells[1]) || cells[1] == "-";
}

/// Digits after the point.
std::size_t decimals(const std::string& text) {
  const auto point = text.find('.');
  return point == std::string::npos ? 0 : text.size() - point - 1;
}

/// A table begins behind the last row of the one before it. Titles without a row between them are one: under some
/// launchers each rank prints it.
std::vector<OsuTable> split_tables(const std::string& text) {
  std::vector<OsuTable> tables{{}};
  std::string behind;  // the lines since the last row
  int lines_behind = 0;
  int number = 0;
  bool rows = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::size_t name = line.find("OSU ");
    if (name != std::string::npos && line.size() <= kLongestLine && std::regex_match(line, title_form())) {
      if (rows) tables.push_back({.lines_before = number - 1 - lines_behind});
      rows = false;
      tables.back().words = fmt::format("{}, line {}", line.substr(name), number);
    }
    behind += line + '\n';
    ++lines_behind;
    if (!begins_a_row(line) || tables.back().words.empty()) continue;
    rows = true;
    tables.back().text += std::exchange(behind, {});
    lines_behind = 0;
  }
  tables.back().text += behind;
  return tables;
}

class OsuReader {
 public:
  OsuReader(const std::string& file, int lines_before, std::optional<int> ranks)
      : file_(file), line_(lines_before), ranks_(ranks), complaints_(file) {}

  void read(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      ++line_;
      if (begins_a_row(line)) {
        if (test_ || collective_) read_row(words(line));
      } else if (line.starts_with("DATA VALIDATION ERROR")) {
        fail(fmt::format("the benchmark found wrong data: {}", line));
      } else if (line.find_first_not_of(" \t") != std::string::npos && line.size() <= kLongestLine) {
        read_other_line(line);
      }
    }
    if (!test_ && !collective_)
      throw InputError(fmt::format("{}: error: has no title of an OSU micro-benchmark", file_));
    if (points_.empty()) throw InputError(fmt::format("{}: error: ends before its first row", file_));
  }

  /// What is left of the names that the benchmark does not tell: who measured what of ours.
  Imported take() {
    if (collective_) return take_collective();
    return take_curve();
  }

 private:
  bench::Result take_curve() {
    const auto benchmark =
        version_.empty() ? std::string(test_->program) : fmt::format("{} {}", test_->program, version_);
    bench::Result result{.world = "measured",
                         .program = benchmark,
                         .series = {.label = std::string(test_->program),
                                    .pattern = test_->pattern,
                                    .clock = "host",  // MPI_Wtime
                                    .points = std::move(points_),
                                    .told = {.settings = false, .window = window_.has_value(), .cold_us = false}}};
    result.series.window = window_.value_or(1);
    if (signature_) {
      take_signature(result);
    } else {
      result.notes.emplace_back("measured times are means, of which nobody told the spread");
    }
    if (pairs_ > 1) {
      result.series.label += fmt::format(", {} pairs", pairs_);
      result.notes.push_back(fmt::format("measured with {} pairs at once: the mean of one pair", pairs_));
    }
    if (test_->program == "osu_multi_lat") result.notes.emplace_back("measured with all pairs of the job at once");
    result.notes.insert(result.notes.end(), complaints_.notes().begin(), complaints_.notes().end());
    nlohmann::json environment = environment_of(result.program);
    const std::string world = signature_ ? signature_->world : "";
    if (world == "emulated" || world == "paced") environment["emulated_devices"] = true;
    if (world == "paced") environment["pace"] = "not told";
    result.environment = std::move(environment);
    return result;
  }

  bench::WorkloadFile take_collective() {
    bench::WorkloadFile result{.world = "measured",
                               .program = version_.empty() ? std::string(collective_->program)
                                                           : fmt::format("{} {}", collective_->program, version_)};
    result.series.workload = collective_->workload;
    result.series.ranks = *ranks_;
    result.series.notes.emplace_back(has_slowest_ ? "times are those of the slowest rank, means of all rounds"
                                                  : "times are means of all ranks and rounds: the slowest took longer");
    result.series.notes.insert(result.series.notes.end(), complaints_.notes().begin(), complaints_.notes().end());
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const bench::Point& point = points_[i];
      bench::WorkloadPoint mine = workload_point(point.size, point.time_us, collective_->bus_factor(*ranks_));
      mine.verified = point.verified;
      if (has_slowest_) mine.fastest_us = fastest_us_[i];
      result.series.points.push_back(std::move(mine));
    }
    result.environment = bench::JsonValue(environment_of(result.program));
    return result;
  }

  [[nodiscard]] nlohmann::json environment_of(const std::string& program) const {
    auto origin = make_origin(Tool::osu, program, file_);
    origin["figure"] = signature_ ? "median" : "mean of all rounds";
    for (const auto& [name, value] : facts_) origin[name] = value;
    return {{bench::kOriginMember, std::move(origin)}};
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(fmt::format("{}:{}: error: {}", file_, line_, what));
  }

  /// Figures of ours in this form say so before the title.
  void take_signature(bench::Result& result) const {
    if (signature_->world == "simulated") result.world = signature_->world;
    result.program = signature_->program;
    bench::Series& series = result.series;
    series.label = signature_->protocol;
    series.protocol = signature_->protocol;
    series.from = signature_->from;
    series.to = signature_->to;
    series.window = signature_->window;
    series.told.window = true;
    if (result.world == "simulated") series.clock = result.world;
  }

  void read_other_line(const std::string& line) {
    static const std::regex pairs(R"(#\s*\[ pairs: (\d+) \] \[ window size: (\S+) \].*)");
    static const std::regex buffers(R"(#\s*Send Buffer on (\w+).* and Receive Buffer on (\w+).*)");
    static const std::regex datatype(R"(#\s*Datatype: (\w+)\.?\s*)");
    std::smatch parts;
    if (auto signature = bench::read_osu_signature(line); signature && !test_) {
      signature_ = std::move(signature);
    } else if (std::regex_match(line, parts, title_form())) {
      read_title(parts[1], parts[2], parts[3].matched ? parts[3] : parts[4]);
    } else if (is_complaint(line)) {
      complaints_.add(line_, line);
    } else if (!test_ && !collective_) {
      return;
    } else if (std::regex_match(line, parts, pairs)) {
      read_pairs(parts[1], parts[2]);
    } else if (std::regex_match(line, parts, buffers)) {
      facts_.emplace_back(kSendBuffer, parts[1]);
      facts_.emplace_back(kReceiveBuffer, parts[2]);
    } else if (std::regex_match(line, parts, datatype)) {
      facts_.emplace_back("datatype", parts[1]);
    } else if (names_columns(line)) {
      read_columns(line);
    }
  }

  /// "# Size", "#Size"; a barrier has none.
  [[nodiscard]] bool names_columns(const std::string& line) const {
    const std::vector<std::string> cells = words(line);
    if (cells[0] == "#Size" || cells[0] == "Size") return true;
    if (cells.size() < 2 || cells[0] != "#") return false;
    return cells[1] == "Size" || (is_barrier() && cells[1] == "Avg");
  }
  [[nodiscard]] bool is_barrier() const { return collective_ && collective_->workload == "barrier"; }

  void read_title(const std::string& library, const std::string& name, const std::string& version) {
    // Under some launchers each rank prints the title.
    if ((test_ || collective_) && name == title_ && columns_ == 0) return;
    if (test_ || collective_) fail("a second table begins here; one curve can be imported at a time");
    const auto found = std::ranges::find(kOsuTests, name, &OsuTest::title);
    const auto all = std::ranges::find(kOsuCollectives, name, &OsuCollective::title);
    const bool known_library = library == "MPI" || library.starts_with("MPI-");
    if (!known_library || (found == kOsuTests.end() && all == kOsuCollectives.end())) {
      std::string known;
      for (const OsuTest& test : kOsuTests) known += fmt::format("{} {}", known.empty() ? "" : ",", test.title);
      for (const OsuCollective& test : kOsuCollectives) known += fmt::format(", {}", test.title);
      fail(fmt::format("unknown test '{} {}' (there are, for MPI:{})", library, name, known));
    }
    title_ = name;
    if (found != kOsuTests.end()) {
      test_ = *found;
    } else {
      collective_ = *all;
      if (!ranks_)
        throw UsageError(fmt::format("{}: {} does not tell its ranks: say it with --ranks", file_, all->program));
    }
    version_ = version;
    if (library != "MPI") {
      facts_.emplace_back(kAccelerator, library.substr(std::string_view("MPI-").size()));
    } else if (!signature_) {
      facts_.emplace_back(kSendBuffer, "HOST");
      facts_.emplace_back(kReceiveBuffer, "HOST");
    }
    if (test_ && test_->pattern == Pattern::pingpong) window_ = 1;
  }

  [[nodiscard]] bool is_latency() const { return collective_ || test_->pattern == Pattern::pingpong; }

  void read_pairs(const std::string& pairs, const std::string& window) {
    const auto count = number<int>(pairs);
    const auto messages = number<int>(window);
    if (!count || *count < 1) fail(fmt::format("'{}' is no number of pairs", pairs));
    if (!messages || *messages < 1)
      fail(fmt::format("window size '{}': only a table of one window can be read", window));
    pairs_ = *count;
    window_ = *messages;
  }

  void read_columns(const std::string& line) {
    if (columns_ > 0) fail("a second table begins here; one curve can be imported at a time");
    const bool latency = is_latency();
    const auto has = [&](std::string_view text) { return line.find(text) != std::string::npos; };
    if (latency ? !has("Latency (us)") && !has("Latency(us)") : !has("MB/s")) {
      fail(fmt::format("the values must be in {}: {}", latency ? "us" : "MB/s", line));
    }
    further_ = further_columns(line);
    columns_ = further_.size() + (is_barrier() ? 1 : 2);
    has_slowest_ = collective_ && has("Max Latency") && has("Min Latency");
    validated_ = has("Validation");
  }

  void read_row(std::vector<std::string> cells) {
    if (columns_ == 0) fail("a row before the line that names the columns: '# Size', and what was measured");
    if (cells.size() != columns_) fail(fmt::format("a row of {} columns, where {} are named", cells.size(), columns_));
    if (is_barrier()) cells.insert(cells.begin(), "8");  // what a message of ours has at least
    const auto size = number<std::uint64_t>(cells[0]);
    const auto value = number<double>(cells[1]);
    if (!size || *size > bench::kMostBytes) fail(fmt::format("'{}' is no size in bytes", cells[0]));
    if (!value || !std::isfinite(*value)) fail(fmt::format("'{}' is no number", cells[1]));
    if (!(*value > 0)) fail(fmt::format("the value must be positive, but is {}", cells[1]));
    // All values are printed alike: one with fewer digits was cut off.
    if (points_.empty()) decimals_ = decimals(cells[1]);
    if (decimals_ == 0 || decimals(cells[1]) != decimals_) {
      fail(fmt::format("'{}' has not the {} decimals of the other values: is the row cut off?", cells[1],
                       std::max(decimals_, std::size_t{2})));
    }
    if (!points_.empty() && *size <= last_size_) {
      fail(fmt::format("size {} does not ascend: is this a second table?", *size));
    }
    last_size_ = *size;
    if (!is_latency() && *size == 0) fail("a bandwidth of empty messages");
    if (collective_) {
      const std::uint64_t whole = *size * (collective_->per_rank ? static_cast<std::uint64_t>(*ranks_) : 1);
      if (whole > bench::kMostBytes) fail(fmt::format("{} B between {} ranks are too many", cells[0], *ranks_));
      points_.push_back({.size = Bytes{whole}, .time_us = single_figure(has_slowest_ ? extreme(cells) : *value)});
    } else {
      points_.push_back(is_latency() ? point_of_time(Bytes{*size}, single_figure(*value), test_->pattern)
                                     : point_of_rate(Bytes{*size}, *value / pairs_, test_->pattern));
    }
    const std::string why = bench::why_no_time(points_.back().time_us.median);
    if (!why.empty()) fail(fmt::format("the value {}: {}", cells[1], why));
    points_.back().verified = validated_ && passed(cells);
  }

  /// The time of the slowest rank; that of the fastest one is kept.
  double extreme(const std::vector<std::string>& cells) {
    const auto of = [&](std::string_view name) {
      const auto place = std::ranges::find(further_, name, &Column::second) - further_.begin();
      const std::string& cell = cells[2 + static_cast<std::size_t>(place)];
      const auto value = number<double>(cell);
      if (!value || !std::isfinite(*value) || !(*value > 0)) fail(fmt::format("'{}' is no time", cell));
      return *value;
    };
    fastest_us_.push_back(of("Min Latency"));
    return of("Max Latency");
  }

  [[nodiscard]] bool passed(const std::vector<std::string>& cells) const {
    if (std::ranges::find(cells, "Pass") != cells.end()) return true;
    fail("the benchmark found wrong data at this size");
  }

  const std::string& file_;
  int line_;
  std::optional<int> ranks_;  ///< of a collective
  std::optional<bench::OsuSignature> signature_{};
  std::optional<OsuTest> test_{};
  std::optional<OsuCollective> collective_{};
  std::string title_{};
  std::string version_;
  std::vector<std::pair<std::string, std::string>> facts_;
  Complaints complaints_;
  std::optional<int> window_;
  int pairs_ = 1;
  std::size_t columns_ = 0;
  std::vector<Column> further_{};
  bool has_slowest_ = false;
  std::vector<double> fastest_us_{};
  std::uint64_t last_size_ = 0;
  std::size_t decimals_ = 0;
  bool validated_ = false;
  std::vector<bench::Point> points_;
};

}  // namespace

Imported import_osu(const std::string& text, const std::string& file, const ImportWishes& wishes) {
  const std::vector<OsuTable> tables = split_tables(without_launcher(text));
  std::vector<std::string> names;
  for (const OsuTable& table : tables) names.push_back(table.words);
  const OsuTable& table = tables[choose_table(names, wishes, file)];
  OsuReader reader(file, table.lines_before, wishes.ranks);
  reader.read(table.text);
  Imported imported = reader.take();
  if (auto* collective = std::get_if<bench::WorkloadFile>(&imported)) {
    require_workload_wishes(wishes, file);
    collective->series.protocol = collective->series.protocol_between = wishes.protocol;
    return imported;
  }
  auto& result = std::get<bench::Result>(imported);
  if (wishes.ranks) throw UsageError(fmt::format("--ranks: {} holds no collective", file));
  if (wishes.pattern && *wishes.pattern != result.series.pattern) {
    throw UsageError(fmt::format("--pattern {}: {} measures {}", bench::to_string(*wishes.pattern), file,
                                 bench::to_string(result.series.pattern)));
  }
  add_wishes(result.series, wishes, file);
  if (!result.series.protocol.empty()) check_protocol(result, file);
  return imported;
}

}  // namespace twinlink::validate
