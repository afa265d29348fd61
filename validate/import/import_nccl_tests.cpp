// nccl-tests -J: a JSON file of version 1 or 2 with a list of results, each with a time in microseconds per size.
//
// Times are those of an operation out of place, averaged over rounds that follow each other in a stream without an
// answer from the other side. A GB/s of theirs is 10^9 bytes per second.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/results/json_members.hpp"
#include "protocols/bench/results/json_statistics.hpp"
#include "validate/import/import_parts.hpp"
#include "validate/import/launcher_text.hpp"
#include "validate/import/nccl_runs.hpp"

namespace twinlink::validate {
namespace {

using bench::Members;

constexpr std::uint64_t kNewestVersion = 2;

const NcclTest& find_test(Members& file) {
  const auto arguments = file.text_list("args");
  const auto program = arguments.empty() ? std::string() : std::filesystem::path(arguments[0]).filename().string();
  if (const NcclTest* const test = nccl_test_named(program)) return *test;
  file.fail("args", fmt::format("names the unknown test '{}' (there are: {})", program, names_of_nccl_tests()));
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

/// The file does not list every rank.
void read_devices(Members& config, NcclRun& run) {
  const auto per_process = config.count("nthreads") * config.count("ngpus");
  if (per_process == 0) config.fail("ngpus", "is 0");
  std::vector<std::string> hosts;
  constexpr std::uint64_t kMostRanks = 1 << 20;
  for (const auto& json : config.array("devices")) {
    Members device(json, config.origin(), config.path("devices[]"));
    const auto rank = device.count("rank", kMostRanks);
    const auto host = device.text("hostname");
    if (std::ranges::find(hosts, host) == hosts.end()) hosts.push_back(host);
    const auto node = std::ranges::find(hosts, host) - hosts.begin();
    run.places[rank] = fmt::format("{}/{}", node, device.count("device"));
    // Only the first rank of a process may be listed.
    run.ranks = std::max(run.ranks, static_cast<int>(std::min((rank / per_process + 1) * per_process, kMostRanks)));
  }
}

std::vector<double> read_times(Members rounds) {
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
std::optional<std::uint64_t> read_wrong(Members& figures) {
  if (figures.is_null("nwrong")) return std::nullopt;
  const double wrong = figures.number("nwrong");
  constexpr double kMost = 1e18;
  return static_cast<std::uint64_t>(std::clamp(std::ceil(wrong), 0.0, kMost));
}

NcclRow read_row(Members result, const NcclTest& test) {
  NcclRow row{.where = fmt::format("member '{}'", result.path("out_of_place")),
              .size = Bytes{result.count("size", bench::kMostBytes)},
              .type = result.text("type")};
  if (row.size == Bytes{}) result.fail("size", "is 0");
  if (test.rooted && result.has("root")) {
    const std::vector<std::string> root = words(result.text("root"));
    int value = 0;
    if (root.size() != 1 || std::from_chars(root[0].data(), root[0].data() + root[0].size(), value).ec != std::errc{}) {
      result.fail("root", "is no rank");
    }
    row.root = value;
  }
  Members figures = result.members("out_of_place");
  if (!figures.has("time") && figures.has("cpu_time")) {
    figures.fail("cpu_time", "is the host's time alone; run without -C");
  }
  row.time_us = figures.number("time");
  if (!(row.time_us > 0)) figures.fail("time", fmt::format("must be positive, but is {}", row.time_us));
  if (const auto why = bench::why_no_time(row.time_us); !why.empty()) figures.fail("time", "is none: " + why);
  if (result.has("out_of_place_per_iter")) row.samples_us = read_times(result.members("out_of_place_per_iter"));
  row.wrong = read_wrong(figures);
  return row;
}

}  // namespace

Imported import_nccl_tests(const nlohmann::json& content, const std::string& file, const ImportWishes& wishes) {
  Members members(content, file);
  if (const auto version = members.count("version"); version < 1 || version > kNewestVersion) {
    members.fail("version", fmt::format("is {}, but this program reads 1 to {}", version, kNewestVersion));
  }
  NcclRun run{.test = &find_test(members)};
  if (!members.has("results") || !members.has("end_time")) {
    throw InputError(fmt::format("{}: error: has no member '{}': the test did not end", file,
                                 members.has("results") ? "end_time" : "results"));
  }
  Members config = members.members("config");
  read_devices(config, run);
  if (members.has("nccl_version")) run.nccl = fmt::format("NCCL {}", members.count("nccl_version"));
  for (const auto* fact : {"start_time", "end_time", "config"}) {
    if (members.has(fact)) run.facts[fact] = content[fact];
  }
  if (members.has("env")) run.facts["env"] = settings_of(members.text_list("env"));
  run.command = join(members.text_list("args"));
  std::size_t place = 0;
  for (const auto& result : members.array("results")) {
    run.rows.push_back(read_row(Members(result, file, fmt::format("results[{}]", place++)), *run.test));
  }
  std::vector<NcclRun> runs;
  runs.push_back(std::move(run));
  return import_runs(runs, file, wishes);
}

}  // namespace twinlink::validate
