// What `twinlink-validate fleet` makes of faults that are planted in simulated fleets, by fault and noise: how many are
// found, how many are called by their name, and how many healthy nodes are accused. All random numbers have fixed
// seeds.
//   fault_benchmark SIM VALIDATE SCRATCH [--fleets N] [--healthy N] [--first SEED] [--days N]
//                   [--only TEXT]
// SIM and VALIDATE are the programs, SCRATCH a folder for their files; N fleets of each fault and noise (1), and of
// healthy ones at each noise (2), from a seed (0) on, each node with N days (1). TWINLINK_PLATFORMS is the folder of
// the platforms. It ends with 1 where a fault of up to 2 % of noise is not found or not named, or a healthy node is
// accused.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "platforms/reader/platform_reader.hpp"
#include "protocols/bench/probe/probe.hpp"
#include "tests/validate/nodes/planted_fleet.hpp"
#include "validate/nodes/fleet.hpp"
#include "validate/nodes/fleet_report.hpp"
#include "validate/nodes/patterns.hpp"

namespace {

using nlohmann::json;
using namespace twinlink;
namespace fs = std::filesystem;

constexpr std::size_t kNodes = 24;
constexpr std::size_t kIll = 7;

struct Fault {
  std::string what;
  std::string platform;
  std::string options{};   // of twinlink-sim
  std::string named{};     // in the explanation
  double drift = 0;        // of all times of the ill node, over kDays
  std::string date{};      // of the ill node's result
  bool all_alike = false;  // nobody is ill
  double gpu_memory = 1;   // the share of its rate that one GPU has
};

constexpr int kDays = 30;
constexpr int kToday = 25;  // of November 2026

std::vector<Fault> faults() {
  const std::string hgx = "hgx-h100";
  const std::string memory = "memory of GPU 'gpu3'|GPU 3 alone has: copies within a GPU|copies within a GPU";
  return {{.what = "x8 slot", .platform = hgx, .options = "--degrade pcie3=50%", .named = "link 'pcie3'"},
          {.what = "UPI at 15 %", .platform = hgx, .options = "--degrade upi=15%", .named = "'upi'"},
          {.what = "no peers", .platform = hgx, .options = "--without p2p", .named = "do not reach each other"},
          {.what = "ACS", .platform = "a100-pcie-switch", .options = "--set acs", .named = "ACS"},
          {.what = "adapter at 50 %", .platform = hgx, .options = "--degrade hca0=50%", .named = "hca0"},
          {.what = "GPU memory at 73 %", .platform = hgx, .named = memory, .gpu_memory = 0.73},
          {.what = "GPU memory at 85 %", .platform = hgx, .named = memory, .gpu_memory = 0.85},
          {.what = "1 of 12 NVLinks gone",
           .platform = "dgx-a100",
           .options = "--degrade nvlink5=91.67%",
           .named = "nvlink5|GPU 5"},
          {.what = "NUMA domain mis-bound",
           .platform = hgx,
           .options = "--set nodes.gpus.gpu0.memory_near=numa1",
           .named = "host buffers of GPU 0"},
          {.what = "drift of 15 %", .platform = hgx, .named = "slower by 1[2-8] %", .drift = 0.15},
          {.what = "drift of 30 %", .platform = hgx, .named = "slower by (2[5-9]|3[0-5]) %", .drift = 0.30},
          {.what = "date to come", .platform = hgx, .named = "to come", .date = "2031-01-01"},
          {.what = "silent for 24 days", .platform = hgx, .named = "24 days", .date = "2026-11-01"},
          {.what = "healthy", .platform = hgx, .named = "", .all_alike = true}};
}

struct Draws {
  std::size_t first = 0;  ///< the first one's seed
  std::size_t fleets = 1;
  int days = 1;  ///< of each node
};

class Benchmark {
 public:
  Benchmark(std::string sim, std::string validate, fs::path scratch)
      : sim_(std::move(sim)), validate_(std::move(validate)), scratch_(std::move(scratch)) {
    fs::create_directories(scratch_);
  }

  struct Count {
    std::size_t fleets = 0;
    std::size_t found = 0;
    std::size_t named = 0;
    std::size_t accused = 0;
  };

  Count run(const Fault& fault, double noise, const Draws& draws) {
    Count count;
    for (std::size_t seed = draws.first; seed < draws.first + draws.fleets; ++seed) {
      const std::vector<Judged> nodes =
          fault.drift > 0 ? drifting(fault, noise, seed) : at_once(fault, noise, seed, draws.days);
      ++count.fleets;
      for (const Judged& node : nodes) {
        if (fault.all_alike || node.name != validate::test::node_name(kIll)) {
          count.accused += node.accused ? 1 : 0;
          if (node.accused) say(fault, noise, seed, node);
          continue;
        }
        const bool found =
            node.accused || (fault.what == "date to come" && node.said.find("to come") != std::string::npos);
        const bool named = found && std::regex_search(node.said, std::regex(fault.named));
        count.found += found ? 1 : 0;
        count.named += named ? 1 : 0;
        if (!named) say(fault, noise, seed, node);
      }
    }
    return count;
  }

