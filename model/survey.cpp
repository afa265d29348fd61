#include "model/survey.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/child_process.hpp"
#include "model/simulation.hpp"
#include "model/topology.hpp"
#include "protocols/bench/driver.hpp"
#include "protocols/bench/files.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

constexpr std::string_view kRefused = "refused";  // the member of a child's answer that tells why there are no times

/// One simulation: one tuning of one protocol, at all sizes at which it differs from the others.
struct Task {
  const Protocol* protocol = nullptr;
  Tuning tuning{};
  std::vector<Bytes> sizes{};
};

void add_tasks(std::vector<Task>& tasks, const Protocol& protocol, const SurveyPlan& plan) {
  const SearchSpace space = plan.space(protocol);
  const auto first = static_cast<std::ptrdiff_t>(tasks.size());
  for (const Bytes size : plan.sizes) {
    for (const Tuning& tuning : tunings_at(size, plan.window, space)) {
      auto task = std::ranges::find(tasks.begin() + first, tasks.end(), tuning, &Task::tuning);
      if (task == tasks.end()) task = tasks.insert(task, {.protocol = &protocol, .tuning = tuning});
      task->sizes.push_back(size);
    }
  }
}

/// Warm times do not vary in a simulation, so one round is enough once buffers have grown and handles are open. The
/// payload is proved by its content tags, as in every run.
bench::Plan plan_of(const Task& task, const SurveyPlan& survey) {
  constexpr bench::Repeats kOnce{.warmup = 1, .iterations = 1};
  Settings settings = task.protocol->defaults();
  settings.chunk = task.tuning.chunk;
  settings.depth = task.tuning.depth;
  return {.pattern = survey.pattern,
          .sizes = task.sizes,
          .window = survey.window,
          .small = kOnce,
          .large = kOnce,
          .settings = settings};
}

/// In a child process: the times as JSON, or why the protocol refuses the settings.
std::string simulate_task(const Task& task, const Platform& platform, const SurveyPlan& survey) {
  const bench::Plan plan = plan_of(task, survey);
  bench::Series series;
  try {
    simulate(platform, survey.places, [&](Rank& rank) {
      bench::Series mine = bench::measure(rank, *task.protocol, plan);
      if (rank.id() == plan.first) series = std::move(mine);
    });
  } catch (const UsageError& error) {
    return bench::to_text({{kRefused, error.what()}});
  } catch (const UnavailableError& error) {
    return bench::to_text({{kRefused, error.what()}});
  }
  nlohmann::json answer = nlohmann::json::array();
  for (const bench::Point& point : series.points) {
    answer.push_back({{"bytes", point.size.count()}, {"time_us", point.time_us.median}, {"path", point.path}});
  }
  return bench::to_text(answer);
}

std::vector<std::string> simulate_tasks(const std::vector<Task>& tasks, const Platform& platform,
                                        const SurveyPlan& plan) {
  std::vector<std::function<std::string()>> works;
  for (const Task& task : tasks) works.emplace_back([&] { return simulate_task(task, platform, plan); });
  return in_child_processes(works, plan.at_once);
}

/// Adds the times that `answer` holds to those of its protocol. Returns why there are none; empty if there are.
std::string take_answer(Contestant& contestant, const Task& task, const std::string& text) {
  const nlohmann::json answer = nlohmann::json::parse(text);
  if (answer.is_object()) return answer.at(kRefused).get<std::string>();
  for (const nlohmann::json& point : answer) {
    contestant.samples[Bytes{point.at("bytes").get<std::uint64_t>()}].push_back(
        {task.tuning, point.at("time_us").get<double>(), point.at("path").get<std::string>()});
  }
  return {};
}

/// The refusals of one protocol.
struct Refusals {
  int count = 0;
  std::string first{};

  void add(const std::string& why) {
    if (count++ == 0) first = why;
  }
};

}  // namespace

Survey make_survey(const Platform& platform, const SurveyPlan& plan, bool with_references) {
  const Path path = Topology(platform).path(plan.places[0], plan.places[1]);
  Survey survey;
  std::vector<Task> tasks;
  for (const Protocol* protocol : all_protocols()) {
    const std::string name(protocol->name());
    const Support support = protocol->supports(path);
    if (!support.usable()) {
      survey.left_out.push_back({name, "refused: " + support.reason});
    } else if (protocol->message_memory() != Memory::device && !with_references) {
      survey.left_out.push_back({name, "a reference only: it moves host memory"});
    } else {
      if (support.kind == Support::Kind::fallback) survey.remarks.push_back({name, "falls back: " + support.reason});
      add_tasks(tasks, *protocol, plan);
    }
  }

  const std::vector<std::string> answers = simulate_tasks(tasks, platform, plan);
  for (std::size_t first = 0; first < tasks.size();) {
    const Protocol& protocol = *tasks[first].protocol;
    Contestant contestant{.protocol = std::string(protocol.name())};
    Refusals refusals;
    std::size_t next = first;
    for (; next < tasks.size() && tasks[next].protocol == &protocol; ++next) {
      if (const std::string why = take_answer(contestant, tasks[next], answers[next]); !why.empty()) refusals.add(why);
    }
    if (contestant.samples.empty()) {
      survey.left_out.push_back({contestant.protocol, "refused: " + refusals.first});
    } else {
      if (refusals.count > 0) {
        survey.remarks.push_back({contestant.protocol, fmt::format("refuses {} of {} settings: {}", refusals.count,
                                                                   next - first, refusals.first)});
      }
      auto& list = protocol.message_memory() == Memory::device ? survey.contestants : survey.references;
      list.push_back(std::move(contestant));
    }
    first = next;
  }
  return survey;
}

void simulate_missing(std::vector<Contestant>& contestants, const std::vector<SingleTuning>& tunings,
                      const Platform& platform, const SurveyPlan& plan) {
  std::vector<Task> tasks;
  for (const auto& [protocol, tuning, loss, missing] : tunings) {
    const Protocol* const known = &find_protocol(protocol);
    const bool listed =
        std::ranges::any_of(tasks, [&](const Task& task) { return task.protocol == known && task.tuning == tuning; });
    if (!missing.empty() && !listed) tasks.push_back({.protocol = known, .tuning = tuning, .sizes = missing});
  }
  const std::vector<std::string> answers = simulate_tasks(tasks, platform, plan);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const std::string_view name = tasks[i].protocol->name();
    take_answer(*std::ranges::find(contestants, name, &Contestant::protocol), tasks[i], answers[i]);
  }
}

int cores() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

}  // namespace twinlink::model
