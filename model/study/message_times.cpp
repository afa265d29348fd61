#include "model/study/message_times.hpp"

#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/study/child_process.hpp"
#include "model/study/warm_messages.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/bench/measure/check_error.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::model {
namespace {

MessageTimes simulate_messages(const Platform& platform, const TimesPlan& plan) {
  const Topology topology(platform);
  require_support(*plan.protocol, topology.path(plan.places[0], plan.places[1]));
  const bench::Series series = warm_series(platform, plan.places, *plan.protocol,
                                           warm_plan(plan.pattern, plan.sizes, plan.window, plan.settings));
  MessageTimes times{.path = series.points.back().path};
  for (const bench::Point& point : series.points) {
    times.us.push_back(point.time_us.median);
    times.ways.push_back(point.path);
  }
  return times;
}

/// simulate() or, where settings or a way are refused or a message is not delivered, why there are no times.
MessageTimes times_or_refusal(const std::function<MessageTimes()>& simulate) {
  try {
    return simulate();
  } catch (const UsageError& error) {
    return {.refused = error.what()};
  } catch (const UnavailableError& error) {
    return {.refused = error.what()};
  } catch (const bench::NotDelivered& error) {
    return {.refused = fmt::format("{}: {}", kNotDelivered, error.what())};
  }
}

/// In a child process.
std::string answer_of(const std::function<MessageTimes()>& simulate) {
  const MessageTimes times = times_or_refusal(simulate);
  nlohmann::json sizes = nlohmann::json::array();
  for (const Bytes size : times.sizes) sizes.push_back(size.count());
  return bench::to_text({{"us", times.us},
                         {"ways", times.ways},
                         {"path", times.path},
                         {"refused", times.refused},
                         {"bytes", std::move(sizes)},
                         {"algorithms", times.algorithms}});
}

MessageTimes read_answer(const std::string& text) {
  const nlohmann::json answer = nlohmann::json::parse(text);
  MessageTimes times{.ways = answer.at("ways").get<std::vector<std::string>>(),
                     .path = answer.at("path").get<std::string>(),
                     .refused = answer.at("refused").get<std::string>(),
                     .algorithms = answer.at("algorithms").get<std::vector<std::string>>()};
  for (const nlohmann::json& time : answer.at("us")) times.us.push_back(to_picoseconds(time.get<double>()));
  for (const nlohmann::json& size : answer.at("bytes")) times.sizes.emplace_back(size.get<std::uint64_t>());
  return times;
}

std::vector<MessageTimes> read_answers(const std::vector<std::string>& texts) {
  std::vector<MessageTimes> all;
  for (const std::string& text : texts) all.push_back(read_answer(text));
  return all;
}

}  // namespace

Timed timed(const TimesPlan& plan, int at_once, bench::OnProgress on_progress) {
  return {.simulate = [plan](const Platform& platform) { return simulate_messages(platform, plan); },
          .at_once = at_once,
          .on_progress = std::move(on_progress)};
}

std::vector<MessageTimes> message_times(std::span<const std::function<Platform()>> platforms, const Timed& what) {
  std::vector<std::function<std::string()>> works;
  for (const auto& platform : platforms) {
    works.emplace_back([&] { return answer_of([&] { return what.simulate(platform()); }); });
  }
  return read_answers(in_child_processes(works, what.at_once, what.on_progress));
}

std::vector<MessageTimes> times_on(const Platform& platform, std::span<const Timed> all, int at_once,
                                   const bench::OnProgress& on_progress) {
  std::vector<std::function<std::string()>> works;
  for (const Timed& what : all) {
    works.emplace_back([&] { return answer_of([&] { return what.simulate(platform); }); });
  }
  return read_answers(in_child_processes(works, at_once, on_progress));
}

}  // namespace twinlink::model
