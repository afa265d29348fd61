// The text of the OSU micro-benchmarks, releases 3 to 7: a title, comment lines, the columns' names, a row per size.
//
// Launchers write before the title and between the lines, so that what begins with no digit and no '#' is passed over;
// what sounds like a warning becomes a note. A line that begins with a digit is a row, and must be a whole one.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
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

namespace twinlink::validate {
namespace {

using bench::Pattern;

struct OsuTest {
  std::string_view title;
  std::string_view program;
  Pattern pattern;
};

constexpr std::array kOsuTests{OsuTest{"Latency", "osu_latency", Pattern::pingpong},
                               OsuTest{"Multi Latency", "osu_multi_lat", Pattern::pingpong},
                               OsuTest{"Bandwidth", "osu_bw", Pattern::bandwidth},
                               OsuTest{"Bi-Directional Bandwidth", "osu_bibw", Pattern::bidirectional},
                               OsuTest{"Bidirectional Bandwidth", "osu_bibw", Pattern::bidirectional},
                               OsuTest{"Multiple Bandwidth / Message Rate", "osu_mbw_mr", Pattern::bandwidth}};

/// Regular expressions call themselves for every character; no line of the benchmarks comes near to this.
constexpr std::size_t kLongestLine = 1024;

/// Columns that may follow size and value; what they say is not needed, but their number makes a row whole.
constexpr std::array<std::string_view, 7> kFurtherColumns{"Messages/s", "Validation", "Min Latency",  "Max Latency",
                                                          "Iterations", "Tail ",      "Transmit Size"};

const std::regex& title_form() {
  static const std::regex title(R"(#?\s*OSU (\S+) (.+) Test(?: v(\S+)| \(Version (\S+)\))?\s*)");
  return title;
}

/// Is it what MPI or the benchmark has to complain of?
bool is_complaint(const std::string& line) {
  std::string lower;
  for (const char c : line) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::array<std::string_view, 6> kWords{"fail", "error", "warn", "unable to", "could not", "not supported"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

/// A table with the lines before it, which launchers and ourselves write.
struct OsuTable {
  std::string text{};
  int lines_before = 0;
  std::string words{};  ///< "OSU MPI-CUDA Latency Test v7.5, line 3"
};

std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> result;
  for (std::string word; stream >> word;) result.push_back(word);
  return result;
}

bool begins_a_row(const std::string& line) {
  const auto first = line.find_first_not_of(" \t");
  if (first == std::string::npos) return false;
  const auto is_digit = [&](std::size_t at) { return at < line.size() && line[at] >= '0' && line[at] <= '9'; };
  // A sign alone is the line that launchers draw.
  return is_digit(first) ||
         (std::string_view("+-.").find(line[first]) != std::string_view::npos && is_digit(first + 1));
}

template <class T>
std::optional<T> number(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
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
    const std::string bare = line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
    const std::size_t name = bare.find("OSU ");
    if (name != std::string::npos && bare.size() <= kLongestLine && std::regex_match(bare, title_form())) {
      if (rows) tables.push_back({.lines_before = number - 1 - lines_behind});
      rows = false;
      tables.back().words = fmt::format("{}, line {}", bare.substr(name), number);
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
  OsuReader(const std::string& file, int lines_before) : file_(file), line_(lines_before) {}

  void read(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      ++line_;
      if (line.ends_with('\r')) line.pop_back();
      if (begins_a_row(line)) {
        if (test_) read_row(words(line));
      } else if (line.starts_with("DATA VALIDATION ERROR")) {
        fail(fmt::format("the benchmark found wrong data: {}", line));
      } else if (line.find_first_not_of(" \t") != std::string::npos && line.size() <= kLongestLine) {
        read_other_line(line);
      }
    }
    if (!test_) throw InputError(fmt::format("{}: error: has no title of an OSU micro-benchmark", file_));
    if (points_.empty()) throw InputError(fmt::format("{}: error: ends before its first row", file_));
  }

  bench::Result take() {
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
    result.notes.insert(result.notes.end(), complaints_.begin(), complaints_.end());
    auto origin = make_origin(Tool::osu, result.program, file_);
    origin["figure"] = signature_ ? "median" : "mean of all rounds";
    for (const auto& [name, value] : facts_) origin[name] = value;
    nlohmann::json environment{{bench::kOriginMember, std::move(origin)}};
    const std::string world = signature_ ? signature_->world : "";
    if (world == "emulated" || world == "paced") environment["emulated_devices"] = true;
    if (world == "paced") environment["pace"] = "not told";
    result.environment = std::move(environment);
    return result;
  }

 private:
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
      complain(line);
    } else if (!test_) {
      return;
    } else if (std::regex_match(line, parts, pairs)) {
      read_pairs(parts[1], parts[2]);
    } else if (std::regex_match(line, parts, buffers)) {
      facts_.emplace_back(kSendBuffer, parts[1]);
      facts_.emplace_back(kReceiveBuffer, parts[2]);
    } else if (std::regex_match(line, parts, datatype)) {
      facts_.emplace_back("datatype", parts[1]);
    } else if (words(line).size() > 1 && words(line)[0] == "#" && words(line)[1] == "Size") {
      read_columns(line);
    }
  }

