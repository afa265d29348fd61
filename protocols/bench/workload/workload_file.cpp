#include "protocols/bench/workload/workload_file.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/results/frame.hpp"
#include "protocols/bench/results/json_statistics.hpp"

namespace twinlink::bench {
namespace {

constexpr auto kMostInt = static_cast<std::uint64_t>(std::numeric_limits<int>::max());

nlohmann::json to_json(const WorkloadPoint& p, Provenance provenance) {
  nlohmann::json point{{"bytes", p.size.count()},
                       {"algorithm", p.algorithm},
                       {"algorithm_MBps", p.algorithm_MBps},
                       {"bus_MBps", p.bus_MBps},
                       {"verified", p.verified}};
  const auto add = [&](const char* name, auto value) {
    if (provenance == Provenance::own || value != 0) point[name] = value;
  };
  add("steps", p.steps);
  add("fastest_us", p.fastest_us);
  add("slowest_rank", p.slowest_rank);
  if (p.predicted_us != 0) point["predicted_us"] = p.predicted_us;
  write_statistics(point, p.time_us);
  if (!p.form.empty()) point["form"] = p.form;
  if (!p.why.empty()) point["why"] = p.why;
  if (p.training) {
    point["compute_us"] = p.training->compute_us;
    point["communication_us"] = p.training->communication_us;
    point["exposed_us"] = p.training->exposed_us(p.time_us.median);
    point["hidden_us"] = p.training->hidden_us(p.time_us.median);
    point["buckets"] = p.training->buckets;
    if (p.training->bubble_us > 0) point["bubble_us"] = p.training->bubble_us;
    for (const TrainingDimension& each : p.training->dimensions) {
      point["dimensions"].push_back({{"name", each.name},
                                     {"ranks", each.ranks},
                                     {"alone_us", each.alone_us},
                                     {"exposed_us", each.exposed_us},
                                     {"hidden_us", each.hidden_us()}});
    }
  }
  if (p.array) {
    point["packing_us"] = p.array->packing_us;
    point["exchange_us"] = p.array->exchange_us;
    point["hidden_us"] = p.array->hidden_us(p.time_us.median);
    if (p.array->gflops > 0) point["transforms_us"] = p.array->transforms_us;
    if (p.array->gflops > 0) point["gflops"] = p.array->gflops;
  }
  for (const RankPart& part : p.ranks) {
    point["ranks"].push_back({{"ended_us", part.ended_us},
                              {"waited_us", part.waited_us},
                              {"tasks", part.tasks},
                              {"sent_bytes", part.sent.count()}});
  }
  return point;
}

RankPart read_part(Members members) {
  RankPart part{.ended_us = members.number("ended_us"),
                .waited_us = members.number("waited_us"),
                .tasks = members.count("tasks"),
                .sent = Bytes{members.count("sent_bytes", kMostBytes)}};
  members.done();
  return part;
}

TrainingDimension read_dimension(Members members) {
  static_cast<void>(members.number("hidden_us"));  // follows from the others
  TrainingDimension dimension{.name = members.text("name"),
                              .ranks = static_cast<int>(members.count("ranks", kMostInt)),
                              .alone_us = members.number("alone_us"),
                              .exposed_us = members.number("exposed_us")};
  members.done();
  return dimension;
}

TrainingPart read_training(Members& members) {
  // Both follow from the others.
  static_cast<void>(members.number("exposed_us"));
  static_cast<void>(members.number("hidden_us"));
  TrainingPart part{.compute_us = members.number("compute_us"),
                    .communication_us = members.number("communication_us"),
                    .buckets = members.count("buckets")};
  if (members.has("bubble_us")) part.bubble_us = members.number("bubble_us");
  if (!members.has("dimensions")) return part;
  for (const nlohmann::json& each : members.array("dimensions")) {
    const std::string where = fmt::format("{}[{}]", members.path("dimensions"), part.dimensions.size());
    part.dimensions.push_back(read_dimension({each, members.origin(), where}));
  }
  return part;
}

ArrayPart read_array(Members& members) {
  static_cast<void>(members.number("hidden_us"));  // follows from the others
  ArrayPart part{.packing_us = members.number("packing_us"), .exchange_us = members.number("exchange_us")};
  if (!members.has("gflops")) return part;
  part.transforms_us = members.number("transforms_us");
  part.gflops = members.number("gflops");
  return part;
}

std::map<std::string, std::uint64_t> read_counters(Members& members) {
  std::map<std::string, std::uint64_t> counters;
  Members values = members.members("counters");
  for (const auto& counter : members.object("counters").items()) counters[counter.key()] = values.count(counter.key());
  return counters;
}

/// Puts what is known of the links and the critical path into the file's own lists.
WorkloadPoint read_point(Members members, Provenance provenance, WorkloadFile& file) {
  const auto told = [&](const char* name) { return provenance == Provenance::own || members.has(name); };
  WorkloadPoint point{
      .size = Bytes{members.count("bytes", kMostBytes)},
      .algorithm = members.text("algorithm"),
      .form = members.has("form") ? members.text("form") : "",
      .why = members.has("why") ? members.text("why") : "",
      .steps = told("steps") ? members.count("steps") : 0,
      .time_us = read_statistics(members, provenance),
      .fastest_us = told("fastest_us") ? members.number("fastest_us") : 0,
      .slowest_rank = told("slowest_rank") ? static_cast<int>(members.count("slowest_rank", kMostInt)) : 0,
      .predicted_us = members.has("predicted_us") ? members.number("predicted_us") : 0,
      .algorithm_MBps = members.number("algorithm_MBps"),
      .bus_MBps = members.number("bus_MBps"),
      .verified = members.flag("verified")};
  if (members.has("compute_us")) point.training = read_training(members);
  if (members.has("packing_us")) point.array = read_array(members);
  if (members.has("ranks")) {
    for (const nlohmann::json& part : members.array("ranks")) {
      point.ranks.push_back(
          read_part({part, members.origin(), fmt::format("{}[{}]", members.path("ranks"), point.ranks.size())}));
    }
  }
  if (members.has("links")) file.links.emplace_back(nlohmann::json(members.array("links")));
  if (members.has("critical_path")) file.critical_paths.emplace_back(nlohmann::json(members.array("critical_path")));
  members.done();
  return point;
}

}  // namespace

nlohmann::json to_json(const WorkloadFile& file) {
  const WorkloadSeries& series = file.series;
  const Provenance provenance = provenance_of(file.environment);
  const bool own = provenance == Provenance::own;
  nlohmann::json json = frame_of(file, kWorkloadKind, kWorkloadSchema);
  json.update({{"workload", series.workload}, {"ranks", series.ranks}, {"points", nlohmann::json::array()}});
  write_text(json, "protocol", series.protocol, provenance);
  write_text(json, "protocol_between_nodes", series.protocol_between, provenance);
  if (!series.protocol_between_domains.empty()) json["protocol_between_domains"] = series.protocol_between_domains;
  write_text(json, "settings", series.settings, provenance);
  if (own || series.nodes != 0) json["nodes"] = series.nodes;
  if (own || !series.places.empty()) json["places"] = series.places;
  if (own || !series.counters.empty()) json["counters"] = series.counters;
  if (!own && !series.notes.empty()) json["notes"] = series.notes;
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    nlohmann::json point = to_json(series.points[i], provenance);
    if (i < file.links.size()) point["links"] = *file.links[i];
    if (i < file.critical_paths.size()) point["critical_path"] = *file.critical_paths[i];
    json["points"].push_back(std::move(point));
  }
  return json;
}

