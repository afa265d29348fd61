#include "validate/nodes/file_facts.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/probe/probed.hpp"
#include "protocols/bench/results/gpu_health.hpp"
#include "protocols/bench/results/settings_text.hpp"
#include "protocols/bench/workload/workload_file.hpp"
#include "protocols/core/errors.hpp"
#include "validate/compare/spread.hpp"

namespace twinlink::validate {
namespace {

using nlohmann::json;

std::string text_of(const json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

const json& member_of(const json& object, const char* name) {
  static const json none;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found == object.end() ? none : *found;
}

void add_host(NodeFile& file, const std::string& host) {
  if (!host.empty() && std::ranges::find(file.hosts, host) == file.hosts.end()) file.hosts.push_back(host);
}

/// Ranks that share a GPU name it once.
void add_gpu(NodeFile& file, NamedGpu gpu) {
  if (gpu.place.empty() || std::ranges::find(file.gpus, gpu.place, &NamedGpu::place) != file.gpus.end()) return;
  file.gpus.push_back(std::move(gpu));
}

/// What twinlink-real says of its ranks, and the importer of nccl-tests of those that its text lists.
void add_ranks(NodeFile& file, const json& ranks) {
  if (!ranks.is_array()) return;
  for (const json& rank : ranks) {
    add_host(file, text_of(rank, "host"));
    const json& device = member_of(rank, "device");
    add_gpu(file, {.place = text_of(rank, "place"),
                   .bus = text_of(device, "pci_bus_id"),
                   .uuid = text_of(device, "uuid"),
                   .model = text_of(device, "name")});
  }
}

/// "0: NVIDIA A100-SXM4-40GB (00000000:11:00)", as nvbandwidth lists its GPUs.
void add_listed(NodeFile& file, const json& list) {
  static const std::regex form(R"((\d+): (.*?) \(([0-9a-fA-F:.]+)\)\s*)");
  if (!list.is_array()) return;
  for (const json& entry : list) {
    std::smatch match;
    const std::string text = entry.is_string() ? entry.get<std::string>() : "";
    if (!std::regex_match(text, match, form)) continue;
    add_gpu(file, {.place = "0/" + match[1].str(), .bus = match[3].str(), .uuid = "", .model = match[2].str()});
  }
}

/// "cuda_driver 13.0, mpi Open MPI v4.1.6": what else decides how fast a node is.
std::string software_of(const json& environment, const json& origin) {
  std::string text;
  const auto add = [&](std::string_view what, const std::string& version) {
    if (!version.empty()) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, version);
  };
  const json& versions = member_of(environment, "versions");
  add("driver", text_of(versions, "cuda_driver"));
  add("CUDA", text_of(versions, "cuda_runtime"));
  const std::string mpi = text_of(versions, "mpi");
  add("MPI", mpi.substr(0, mpi.find(',')));
  add("driver", text_of(origin, "Driver Version"));
  add("CUDA", text_of(origin, "CUDA Runtime Version"));
  add("nccl-tests", text_of(origin, "nccl_tests"));
  return text;
}

std::string models_of(const NodeFile& file) {
  std::map<std::string, int> models;
  for (const NamedGpu& gpu : file.gpus) {
    if (!gpu.model.empty()) ++models[gpu.model];
  }
  std::string text;
  for (const auto& [model, count] : models) text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", count, model);
  return text;
}

void add_facts(NodeFile& file, const json& environment) {
  const json& origin = member_of(environment, "origin");
  file.date = text_of(environment, "date");
  add_ranks(file, member_of(environment, "ranks"));
  add_ranks(file, member_of(origin, "ranks"));
  add_listed(file, member_of(origin, "GPU Device list"));
  add_host(file, text_of(origin, "Hostname"));
  std::ranges::sort(file.gpus, {}, [](const NamedGpu& gpu) { return std::pair(gpu.place.size(), gpu.place); });
  const std::string platform = text_of(environment, "platform");
  file.machine = file.simulated && !platform.empty() ? platform : models_of(file);
  file.software = software_of(environment, origin);
  file.health = bench::health_findings_of(environment);
}

class Curves {
 public:
  explicit Curves(NodeFile& file) : file_(file) {}