 private:
  struct Judged {
    std::string name{};
    bool accused = false;
    std::string said{};
  };

  static void say(const Fault& fault, double noise, std::size_t seed, const Judged& node) {
    constexpr std::size_t kMost = 300;
    std::cerr << fmt::format("{} at {} %, seed {}, {}: {}\n", fault.what, noise * 100, seed, node.name,
                             node.said.substr(0, kMost));
  }

  /// Each node's days are `days`, the last of which is today. Nodes are judged against each other; what a platform says
  /// names the part.
  std::vector<Judged> at_once(const Fault& fault, double noise, std::size_t seed, int days) {
    constexpr unsigned kFleets = 1000;
    std::mt19937 random(static_cast<unsigned>(kFleets * seed + 17));
    const validate::NodeFile healthy = file_of(fault.platform, probes(fault.platform, ""));
    const validate::NodeFile ill = file_of(fault.platform + fault.what, ill_probes(fault));
    validate::FleetFiles files{.folder = "fleet"};
    for (std::size_t node = 0; node < kNodes; ++node) {
      const bool is_ill = node == kIll && !fault.all_alike;
      auto& own = files.nodes.emplace_back(validate::FleetNode{.name = validate::test::node_name(node)}).files;
      for (int day = 0; day < days; ++day) {
        own.push_back(disturbed(is_ill ? ill : healthy, noise, random));
        own.back().date = is_ill && !fault.date.empty() ? fault.date : fmt::format("2026-11-{:02}", kToday - day);
        own.back().file = own.back().date;
      }
    }
    validate::note_dates_to_come(files, fmt::format("2026-11-{:02}T23:59:59Z", kToday));
    validate::FleetPlan plan{.force = true};
    if (!fault.all_alike) plan.base = platform_file(fault.platform);  // the healthy need no explanation
    plan.equals.patterns = [&](const auto& keys, const auto& places) {
      const auto [place, is_new] = patterns_.try_emplace(fault.platform);
      if (is_new) place->second = patterns_of(platforms::read_platform(platform_file(fault.platform)), keys, places);
      return place->second;
    };
    const validate::Fleet fleet = validate::judge_fleet(std::move(files), plan);
    std::vector<Judged> judged;
    for (const validate::FleetRow& row : fleet.rows) {
      using enum validate::FleetRow::State;
      const validate::FleetNode& node = fleet.files.nodes[row.node];
      judged.push_back(
          {.name = node.name,
           .accused = row.state != alike && row.state != unjudged,
           .said = fmt::format("{} {} {}", why(fleet, row), row.explanation.text, fmt::join(node.remarks, " "))});
    }
    return judged;
  }

  /// Times as the program reads them.
  validate::NodeFile file_of(const std::string& name, const bench::ProbeFile& probes) {
    const auto [place, is_new] = files_.try_emplace(name);
    if (is_new) {
      const fs::path folder = scratch_ / "one";
      fs::remove_all(folder);
      validate::test::PlantedFleet(folder, 0, 0).add(0, probes);
      place->second = validate::read_fleet(folder, {}).nodes.at(0).files.at(0);
    }
    return place->second;
  }

  static validate::NodeFile disturbed(validate::NodeFile file, double noise, std::mt19937& random) {
    std::normal_distribution<double> normal;
    for (validate::NodeCurve& curve : file.curves) {
      for (validate::NodePoint& point : curve.points) {
        point.log_us += noise * normal(random);
        point.deviation = noise;
      }
    }
    return file;
  }

  /// Three nodes are enough: only the past counts.
  std::vector<Judged> drifting(const Fault& fault, double noise, std::size_t seed) {
    const fs::path folder = scratch_ / "fleet";
    const fs::path file = scratch_ / "fleet.json";
    fs::remove_all(folder);
    fs::remove(scratch_ / "h.sqlite");
    bench::ProbeFile base = probes(fault.platform, "");
    std::erase_if(base.findings.lines, [](const bench::ProbeLine& line) { return line.gpu != "0/0"; });
    for (int day = 0; day < kDays; ++day) {
      validate::test::PlantedFleet fleet(
          folder, static_cast<unsigned>(1000 * seed + static_cast<std::size_t>(day) + 29), noise);
      for (const std::size_t node : {std::size_t{1}, std::size_t{3}, kIll}) {
        bench::ProbeFile probed = base;
        const double times = node == kIll ? 1 + fault.drift * day / (kDays - 1) : 1;
        for (bench::ProbeLine& line : probed.findings.lines) line.time_us.median *= times;
        fleet.add(node, probed, fmt::format("2026-10-{:02}T07:00:00Z", day + 1));
      }
      fs::remove(file);
      call(fmt::format("'{}' fleet '{}' --history '{}' --force --json '{}' >'{}' 2>&1", validate_, folder.string(),
                       (scratch_ / "h.sqlite").string(), file.string(), (scratch_ / "log.txt").string()));
    }
    std::ifstream stream(file);
    if (!stream) throw std::runtime_error("fleet writes nothing: " + (scratch_ / "log.txt").string());
    const json result = json::parse(stream);
    std::vector<Judged> judged;
    for (const json& node : result["nodes"]) {
      const json slower = node.value("regressions", json::array());
      const bool known = node["state"] == "alike" || node["state"] == "not judged";
      judged.push_back({.name = node["node"], .accused = !known || !slower.empty()});
      for (const json& each : slower) {
        judged.back().said += fmt::format(" slower by {:.0f} %", each["slower"].get<double>() * 100);
      }
    }
    return judged;
  }

