#include "model/study/message_times.hpp"

#include <algorithm>
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
nlohmann::json answer_of(const std::function<MessageTimes()>& simulate) {
  const MessageTimes times = times_or_refusal(simulate);
  nlohmann::json sizes = nlohmann::json::array();
  for (const Bytes size : times.sizes) sizes.push_back(size.count());
  return {{"us", times.us},           {"ways", times.ways},        {"path", times.path},
          {"refused", times.refused}, {"bytes", std::move(sizes)}, {"algorithms", times.algorithms}};
}

MessageTimes read_answer(const nlohmann::json& answer) {
  MessageTimes times{.ways = answer.at("ways").get<std::vector<std::string>>(),
                     .path = answer.at("path").get<std::string>(),
                     .refused = answer.at("refused").get<std::string>(),
                     .algorithms = answer.at("algorithms").get<std::vector<std::string>>()};
  for (const nlohmann::json& time : answer.at("us")) times.us.push_back(to_picoseconds(time.get<double>()));
  for (const nlohmann::json& size : answer.at("bytes")) times.sizes.emplace_back(size.get<std::uint64_t>());
  return times;
}

/// In child processes that each have several, for to begin one takes as long as a short simulation.
std::vector<MessageTimes> in_children(std::size_t count, const std::function<nlohmann::json(std::size_t)>& answer,
                                      std::size_t each, int at_once, const bench::OnProgress& on_progress) {
  const std::size_t children = (count + each - 1) / each;
  std::vector<std::function<std::string()>> works;
  for (std::size_t child = 0; child < children; ++child) {
    // Neighbours take about as long: each child has some of all.
    works.emplace_back([&, child] {
      nlohmann::json answers = nlohmann::json::array();
      for (std::size_t i = child; i < count; i += children) answers.push_back(answer(i));
      return bench::to_text(answers);
    });
  }
  bench::OnProgress tell;
  if (on_progress) tell = [&](std::size_t ended, std::size_t) { on_progress(ended * count / children, count); };
  const std::vector<std::string> texts = in_child_processes(works, at_once, tell);
  std::vector<MessageTimes> all(count);
  for (std::size_t child = 0; child < children; ++child) {
    std::size_t i = child;
    for (const nlohmann::json& one : nlohmann::json::parse(texts[child])) {
      all[i] = read_answer(one);
      i += children;
    }
  }
  return all;
}

}  // namespace

Timed timed(const TimesPlan& plan, int at_once, bench::OnProgress on_progress) {
  return {.simulate = [plan](const Platform& platform) { return simulate_messages(platform, plan); },
          .shares_process = true,
          .at_once = at_once,
          .on_progress = std::move(on_progress)};
}

std::vector<MessageTimes> message_times(std::span<const std::function<Platform()>> platforms, const Timed& what) {
  const auto answer = [&](std::size_t i) { return answer_of([&] { return what.simulate(platforms[i]()); }); };
  return in_children(platforms.size(), answer, 1, what.at_once, what.on_progress);
}

std::vector<MessageTimes> times_on(const Platform& platform, std::span<const Timed> all, int at_once,
                                   const bench::OnProgress& on_progress) {
  constexpr std::size_t kMost = 32;
  const bool may_share = std::ranges::all_of(all, &Timed::shares_process);
  const std::size_t each = all.size() / (static_cast<std::size_t>(at_once) * 4);
  const auto answer = [&](std::size_t i) { return answer_of([&] { return all[i].simulate(platform); }); };
  return in_children(all.size(), answer, may_share ? std::clamp<std::size_t>(each, 1, kMost) : 1, at_once, on_progress);
}

}  // namespace twinlink::model