  void add(const NodeCurve& heading, Bytes size, const bench::Statistics& time_us) {
    if (const std::string why = bench::why_no_time(time_us.median); !why.empty()) {
      file_.notes.push_back(fmt::format("{}: {} at {} left out: {}", file_.file, heading.name, format_size(size), why));
      return;
    }
    const auto [place, is_new] = places_.try_emplace({heading.name, heading.from, heading.to}, file_.curves.size());
    if (is_new) file_.curves.push_back(heading);
    file_.curves[place->second].points.push_back({.size = size,
                                                  .log_us = std::log(time_us.median),
                                                  .deviation = deviation_of(time_us.p5, time_us.p95),
                                                  .unstable = time_us.unstable});
  }
  /// Of sizes that are there twice, such as those of two algorithms, the fastest counts.
  void finish() {
    for (NodeCurve& curve : file_.curves) {
      std::ranges::sort(curve.points, {}, [](const NodePoint& point) { return std::pair(point.size, point.log_us); });
      const auto rest = std::ranges::unique(curve.points, {}, &NodePoint::size);
      curve.points.erase(rest.begin(), rest.end());
    }
  }

 private:
  NodeFile& file_;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> places_;
};

NodeFile begin_file(const std::string& name, const std::string& world, const std::string& program,
                    const json& environment) {
  NodeFile file{.file = name, .program = program, .simulated = world == "simulated"};
  add_facts(file, environment);
  return file;
}

NodeFile from_probes(const bench::ProbeFile& probes, const std::string& name) {
  NodeFile file = begin_file(name, probes.world, probes.program, probes.environment);
  file.probes = true;
  Curves curves(file);
  for (const bench::ProbeLine& line : probes.findings.lines) {
    curves.add({.test = test_of_probe(line.name), .name = line.name, .from = line.gpu, .to = line.peer}, line.size,
               line.time_us);
  }
  curves.finish();
  return file;
}

/// "osu_bw" of "osu_bw 7.2".
std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }

NodeFile from_result(const bench::Result& result, const std::string& name) {
  NodeFile file = begin_file(name, result.world, result.program, result.environment);
  const bench::Series& series = result.series;
  const bool imported = !series.told.settings;
  const std::string what = imported ? first_word(result.program) : series.label;
  NodeCurve heading{.test = imported ? what : std::string(series.protocol),
                    .name = fmt::format("{} {}{}", what, bench::to_string(series.pattern),
                                        series.window > 1 ? fmt::format(" window {}", series.window) : ""),
                    .from = series.from,
                    .to = series.to};
  if (!imported) heading.name += ", " + bench::settings_text(series.settings, series.facts);
  Curves curves(file);
  for (const bench::Point& point : series.points) curves.add(heading, point.size, point.time_us);
  curves.finish();
  return file;
}

NodeFile from_workload(const bench::WorkloadFile& workload, const std::string& name) {
  NodeFile file = begin_file(name, workload.world, workload.program, workload.environment);
  const bool ours = workload.program.starts_with("twinlink-");
  const std::string what = ours ? workload.series.workload : first_word(workload.program);
  const std::string over = ours ? fmt::format(" over {}", workload.series.protocols()) : "";
  const NodeCurve heading{.test = what, .name = fmt::format("{}{} of {} ranks", what, over, workload.series.ranks)};
  Curves curves(file);
  for (const bench::WorkloadPoint& point : workload.series.points) curves.add(heading, point.size, point.time_us);
  curves.finish();
  return file;
}

bool is_ours(const json& document) {
  const std::string kind = text_of(document, "kind");
  return kind == bench::kProbeKind || kind == bench::kWorkloadKind || kind == bench::kResultKind;
}

Imported read_own(const json& document, const std::string& name) {
  const std::string kind = text_of(document, "kind");
  if (kind == bench::kProbeKind) return bench::probes_from_json(document, name);
  if (kind == bench::kWorkloadKind) return bench::workload_from_json(document, name);
  return bench::result_from_json(document, name);
}

}  // namespace