  static void call(const std::string& command) {
    if (std::system(command.c_str()) == -1) throw std::runtime_error("no shell");  // NOLINT(concurrency-mt-unsafe)
  }

  bench::ProbeFile probes(const std::string& platform, const std::string& options) {
    const auto [place, is_new] = simulated_.try_emplace(platform + options);
    if (is_new) {
      const fs::path file = scratch_ / "probes.json";
      fs::remove(file);
      call(fmt::format("'{}' probe --platform {} {} -b 4K -e 64M -f 128 --json '{}' >'{}' 2>&1", sim_, platform,
                       options, file.string(), (scratch_ / "log.txt").string()));
      place->second = bench::read_probes(file);
    }
    return place->second;
  }

  bench::ProbeFile ill_probes(const Fault& fault) {
    if (fault.options == "--set acs") return probes(by_root(fault.platform), "");
    bench::ProbeFile file = probes(fault.platform, fault.options);
    if (fault.gpu_memory >= 1) return file;
    // Of one GPU: its bytes take longer, and what comes before them does not.
    const bench::ProbeFile fast = probes(fault.platform, "");
    for (bench::ProbeLine& line : file.findings.lines) {
      if (line.gpu != "0/3" || (line.name != "copy device-to-device" && line.name != "copy kernel-local")) continue;
      const bench::ProbeLine* smallest = &line;
      for (const bench::ProbeLine& other : fast.findings.lines) {
        if (other.name == line.name && other.gpu == line.gpu && other.size < smallest->size) smallest = &other;
      }
      line.time_us.median += std::max(0.0, line.time_us.median - smallest->time_us.median) * (1 / fault.gpu_memory - 1);
    }
    return file;
  }

  static fs::path platform_file(const std::string& platform) {
    return fs::path(std::getenv("TWINLINK_PLATFORMS")) / (platform + ".yaml");  // NOLINT(concurrency-mt-unsafe)
  }

  /// The platform whose peers below one switch go up to the root and back.
  std::string by_root(const std::string& platform) {
    const fs::path file = scratch_ / "acs.yaml";
    std::ofstream text(file);
    text << "schema: 2\nname: " << platform << "\ninclude: [" << platform_file(platform).string()
         << "]\nnodes:\n  ways:\n";
    for (int pair = 0; pair < 4; ++pair) {
      text << fmt::format("    acs{0}: {{from: gpu{1}, to: gpu{2}, via: [plx{0}, socket{3}, plx{0}]}}\n", pair,
                          2 * pair, 2 * pair + 1, pair / 2);
    }
    return file.string();
  }

  std::string sim_;
  std::string validate_;
  fs::path scratch_;
  std::map<std::string, bench::ProbeFile> simulated_{};
  std::map<std::string, validate::NodeFile> files_{};
  std::map<std::string, std::vector<validate::Pattern>> patterns_{};
};

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 3) {
    std::cerr
        << "fault_benchmark SIM VALIDATE SCRATCH [--fleets N] [--healthy N] [--first SEED] [--days N] [--only TEXT]\n";
    return 2;
  }
  Draws draws;
  std::size_t healthy = 2;
  std::string only;
  for (std::size_t i = 3; i + 1 < arguments.size(); i += 2) {
    if (arguments[i] == "--fleets") draws.fleets = std::stoul(arguments[i + 1]);
    if (arguments[i] == "--healthy") healthy = std::stoul(arguments[i + 1]);
    if (arguments[i] == "--first") draws.first = std::stoul(arguments[i + 1]);
    if (arguments[i] == "--days") draws.days = std::stoi(arguments[i + 1]);
    if (arguments[i] == "--only") only = arguments[i + 1];
  }
  Benchmark benchmark(arguments[0], arguments[1], arguments[2]);
  bool well = true;
  std::cout << "| fault | noise | fleets | found | named | accused wrongly |\n|---|---:|---:|---:|---:|---:|\n";
  for (const Fault& fault : faults()) {
    if (fault.what.find(only) == std::string::npos) continue;
    for (const double noise : {0.0, 0.01, 0.02, 0.05}) {
      Draws own = draws;
      if (fault.all_alike) own.fleets = noise > 0 ? healthy : 1;  // without noise they are all the same
      const auto count = benchmark.run(fault, noise, own);
      std::cout << fmt::format("| {} | {} % | {} | {} | {} | {} |\n", fault.what, noise * 100, count.fleets,
                               count.found, count.named, count.accused)
                << std::flush;
      constexpr double kPromised = 0.02;
      const bool all = fault.all_alike || noise > kPromised || count.named == count.fleets;
      well = well && all && count.accused == 0;
    }
  }
  return well ? 0 : 1;
}
