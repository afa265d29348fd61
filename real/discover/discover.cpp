#include "real/discover/discover.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "platforms/import/hwloc_facts.hpp"
#include "platforms/import/node_sketch.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/reader/platform_writer.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/output_files.hpp"
#include "real/discover/nvml.hpp"
#include "real/system/launch.hpp"

namespace twinlink::real {
namespace {

void note(const std::string& text) { fmt::print(stderr, "twinlink-real: note: {}\n", text); }

platforms::NodeDescription describe_written(const std::filesystem::path& xml) {
  const std::string file = xml.string();
  platforms::NodeDescription node =
      platforms::describe(platforms::HwlocTopology::of_xml(bench::read_file(xml), file), xml.stem().string());
  if (node.gpus.empty()) throw UnavailableError(file + " has no GPU on its PCI buses, and a platform needs a GPU");
  return node;
}

/// The driver knows more of the GPUs than hwloc, which knows where they are.
void take_gpus(platforms::NodeDescription& node, const Nvml& nvml) {
  nvml.read(node);
  node.origin = fmt::format("NVML of driver {} (GPUs) and hwloc", nvml.driver_version());
  const auto is_told = [&](const platforms::PciFacts& pci) {
    return std::ranges::find(node.gpus, pci.bus_id, &platforms::GpuFacts::bus_id) != node.gpus.end();
  };
  for (platforms::PciFacts& pci : node.pci) {  // of another make, or switched off
    if (pci.kind == platforms::PciFacts::Kind::gpu && !is_told(pci)) pci.kind = platforms::PciFacts::Kind::bridge;
  }
  for (const platforms::GpuFacts& gpu : node.gpus) {
    const auto same = [&](const platforms::PciFacts& pci) { return pci.bus_id == gpu.bus_id; };
    if (std::ranges::any_of(node.pci, same)) continue;
    node.pci.push_back({.kind = platforms::PciFacts::Kind::gpu,
                        .bus_id = gpu.bus_id,
                        .numa = node.memories.front().number,
                        .place_known = false});
  }
}

/// By bus id; nothing without a driver, of which others have said what there is to say.
std::map<std::string, bench::GpuHealth> health_of_gpus() {
  try {
    return Nvml().health();
  } catch (const Error&) {
    return {};
  }
}

/// What was found, and what the platform only assumes.
nlohmann::json found_json(const platforms::NodeDescription& node, const std::map<std::string, bench::GpuHealth>& health,
                          const std::vector<std::string>& notes) {
  nlohmann::json gpus = nlohmann::json::array();
  for (const platforms::GpuFacts& gpu : node.gpus) {
    int links = 0;
    for (const platforms::GpuLinks& each : gpu.links) links += each.count;
    gpus.push_back({{"model", gpu.model}, {"uuid", gpu.uuid}, {"bus_id", gpu.bus_id}, {"nvlinks", links}});
    if (const auto told = health.find(gpu.bus_id); told != health.end()) gpus.back()["health"] = told->second;
  }
  nlohmann::json peers = nlohmann::json::array();
  for (const auto& row : node.peer_access) {
    peers.push_back(nlohmann::json::array());
    for (const std::string& reason : row) peers.back().push_back(reason.empty() ? "granted" : reason);
  }
  return {{"name", node.name},
          {"gpus_told_by", node.origin},
          {"sockets", node.sockets.size()},
          {"numa_domains", node.memories.size()},
          {"gpus", std::move(gpus)},
          {"peer_access", std::move(peers)},
          {"notes", notes}};
}

}  // namespace

platforms::NodeDescription describe_this_machine() {
  platforms::NodeDescription node = platforms::describe(platforms::HwlocTopology(), host_name());
  std::string problem;
  try {
    take_gpus(node, Nvml());
    if (node.gpus.empty()) problem = "the NVIDIA driver sees no GPU";
  } catch (const UnavailableError& error) {
    problem = error.what();
  }
  if (node.gpus.empty()) {
    throw UnavailableError(
        fmt::format("{}; hwloc sees no GPU either ({} sockets, {} NUMA domains, {} PCI devices and "
                    "bridges of interest), and a platform needs a GPU",
                    problem, node.sockets.size(), node.memories.size(), node.pci.size()));
  }
  if (!problem.empty()) note(problem);
  return node;
}

ExitCode discover(const DiscoverOptions& options, std::ostream& output) {
  bench::require_output("--out", options.out);
  bench::require_output("--json", options.json);
  std::optional<platforms::Platform> base;
  if (!options.base.empty()) base = platforms::read_platform(options.base);
  const platforms::NodeDescription node =
      options.hwloc_xml.empty() ? describe_this_machine() : describe_written(options.hwloc_xml);
  const platforms::SketchedPlatform found = platforms::sketch(
      node, fmt::format("Written by twinlink-real discover: {}, as {} describes it", node.name, node.origin),
      base ? &*base : nullptr);
  const auto health = options.hwloc_xml.empty() ? health_of_gpus() : std::map<std::string, bench::GpuHealth>{};
  if (!options.json.empty()) bench::write_json_file(options.json, found_json(node, health, found.notes));
  const std::string text = platforms::platform_text(found.platform, found.heading);
  for (const std::string& remark : found.notes) note(remark);
  for (const auto& [bus_id, told] : health) {
    for (const std::string& finding : bench::health_findings({}, told)) note(fmt::format("{}: {}", bus_id, finding));
  }
  if (options.out.empty()) {
    output << text;
  } else {
    bench::write_file(options.out, text);
    // Whatever the system calls its devices, what was written must be a platform. A device or a pipe cannot be read.
    if (std::filesystem::is_regular_file(options.out)) static_cast<void>(platforms::read_platform(options.out));
  }
  note(fmt::format(
      "link rates are nominal and costs are assumed ({}); to replace them by measured ones: "
      "mpirun -n 2 twinlink-real probe --device cuda --json PROBES.json, then twinlink-validate calibrate "
      "PROBES.json --base {} --out MEASURED.yaml",
      base ? "as on " + base->name : "guesses", options.out.empty() ? "THIS_FILE.yaml" : options.out.string()));
  return ExitCode::ok;
}

}  // namespace twinlink::real
