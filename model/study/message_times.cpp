#include "model/study/message_times.hpp"

#include <cmath>
#include <cstdint>

#include <nlohmann/json.hpp>

#include "model/engine/simulation.hpp"
#include "model/platform/topology.hpp"
#include "model/study/child_process.hpp"
#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/measure/driver.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::model {
namespace {

const std::string kRefusedKey = "refused";

/// To the simulation's own precision, so that equal times are equal.
double to_picoseconds(double time_us) { return std::round(time_us * 1e6) / 1e6; }

std::string refusal(const std::string& why) { return bench::to_text({{kRefusedKey, why}}); }

/// In a child process. Without rounds to warm up: the round that proves the payload comes first.
std::string simulate_times(const std::function<Platform()>& make_platform, const TimesPlan& plan) {
  bench::Repeats repeats = bench::simulated_repeats().latency_small;
  repeats.warmup = 0;
  const bench::Plan run{.pattern = plan.pattern,
                        .sizes = plan.sizes,
                        .window = plan.window,
                        .small = repeats,
                        .large = repeats,
                        .settings = plan.settings};
  bench::Series series;
  try {
    const Platform platform = make_platform();
    const Topology topology(platform);
    require_support(*plan.protocol, topology.path(plan.places[0], plan.places[1]));
    simulate(platform, plan.places, [&](Rank& rank) {
      bench::Series mine = bench::measure(rank, *plan.protocol, run);
      if (rank.id() == run.first) series = std::move(mine);
    });
  } catch (const UsageError& error) {
    return refusal(error.what());
  } catch (const UnavailableError& error) {
    return refusal(error.what());
  }
  nlohmann::json times = nlohmann::json::array();
  for (const bench::Point& point : series.points) times.push_back(point.time_us.median);
  return bench::to_text({{"us", times}, {"path", series.points.back().path}});
}

MessageTimes read_answer(const std::string& text) {
  const nlohmann::json answer = nlohmann::json::parse(text);
  if (answer.contains(kRefusedKey)) return {.refused = answer.at(kRefusedKey).get<std::string>()};
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