  /// Each once, and not more than anybody reads.
  void complain(const std::string& line) {
    constexpr std::size_t kMost = 8;
    const auto begin = line.find_first_not_of(" \t");
    std::string note = fmt::format("line {} of {}: {}", line_, file_, line.substr(begin));
    const auto same = [&](const std::string& other) { return other.ends_with(": " + line.substr(begin)); };
    if (std::ranges::none_of(complaints_, same) && complaints_.size() < kMost) complaints_.push_back(std::move(note));
  }

  void read_title(const std::string& library, const std::string& name, const std::string& version) {
    // Under some launchers each rank prints the title.
    if (test_ && name == test_->title && columns_ == 0) return;
    if (test_) fail("a second table begins here; one curve can be imported at a time");
    const auto found = std::ranges::find(kOsuTests, name, &OsuTest::title);
    if (found == kOsuTests.end() || !(library == "MPI" || library.starts_with("MPI-"))) {
      std::string known;
      for (const OsuTest& test : kOsuTests) known += fmt::format("{} {}", known.empty() ? "" : ",", test.title);
      fail(fmt::format("unknown test '{} {}' (there are, for MPI:{})", library, name, known));
    }
    test_ = *found;
    version_ = version;
    if (library != "MPI") {
      facts_.emplace_back(kAccelerator, library.substr(std::string_view("MPI-").size()));
    } else if (!signature_) {
      facts_.emplace_back(kSendBuffer, "HOST");
      facts_.emplace_back(kReceiveBuffer, "HOST");
    }
    if (test_->pattern == Pattern::pingpong) window_ = 1;
  }

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
    const bool latency = test_->pattern == Pattern::pingpong;
    const auto has = [&](std::string_view text) { return line.find(text) != std::string::npos; };
    if (latency ? !has("Latency (us)") && !has("Latency(us)") : !has("MB/s")) {
      fail(fmt::format("the values must be in {}: {}", latency ? "us" : "MB/s", line));
    }
    columns_ = 2;
    for (const std::string_view column : kFurtherColumns) {
      for (auto at = line.find(column); at != std::string::npos; at = line.find(column, at + 1)) ++columns_;
    }
    validated_ = has("Validation");
  }

  void read_row(const std::vector<std::string>& cells) {
    if (columns_ == 0) fail("a row before the line that names the columns");
    if (cells.size() != columns_) fail(fmt::format("a row of {} columns, where {} are named", cells.size(), columns_));
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
    if (!points_.empty() && Bytes{*size} <= points_.back().size) {
      fail(fmt::format("size {} does not ascend: is this a second table?", *size));
    }
    const bool latency = test_->pattern == Pattern::pingpong;
    if (!latency && *size == 0) fail("a bandwidth of empty messages");
    points_.push_back(latency ? point_of_time(Bytes{*size}, single_figure(*value), test_->pattern)
                              : point_of_rate(Bytes{*size}, *value / pairs_, test_->pattern));
    const std::string why = bench::why_no_time(points_.back().time_us.median);
    if (!why.empty()) fail(fmt::format("the value {}: {}", cells[1], why));
    points_.back().verified = validated_ && passed(cells);
  }

  [[nodiscard]] bool passed(const std::vector<std::string>& cells) const {
    if (std::ranges::find(cells, "Pass") != cells.end()) return true;
    fail("the benchmark found wrong data at this size");
  }

  const std::string& file_;
  int line_;
  std::optional<bench::OsuSignature> signature_;
  std::optional<OsuTest> test_;
  std::string version_;
  std::vector<std::pair<std::string, std::string>> facts_;
  std::vector<std::string> complaints_;
  std::optional<int> window_;
  int pairs_ = 1;
  std::size_t columns_ = 0;
  std::size_t decimals_ = 0;
  bool validated_ = false;
  std::vector<bench::Point> points_;
};

}  // namespace

bench::Result import_osu(const std::string& text, const std::string& file, const ImportWishes& wishes) {
  const std::vector<OsuTable> tables = split_tables(text);
  std::vector<std::string> names;
  for (const OsuTable& table : tables) names.push_back(table.words);
  const OsuTable& table = tables[choose_table(names, wishes, file)];
  OsuReader reader(file, table.lines_before);
  reader.read(table.text);
  auto result = reader.take();
  if (wishes.pattern && *wishes.pattern != result.series.pattern) {
    throw UsageError(fmt::format("--pattern {}: {} measures {}", bench::to_string(*wishes.pattern), file,
                                 bench::to_string(result.series.pattern)));
  }
  add_wishes(result.series, wishes, file);
  if (!result.series.protocol.empty()) check_protocol(result, file);
  return result;
}

}  // namespace twinlink::validate