std::string test_of_probe(const std::string& name) {
  using enum bench::Probed::What;
  const std::optional<bench::Probed> probed = bench::probed_by(name);
  if (!probed) return "others";
  switch (probed->what) {
    case copy:
      break;
    case block:
      return "copies of blocks";
    case put_and_signal:
      return "signals";
    case message:
    case receive:
    case control:
      if (probed->how == bench::Probed::How::start || probed->what == receive) return "calls of the CPU";
      return probed->same_node ? "messages within" : "messages between nodes";
    case program:
    case hop:
    case pass:
    case blocks:
    case ring:
      return "programs of thread blocks";
    case finish:
    case look:
      return "calls of the CPU";
    case allocate:
    case release:
    case register_device:
    case deregister_device:
    case handle_export:
    case handle_open:
    case handle_close:
      return "memory and handles";
  }
  if (probed->how == bench::Probed::How::start) return "calls of the CPU";
  if (probed->gpus > 1) return "several GPUs at once";
  if (probed->peer != bench::Probed::Peer::none) return "peer copies";
  if (probed->from == Memory::device && probed->to == Memory::device) return "copies within a GPU";
  if (probed->from != Memory::device && probed->to != Memory::device) return "copies by the CPU";
  if (probed->from == Memory::pageable || probed->to == Memory::pageable) return "pageable copies";
  if (probed->how == bench::Probed::How::both_ways) return "several GPUs at once";
  return probed->from == Memory::device ? "copies to the host" : "copies from the host";
}

std::vector<Imported> read_tables(const std::filesystem::path& file, const std::string& name,
                                  const FleetWishes& wishes) {
  std::ifstream stream(file);
  if (!stream) throw InputError(name + ": error: cannot be read");
  const Content content = read_content(stream, name);
  const std::optional<Tool> tool = recognise(content);
  if (!tool) {
    const auto* const document = std::get_if<json>(&content);
    if (document == nullptr || !is_ours(*document)) {
      throw InputError(name + ": error: neither a result of this project nor of a tool that import knows");
    }
    return {read_own(*document, name)};
  }
  ImportWishes each;
  if (*tool == Tool::nvbandwidth) {
    each.size = wishes.size;
    return {import_content(*tool, content, name, each)};
  }
  each.ranks = wishes.ranks;
  try {
    return {import_content(*tool, content, name, each)};
  } catch (const UsageError& error) {
    // Either --ranks is of no use to it, which it says, or it holds several tables, which are all wanted.
    each.ranks.reset();
    const std::string why = error.what();
    if (why.find(" tables, of which --table N") == std::string::npos) {
      if (!why.starts_with("--ranks")) throw;
      return {import_content(*tool, content, name, each)};
    }
  }
  std::vector<Imported> tables;
  for (each.table = 1;; ++*each.table) {
    try {
      tables.push_back(import_content(*tool, content, name, each));
    } catch (const UsageError& error) {
      const bool past_end = std::string(error.what()).starts_with(fmt::format("--table {}:", *each.table));
      if (!past_end || tables.empty()) throw;
      return tables;
    }
  }
}

NodeFile file_of(const Imported& table, const std::string& name) {
  if (const auto* probes = std::get_if<bench::ProbeFile>(&table)) return from_probes(*probes, name);
  if (const auto* workload = std::get_if<bench::WorkloadFile>(&table)) return from_workload(*workload, name);
  return from_result(std::get<bench::Result>(table), name);
}

}  // namespace twinlink::validate