WorkloadFile workload_from_json(const nlohmann::json& json, const std::string& origin) {
  Members members(json, origin);
  WorkloadFile file;
  const Provenance provenance = read_frame(members, kWorkloadKind, kWorkloadSchema, file);
  const auto told = [&](const char* name) { return provenance == Provenance::own || members.has(name); };
  WorkloadSeries& series = file.series;
  series.workload = members.text("workload");
  series.protocol = read_text(members, "protocol", provenance);
  series.protocol_between = read_text(members, "protocol_between_nodes", provenance);
  if (members.has("protocol_between_domains")) {
    series.protocol_between_domains = members.text("protocol_between_domains");
  }
  series.settings = read_text(members, "settings", provenance);
  series.ranks = static_cast<int>(members.count("ranks", kMostInt));
  if (told("nodes")) series.nodes = static_cast<int>(members.count("nodes", kMostInt));
  if (told("places")) series.places = members.text_list("places");
  if (told("counters")) series.counters = read_counters(members);
  if (provenance == Provenance::imported && members.has("notes")) series.notes = members.text_list("notes");
  for (const nlohmann::json& point : members.array("points")) {
    const std::string where = fmt::format("points[{}]", series.points.size());
    series.points.push_back(read_point({point, origin, where}, provenance, file));
  }
  members.done();
  return file;
}

}  // namespace twinlink::bench
