#include "protocols/bench/workload/workload_file.hpp"

#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/results/frame.hpp"

namespace twinlink::bench {
namespace {

constexpr auto kMostInt = static_cast<std::uint64_t>(std::numeric_limits<int>::max());

nlohmann::json to_json(const WorkloadPoint& p) {
  nlohmann::json point{{"bytes", p.size.count()},
                       {"algorithm", p.algorithm},
                       {"steps", p.steps},
                       {"fastest_us", p.fastest_us},
                       {"slowest_rank", p.slowest_rank},
                       {"predicted_us", p.predicted_us},
                       {"algorithm_MBps", p.algorithm_MBps},
                       {"bus_MBps", p.bus_MBps},
                       {"verified", p.verified}};
  write_statistics(point, p.time_us);
  if (!p.why.empty()) point["why"] = p.why;
  if (p.training) {
    point["compute_us"] = p.training->compute_us;
    point["communication_us"] = p.training->communication_us;
    point["exposed_us"] = p.training->exposed_us(p.time_us.median);
    point["hidden_us"] = p.training->hidden_us(p.time_us.median);
    point["buckets"] = p.training->buckets;
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

TrainingPart read_training(Members& members) {
  // Both follow from the others.
  static_cast<void>(members.number("exposed_us"));
  static_cast<void>(members.number("hidden_us"));
  return {.compute_us = members.number("compute_us"),
          .communication_us = members.number("communication_us"),
          .buckets = members.count("buckets")};
}

/// Puts what is known of the links and the critical path into the file's own lists.
WorkloadPoint read_point(Members members, WorkloadFile& file) {
  WorkloadPoint point{.size = Bytes{members.count("bytes", kMostBytes)},
                      .algorithm = members.text("algorithm"),
                      .why = members.has("why") ? members.text("why") : "",
                      .steps = members.count("steps"),
                      .time_us = read_statistics(members),
                      .fastest_us = members.number("fastest_us"),
                      .slowest_rank = static_cast<int>(members.count("slowest_rank", kMostInt)),
                      .predicted_us = members.number("predicted_us"),
                      .algorithm_MBps = members.number("algorithm_MBps"),
                      .bus_MBps = members.number("bus_MBps"),
                      .verified = members.flag("verified")};
  if (members.has("compute_us")) point.training = read_training(members);
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
  nlohmann::json json = frame_of(file, kWorkloadKind, kWorkloadSchema);
  json.update({{"workload", series.workload},
               {"protocol", series.protocol},
               {"protocol_between_nodes", series.protocol_between},
               {"settings", series.settings},
               {"ranks", series.ranks},
               {"nodes", series.nodes},
               {"places", series.places},
               {"counters", series.counters},
               {"points", nlohmann::json::array()}});
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    nlohmann::json point = to_json(series.points[i]);
    if (i < file.links.size()) point["links"] = *file.links[i];
    if (i < file.critical_paths.size()) point["critical_path"] = *file.critical_paths[i];
    json["points"].push_back(std::move(point));
  }
  return json;
}

WorkloadFile workload_from_json(const nlohmann::json& json, const std::string& origin) {
  Members members(json, origin);
  WorkloadFile file;
  read_frame(members, kWorkloadKind, kWorkloadSchema, file);
  WorkloadSeries& series = file.series;
  series.workload = members.text("workload");
  series.protocol = members.text("protocol");
  series.protocol_between = members.text("protocol_between_nodes");
  series.settings = members.text("settings");
  series.ranks = static_cast<int>(members.count("ranks", kMostInt));
  series.nodes = static_cast<int>(members.count("nodes", kMostInt));
  series.places = members.text_list("places");
  Members counters = members.members("counters");
  for (const auto& counter : members.object("counters").items()) {
    series.counters[counter.key()] = counters.count(counter.key());
  }
  for (const nlohmann::json& point : members.array("points")) {
    const std::string where = fmt::format("points[{}]", series.points.size());
    series.points.push_back(read_point({point, origin, where}, file));
  }
  members.done();
  return file;
}

}  // namespace twinlink::bench
