#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/probe/probe.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/frame.hpp"
#include "protocols/bench/results/json_members.hpp"
#include "protocols/bench/results/json_statistics.hpp"

namespace twinlink::bench {
namespace {

nlohmann::json to_json(const ProbeFindings& findings) {
  nlohmann::json lines = nlohmann::json::array();
  for (const ProbeLine& line : findings.lines) {
    nlohmann::json json{{"name", line.name},
                        {"gpu", line.gpu},
                        {"peer", line.peer},
                        {"bytes", line.size.count()},
                        {"bandwidth_MBps", line.bandwidth_MBps}};
    write_statistics(json, line.time_us);
    write_samples(json, line.samples_us);
    lines.push_back(std::move(json));
  }
  return {{"notes", findings.notes}, {"lines", std::move(lines)}};
}

ProbeFindings read_findings(Members& members, Provenance provenance) {
  ProbeFindings findings{.notes = members.text_list("notes")};
  for (const nlohmann::json& json : members.array("lines")) {
    Members line(json, members.origin(), fmt::format("lines[{}]", findings.lines.size()));
    findings.lines.push_back({.name = line.text("name"),
                              .gpu = line.text("gpu"),
                              .peer = line.text("peer"),
                              .size = Bytes{line.count("bytes", kMostBytes)},
                              .time_us = read_statistics(line, provenance),
                              .bandwidth_MBps = line.number("bandwidth_MBps"),
                              .samples_us = read_samples(line)});
    line.done();
  }
  return findings;
}

}  // namespace

nlohmann::json to_json(const ProbeFile& probes) {
  nlohmann::json json = frame_of(probes, kProbeKind, kProbeSchema);
  json.update(to_json(probes.findings));
  return json;
}

ProbeFile probes_from_json(const nlohmann::json& json, const std::string& origin) {
  Members members(json, origin);
  ProbeFile probes;
  const Provenance provenance = read_frame(members, kProbeKind, kProbeSchema, probes);
  probes.findings = read_findings(members, provenance);
  members.done();
  return probes;
}

void write_json(const ProbeFile& probes, const std::filesystem::path& file) { write_json_file(file, to_json(probes)); }

ProbeFile read_probes(const std::filesystem::path& file) {
  return probes_from_json(read_json_file(file), file.string());
}

}  // namespace twinlink::bench
