// What `twinlink-validate fleet` makes of faults that are planted in simulated fleets, by fault and noise: how many are
// found, how many are called by their name, and how many healthy nodes are accused. All random numbers have fixed
// seeds.
//   fault_benchmark SIM VALIDATE SCRATCH [--fleets N] [--healthy N]
// SIM and VALIDATE are the programs, SCRATCH a folder for their files; N fleets of each fault and noise (1), and of
// healthy ones at each noise (2). TWINLINK_PLATFORMS is the folder of the platforms. It ends with 1 where a fault of up
// to 2 % of noise is not found or not named, or a healthy node is accused.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/probe/probe.hpp"
#include "tests/validate/nodes/planted_fleet.hpp"

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
const std::string kToday = "2026-11-25";

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

  Count run(const Fault& fault, double noise, std::size_t fleets) {
    Count count;
    for (std::size_t seed = 0; seed < fleets; ++seed) {
      const fs::path folder = scratch_ / "fleet";
      fs::remove_all(folder);
      fs::remove(scratch_ / "h.sqlite");
      const json result = fault.drift > 0 ? drifting(fault, noise, seed, folder) : at_once(fault, noise, seed, folder);
      ++count.fleets;
      for (const json& node : result["nodes"]) {
        const bool ill = !fault.all_alike && node["node"] == validate::test::node_name(kIll);
        const bool known = node["state"] == "alike" || node["state"] == "not judged";
        const bool accused = !known || !node.value("regressions", json::array()).empty();
        if (!ill) {
          count.accused += accused ? 1 : 0;
          continue;
        }
        std::string said = node["explanation"].get<std::string>() + " " + node.value("why", "");
        for (const json& remark : node["remarks"]) said += " " + remark.get<std::string>();
        const bool found = accused || (fault.what == "date to come" && said.find("to come") != std::string::npos);
        count.found += found ? 1 : 0;
        for (const json& each : node.value("regressions", json::array())) {
          said += fmt::format(" slower by {:.0f} %", each["slower"].get<double>() * 100);
        }
        if (found && std::regex_search(said, std::regex(fault.named))) {
          ++count.named;
        } else if (!fault.named.empty()) {
          std::cerr << fmt::format("{} at {} %, seed {}: {} ({})\n", fault.what, noise * 100, seed, said.substr(0, 300),
                                   node["state"].get<std::string>());
        }
      }
    }
    return count;
  }

 private:
  json at_once(const Fault& fault, double noise, std::size_t seed, const fs::path& folder) {
    validate::test::PlantedFleet fleet(folder, static_cast<unsigned>(1000 * seed + 17), noise);
    const bench::ProbeFile healthy = probes(fault.platform, "");
    const bench::ProbeFile ill = ill_probes(fault);
    for (std::size_t node = 0; node < kNodes; ++node) {
      const bool is_ill = node == kIll && !fault.all_alike;
      fleet.add(node, is_ill ? ill : healthy, (is_ill && !fault.date.empty() ? fault.date : kToday) + "T07:00:00Z");
    }
    return judged(fault, folder, "");
  }

  /// A week's nodes are enough: only the past counts.
  json drifting(const Fault& fault, double noise, std::size_t seed, const fs::path& folder) {
    json result;
    bench::ProbeFile base = probes(fault.platform, "");
    std::erase_if(base.findings.lines, [](const bench::ProbeLine& line) { return line.gpu != "0/0"; });
    for (int day = 0; day < kDays; ++day) {
      validate::test::PlantedFleet fleet(
          folder, static_cast<unsigned>(1000 * seed + static_cast<std::size_t>(day) + 29), noise);
      for (const std::size_t node : {std::size_t{1}, std::size_t{3}, kIll}) {
        bench::ProbeFile file = base;
        const double times = node == kIll ? 1 + fault.drift * day / (kDays - 1) : 1;
        for (bench::ProbeLine& line : file.findings.lines) line.time_us.median *= times;
        fleet.add(node, file, fmt::format("2026-10-{:02}T07:00:00Z", day + 1));
      }
      result = judged(fault, folder, fmt::format("--history {} --force", (scratch_ / "h.sqlite").string()));
    }
    return result;
  }

  /// Nodes are judged against each other; what a platform says names the part.
  json judged(const Fault& fault, const fs::path& folder, const std::string& more) {
    const fs::path file = scratch_ / "fleet.json";
    fs::remove(file);
    const std::string base = fault.drift > 0 ? "" : "--base " + fault.platform + " --force";
    call(fmt::format("'{}' fleet '{}' {} {} --json '{}' >'{}' 2>&1", validate_, folder.string(), base, more,
                     file.string(), (scratch_ / "log.txt").string()));
    std::ifstream stream(file);
    if (!stream) throw std::runtime_error("fleet writes nothing: " + (scratch_ / "log.txt").string());
    return json::parse(stream);
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

  /// The platform whose peers below one switch go up to the root and back.
  std::string by_root(const std::string& platform) {
    const fs::path file = scratch_ / "acs.yaml";
    std::ofstream text(file);
    text << "schema: 2\nname: " << platform << "\ninclude: ["
         << (fs::path(std::getenv("TWINLINK_PLATFORMS")) / (platform + ".yaml")).string()
         << "]\nnodes:\n  ways:\n";  // NOLINT(concurrency-mt-unsafe)
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
};

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 3) {
    std::cerr << "fault_benchmark SIM VALIDATE SCRATCH [--fleets N] [--healthy N] [--only TEXT]\n";
    return 2;
  }
  std::size_t fleets = 1;
  std::size_t healthy = 2;
  std::string only;
  for (std::size_t i = 3; i + 1 < arguments.size(); i += 2) {
    if (arguments[i] == "--fleets") fleets = std::stoul(arguments[i + 1]);
    if (arguments[i] == "--healthy") healthy = std::stoul(arguments[i + 1]);
    if (arguments[i] == "--only") only = arguments[i + 1];
  }
  Benchmark benchmark(arguments[0], arguments[1], arguments[2]);
  bool well = true;
  std::cout << "| fault | noise | fleets | found | named | accused wrongly |\n|---|---:|---:|---:|---:|---:|\n";
  for (const Fault& fault : faults()) {
    if (fault.what.find(only) == std::string::npos) continue;
    for (const double noise : {0.0, 0.01, 0.02, 0.05}) {
      const auto count = benchmark.run(fault, noise, fault.all_alike ? healthy : fleets);
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
