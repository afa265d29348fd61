// nccl-tests -J: a JSON file of version 1 or 2 with a list of results, each with a time in microseconds per size.
//
// Times are those of an operation out of place, averaged over rounds that follow each other in a stream without an
// answer from the other side. A GB/s of theirs is 10^9 bytes per second.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/results/json_members.hpp"
#include "protocols/bench/results/json_statistics.hpp"
#include "validate/import/buffers.hpp"
#include "validate/import/import_parts.hpp"

namespace twinlink::validate {
namespace {

using bench::Members;
using bench::Pattern;

constexpr std::uint64_t kNewestVersion = 2;

/// What a program measures between two ranks.
struct NcclTest {
  std::string_view program;
  Pattern pattern;
};

// In sendrecv each of two ranks sends to the other; in broadcast the root sends all of the buffer.
constexpr std::array kNcclTests{NcclTest{"sendrecv_perf", Pattern::bidirectional},
                                NcclTest{"broadcast_perf", Pattern::bandwidth}};

NcclTest find_test(Members& file) {
  const auto arguments = file.text_list("args");
  const auto program = arguments.empty() ? std::string() : std::filesystem::path(arguments[0]).filename().string();
  std::string known;
  for (const auto& test : kNcclTests) {
    if (program.starts_with(test.program)) return test;  // builds may add a suffix
    known += fmt::format("{} {}", known.empty() ? "" : ",", test.program);
  }
  file.fail("args", fmt::format("names the unknown test '{}' (there are:{}; other collectives are no message between "
                                "two ranks)",
                                program, known));
}

/// What of the process's environment is about the measurement.
std::vector<std::string> settings_of(const std::vector<std::string>& variables) {
  std::vector<std::string> settings;
  for (const auto& variable : variables) {
    if (variable.starts_with("NCCL_") || variable.starts_with("CUDA_")) settings.push_back(variable);
  }
  return settings;
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

struct Devices {
  std::uint64_t ranks = 0;
  std::map<std::uint64_t, std::string> places{};  ///< NODE/GPU by rank; the file does not list every rank
};

Devices read_devices(Members& config) {
  const auto per_process = config.count("nthreads") * config.count("ngpus");
  if (per_process == 0) config.fail("ngpus", "is 0");
  Devices devices;
  std::vector<std::string> hosts;
  for (const auto& json : config.array("devices")) {
    Members device(json, config.origin(), config.path("devices[]"));
    const auto rank = device.count("rank");
    const auto host = device.text("hostname");
    if (std::ranges::find(hosts, host) == hosts.end()) hosts.push_back(host);
    const auto node = std::ranges::find(hosts, host) - hosts.begin();
    devices.places[rank] = fmt::format("{}/{}", node, device.count("device"));
    // Only the first rank of a process may be listed.
    devices.ranks = std::max(devices.ranks, (rank / per_process + 1) * per_process);
  }
  return devices;
}

/// A run over all sizes: of one data type and root, and of one cycle.
struct NcclTable {
  std::string words{};                ///< "float, 2 sizes from 1K"
  std::string key{};                  ///< type and root
  std::vector<std::size_t> places{};  ///< in "results"
  std::vector<Bytes> sizes{};
};

class NcclReader {
 public:
  NcclReader(const std::string& file, Pattern pattern) : file_(file), pattern_(pattern) {}

  std::vector<bench::Point> read(const nlohmann::json& results, const ImportWishes& wishes) {
    const std::vector<NcclTable> tables = split_tables(results);
    if (tables.empty()) throw InputError(fmt::format("{}: error: member 'results' is empty: did the test end?", file_));
    std::vector<std::string> names;
    for (const NcclTable& table : tables) names.push_back(table.words);
    for (const std::size_t place : tables[choose_table(names, wishes, file_)].places) {
      Members result(results[place], file_, fmt::format("results[{}]", place));
      read_result(result);
    }
    return std::move(points_);
  }

 private:
  /// Results of one table follow each other; a size that comes again begins the next cycle.
  [[nodiscard]] std::vector<NcclTable> split_tables(const nlohmann::json& results) const {
    std::vector<NcclTable> tables;
    for (std::size_t place = 0; place < results.size(); ++place) {
      Members result(results[place], file_, fmt::format("results[{}]", place));
      const Bytes size{result.count("size", bench::kMostBytes)};
      const std::string type = result.text("type");
      const std::string key = result.has("root") ? type + result.text("root") : type;
      const bool goes_on = !tables.empty() && tables.back().key == key &&
                           std::ranges::find(tables.back().sizes, size) == tables.back().sizes.end();
      if (!goes_on) tables.push_back({.words = type, .key = key});
      tables.back().places.push_back(place);
      tables.back().sizes.push_back(size);
    }
    for (NcclTable& table : tables) {
      table.words += fmt::format(", {} size{} from {}", table.sizes.size(), table.sizes.size() == 1 ? "" : "s",
                                 format_size(table.sizes.front()));
    }
    return tables;
  }

  void read_result(Members& result) {
    const Bytes size{result.count("size", bench::kMostBytes)};
    if (size == Bytes{}) result.fail("size", "is 0");
    Members figures = result.members("out_of_place");
    if (!figures.has("time") && figures.has("cpu_time")) {
      figures.fail("cpu_time", "is the host's time alone; run without -C");
    }
    const double time_us = figures.number("time");
    if (!(time_us > 0)) figures.fail("time", fmt::format("must be positive, but is {}", time_us));
    if (const auto why = bench::why_no_time(time_us); !why.empty()) figures.fail("time", "is none: " + why);
    auto statistics = single_figure(time_us);
    std::vector<double> samples_us;
    if (result.has("out_of_place_per_iter")) {
      samples_us = read_times(result.members("out_of_place_per_iter"));
      statistics = bench::summarize(samples_us);
    }
    points_.push_back(point_of_time(size, statistics, pattern_));
    points_.back().samples_us = std::move(samples_us);
    points_.back().verified = verified(figures);
  }

  static std::vector<double> read_times(Members rounds) {
    std::vector<double> times_us;
    for (const auto& time : rounds.array("times_us")) {
      if (!time.is_number() || !bench::why_no_time(time.get<double>()).empty()) {
        rounds.fail("times_us", "holds something that is no time");
      }
      times_us.push_back(time.get<double>());
    }
    if (times_us.empty()) rounds.fail("times_us", "is empty");
    return times_us;
  }

  /// "nwrong" is null where nothing was compared.
  static bool verified(Members& figures) {
    if (figures.is_null("nwrong")) return false;
    const double wrong = figures.number("nwrong");
    if (wrong > 0) figures.fail("nwrong", fmt::format("tells of {} wrong elements", wrong));
    return true;
  }

  const std::string& file_;
  Pattern pattern_;
  std::vector<bench::Point> points_;
};

}  // namespace

bench::Result import_nccl_tests(const nlohmann::json& content, const std::string& file, const ImportWishes& wishes) {
  Members members(content, file);
  if (const auto version = members.count("version"); version < 1 || version > kNewestVersion) {
    members.fail("version", fmt::format("is {}, but this program reads 1 to {}", version, kNewestVersion));
  }
  const auto test = find_test(members);
  if (!members.has("results") || !members.has("end_time")) {
    throw InputError(fmt::format("{}: error: has no member '{}': the test did not end", file,
                                 members.has("results") ? "end_time" : "results"));
  }
  Members config = members.members("config");
  const auto devices = read_devices(config);
  if (devices.ranks != 2 && !wishes.pattern) {
    members.fail("config",
                 fmt::format("tells of {} ranks: only between two is {} a pattern of messages (--pattern says "
                             "which one it is all the same)",
                             devices.ranks, test.program));
  }
  const auto pattern = wishes.pattern.value_or(test.pattern);
  if (devices.ranks == 2 && pattern != test.pattern) {
    throw UsageError(
        fmt::format("--pattern {}: {} measures {}", bench::to_string(pattern), file, bench::to_string(test.pattern)));
  }
  const auto program = members.has("nccl_version")
                           ? fmt::format("{} (NCCL {})", test.program, members.count("nccl_version"))
                           : std::string(test.program);
  auto origin = make_origin(Tool::nccl_tests, program, file);
  for (const auto* fact : {"start_time", "end_time", "config"}) {
    if (members.has(fact)) origin[fact] = content[fact];
  }
  if (members.has("env")) origin["env"] = settings_of(members.text_list("env"));
  origin["figure"] = "mean of rounds that follow each other";
  for (const char* const end : {kSendBuffer, kReceiveBuffer}) origin[end] = "DEVICE";

  bench::Result result{.world = "measured",
                       .program = program,
                       .command = join(members.text_list("args")),
                       .notes = {"measured in rounds that follow each other in a stream, without an answer"},
                       .series = {.label = std::string(test.program),
                                  .pattern = pattern,
                                  .points = NcclReader(file, pattern).read(members.array("results"), wishes),
                                  .told = {.settings = false, .window = false, .cold_us = false}}};
  auto& series = result.series;
  if (devices.ranks != 2) result.notes.push_back(fmt::format("measured with {} ranks", devices.ranks));
  if (series.points.front().time_us.n > 0) {
    origin["figure"] = "median of rounds that follow each other";
    series.clock = "device";  // per-round times come from CUDA events
  } else {
    result.notes.emplace_back("measured times are means, of which nobody told the spread");
    series.clock = "host";
  }
  result.environment = nlohmann::json{{bench::kOriginMember, std::move(origin)}};
  if (const auto found = devices.places.find(0); found != devices.places.end()) series.from = found->second;
  if (const auto found = devices.places.find(1); found != devices.places.end()) series.to = found->second;
  add_wishes(series, wishes, file);
  if (!series.protocol.empty()) check_protocol(result, file);
  return result;
}

}  // namespace twinlink::validate
