#include "real/discover/discover.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "platforms/reader/platform_reader.hpp"
#include "platforms/reader/platform_writer.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/output_files.hpp"
#include "real/discover/node_platform.hpp"
#include "real/discover/node_topology.hpp"
#include "real/discover/nvml.hpp"
#include "real/system/hwloc_topology.hpp"
#include "real/system/launch.hpp"

namespace twinlink::real {
namespace {

void note(const std::string& text) { fmt::print(stderr, "twinlink-real: note: {}\n", text); }

NodeDescription describe_written(const std::filesystem::path& xml) {
  const HwlocTopology topology = HwlocTopology::of_xml(xml);
  NodeDescription node = describe_topology(topology, xml.stem().string());
  node.inventory = gpus_of_topology(topology, node);
  node.gpu_source = "hwloc";
  if (node.inventory.gpus.empty()) {
    throw UnavailableError(xml.string() + " has no NVIDIA GPU on its PCI buses, and a platform needs a GPU");
  }
  note("a topology in a file says nothing of peer access and NVLink: run discover on the machine itself for these");
  return node;
}

NodeDescription describe_this_machine() {
  const HwlocTopology topology;
  NodeDescription node = describe_topology(topology, host_name());
  std::string problem;
  try {
    const Nvml nvml;
    node.inventory = nvml.inventory();
    node.gpu_source = "NVML of driver " + nvml.driver_version();
    if (node.inventory.gpus.empty()) problem = "the NVIDIA driver sees no GPU";
  } catch (const UnavailableError& error) {
    problem = error.what();
  }
  if (problem.empty()) return node;
  node.inventory = gpus_of_topology(topology, node);
  node.gpu_source = "hwloc";
  if (node.inventory.gpus.empty()) {
    throw UnavailableError(
        fmt::format("{}; hwloc sees no NVIDIA GPU either ({} sockets, {} NUMA domains, {} PCI devices "
                    "and bridges of interest), and a platform needs a GPU",
                    problem, node.sockets.size(), node.memories.size(), node.pci.size()));
  }
  note(problem);
  return node;
}

/// What was found, and what the platform only assumes.
nlohmann::json found_json(const NodeDescription& node, const std::vector<std::string>& notes) {
  nlohmann::json gpus = nlohmann::json::array();
  for (const GpuFacts& gpu : node.inventory.gpus) {
    gpus.push_back({{"model", gpu.model}, {"uuid", gpu.uuid}, {"bus_id", gpu.bus_id}, {"nvlinks", gpu.nvlinks.size()}});
  }
  nlohmann::json peers = nlohmann::json::array();
  for (const auto& row : node.inventory.peer_access) {
    peers.push_back(nlohmann::json::array());
    for (const std::string& reason : row) peers.back().push_back(reason.empty() ? "granted" : reason);
  }
  return {{"name", node.name},
          {"gpus_told_by", node.gpu_source},
          {"sockets", node.sockets.size()},
          {"numa_domains", node.memories.size()},
          {"gpus", std::move(gpus)},
          {"peer_access", std::move(peers)},
          {"notes", notes}};
}

}  // namespace

ExitCode discover(const DiscoverOptions& options, std::ostream& output) {
  bench::require_output("--out", options.out);
  bench::require_output("--json", options.json);
  std::optional<model::Platform> base;
  if (!options.base.empty()) base = model::read_platform(options.base);
  const NodeDescription node =
      options.hwloc_xml.empty() ? describe_this_machine() : describe_written(options.hwloc_xml);
  const NodePlatform found = make_platform(node, base ? &*base : nullptr);
  if (!options.json.empty()) bench::write_json_file(options.json, found_json(node, found.notes));
  const std::string text = model::platform_text(found.platform, found.heading);
  for (const std::string& remark : found.notes) note(remark);
  if (options.out.empty()) {
    output << text;
  } else {
    bench::write_file(options.out, text);
    // Whatever the system calls its devices, what was written must be a platform. A device or a pipe cannot be read.
    if (std::filesystem::is_regular_file(options.out)) static_cast<void>(model::read_platform(options.out));
  }
  note(fmt::format(
      "link rates are nominal and costs are assumed ({}); to replace them by measured ones: "
      "mpirun -n 2 twinlink-real probe --device cuda --json PROBES.json, then twinlink-validate calibrate "
      "PROBES.json --base {} --out MEASURED.yaml",
      base ? "as on " + base->name : "guesses", options.out.empty() ? "THIS_FILE.yaml" : options.out.string()));
  return ExitCode::ok;
}

}  // namespace twinlink::real
