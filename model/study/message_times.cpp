#include "model/study/message_times.hpp"

#include <nlohmann/json.hpp>

#include "model/study/child_process.hpp"
#include "model/study/warm_messages.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/bench/results/files.hpp"

namespace twinlink::model {
namespace {

/// In a child process.
std::string simulate_times(const std::function<Platform()>& make_platform, const TimesPlan& plan) {
  return answer_or_refusal([&] {
    const Platform platform = make_platform();
    const Topology topology(platform);
    require_support(*plan.protocol, topology.path(plan.places[0], plan.places[1]));
    const bench::Series series = warm_series(platform, plan.places, *plan.protocol,
                                             warm_plan(plan.pattern, plan.sizes, plan.window, plan.settings));
    nlohmann::json times = nlohmann::json::array();
    for (const bench::Point& point : series.points) times.push_back(point.time_us.median);
    return bench::to_text({{"us", times}, {"path", series.points.back().path}});
  });
}

MessageTimes read_answer(const std::string& text) {
  const nlohmann::json answer = nlohmann::json::parse(text);
  if (answer.contains(kRefused)) return {.refused = answer.at(kRefused).get<std::string>()};
  if (std::string why = why_no_answer(answer); !why.empty()) return {.refused = std::move(why)};
  MessageTimes times{.path = answer.at("path").get<std::string>()};
  for (const nlohmann::json& time : answer.at("us")) times.us.push_back(to_picoseconds(time.get<double>()));
  return times;
}

}  // namespace

std::vector<MessageTimes> message_times(std::span<const std::function<Platform()>> platforms, const TimesPlan& plan) {
  std::vector<std::function<std::string()>> works;
  for (const auto& platform : platforms) works.emplace_back([&] { return simulate_times(platform, plan); });
  std::vector<MessageTimes> all;
  for (const std::string& text : in_child_processes(works, plan.at_once, plan.on_progress)) {
    all.push_back(read_answer(text));
  }
  return all;
}

}  // namespace twinlink::model
