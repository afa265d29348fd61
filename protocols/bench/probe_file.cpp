#include <fmt/format.h>

#include "protocols/bench/files.hpp"
#include "protocols/bench/json_members.hpp"
#include "protocols/bench/json_statistics.hpp"
#include "protocols/bench/probe_lines.hpp"

namespace twinlink::bench {

nlohmann::json to_json(const ProbeFindings& findings) {
  nlohmann::json lines = nlohmann::json::array();
  for (const ProbeLine& line : findings.lines) {
    nlohmann::json json{{"name", line.name},
                        {"gpu", line.gpu},
                        {"peer", line.peer},
                        {"bytes", line.size.count()},
                        {"bandwidth_MBps", line.bandwidth_MBps}};
    write_statistics(json, line.time_us);
    lines.push_back(std::move(json));
  }
  return {{"notes", findings.notes}, {"lines", std::move(lines)}};
}

ProbeFindings read_findings(Members& members) {
  ProbeFindings findings;
  for (const nlohmann::json& note : members.array("notes")) {
    if (!note.is_string()) members.fail("notes", "holds something that is no text");
    findings.notes.push_back(note.get<std::string>());
  }
  for (const nlohmann::json& json : members.array("lines")) {
    Members line(json, members.origin(), fmt::format("lines[{}]", findings.lines.size()));
    findings.lines.push_back({.name = line.text("name"),
                              .gpu = line.text("gpu"),
                              .peer = line.text("peer"),
                              .size = Bytes{line.count("bytes")},
                              .time_us = read_statistics(line),
                              .bandwidth_MBps = line.number("bandwidth_MBps")});
    line.done();
  }
  return findings;
}

nlohmann::json to_json(const ProbeFile& probes) {
  nlohmann::json json = to_json(probes.findings);
  json["schema"] = kProbeSchema;
  json["kind"] = kProbeKind;
  json["world"] = probes.world;
  json["program"] = probes.program;
  json["command"] = probes.command;
  json["environment"] = probes.environment.is_null() ? nlohmann::json::object() : probes.environment;
  return json;
}

ProbeFile probes_from_json(const nlohmann::json& json, const std::string& origin) {
  Members members(json, origin);
  check_schema(members, kProbeKind, kProbeSchema);
  ProbeFile probes{.world = read_world(members),
                   .program = members.text("program"),
                   .command = members.text("command"),
                   .environment = members.object("environment"),
                   .findings = read_findings(members)};
  members.done();
  return probes;
}

void write_json(const ProbeFile& probes, const std::filesystem::path& file) { write_json_file(file, to_json(probes)); }

ProbeFile read_probes(const std::filesystem::path& file) {
  return probes_from_json(read_json_file(file), file.string());
}

}  // namespace twinlink::bench
