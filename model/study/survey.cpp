#include "model/study/survey.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/platform/topology.hpp"
#include "model/study/child_process.hpp"
#include "model/study/warm_messages.hpp"
#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

/// A variant, and the settings that its tunings are put into.
struct Candidate {
  Variant who{};
  const Protocol* protocol = nullptr;
  Settings base{};

  /// Settings with a chunk of their own may have no other meaning for zero, or one of their own.
  [[nodiscard]] Bytes whole(const SurveyPlan& plan) const {
    return base.chunk == Bytes{} ? Bytes{} : plan.sizes.back();
  }
};

/// The protocol with its defaults and with its presets; those that differ from one before in chunk and depth alone only
/// if the plan wants all.
std::vector<Candidate> candidates_of(const Protocol& protocol, const SurveyPlan& plan) {
  const std::string name(protocol.name());
  const auto base = [&](std::string_view preset) {
    return bench::make_settings(protocol, {.preset = std::string(preset), .options = plan.options});
  };
  std::vector<Candidate> candidates{{.who = {name, ""}, .protocol = &protocol, .base = base("")}};
  for (const Preset& preset : protocol.presets()) {
    Settings settings = base(preset.name);
    const bool known = std::ranges::any_of(
        candidates, [&](const Candidate& candidate) { return candidate.base.options == settings.options; });
    if (known && !plan.all_presets) continue;
    candidates.push_back({.who = {name, std::string(preset.name)}, .protocol = &protocol, .base = std::move(settings)});
  }
  return candidates;
}

/// One simulation: one tuning of one candidate, at all sizes at which it differs from the others.
struct Task {
  Candidate candidate{};
  Tuning tuning{};
  std::vector<Bytes> sizes{};
};

bench::Plan plan_of(const Task& task, const SurveyPlan& survey) {
  Settings settings = task.candidate.base;
  settings.chunk = task.tuning.chunk == Bytes{} ? task.candidate.whole(survey) : task.tuning.chunk;
  settings.depth = task.tuning.depth;
  return warm_plan(survey.pattern, task.sizes, survey.window, std::move(settings));
}

/// In a child process: the times as JSON, or why the protocol refuses the settings.
std::string simulate_task(const Task& task, const Platform& platform, const SurveyPlan& survey) {
  return answer_or_refusal([&] {
    const bench::Series series = warm_series(platform, survey.places, *task.candidate.protocol, plan_of(task, survey));
    nlohmann::json answer = nlohmann::json::array();
    for (const bench::Point& point : series.points) {
      answer.push_back({{"bytes", point.size.count()}, {"time_us", point.time_us.median}, {"path", point.path}});
    }
    return bench::to_text(answer);
  });
}

std::vector<std::string> simulate_tasks(const std::vector<Task>& tasks, const Platform& platform,
                                        const SurveyPlan& plan) {
  std::vector<std::function<std::string()>> works;
  for (const Task& task : tasks) works.emplace_back([&] { return simulate_task(task, platform, plan); });
  return in_child_processes(works, plan.at_once, plan.on_progress);
}

/// Adds the times that `answer` holds to those of its protocol. Returns why there are none; empty if there are.
std::string take_answer(Contestant& contestant, const Task& task, const std::string& text) {
  const nlohmann::json answer = nlohmann::json::parse(text);
  if (answer.is_object()) return answer.at(kRefused).get<std::string>();
  for (const nlohmann::json& point : answer) {
    contestant.samples[Bytes{point.at("bytes").get<std::uint64_t>()}].push_back(
        {task.tuning, to_picoseconds(point.at("time_us").get<double>()), point.at("path").get<std::string>()});
  }
  return {};
}

/// A candidate with what has been simulated of it, and what it has refused.
struct Trial {
  Candidate candidate{};
  Contestant contestant{};
  int tried = 0;
  int refused = 0;
  std::string first_refusal{};
};

enum class Look {
  first,  ///< whole messages, and one way to cut each size
  close   ///< all the rest
};

void add_tasks(std::vector<Task>& tasks, const Candidate& candidate, const SurveyPlan& plan, Look look) {
  const SearchSpace space = plan.space(candidate.base);
  const auto first = static_cast<std::ptrdiff_t>(tasks.size());
  for (const Bytes size : plan.sizes) {
    const std::vector<Tuning> tunings = tunings_at(size, plan.window, space);
    for (const Tuning& tuning : tunings) {
      // The last one has the largest chunk that cuts the message, and the greatest depth.
      const bool at_first = tuning.chunk == Bytes{} || tuning == tunings.back();
      if (at_first != (look == Look::first)) continue;
      auto task = std::ranges::find(tasks.begin() + first, tasks.end(), tuning, &Task::tuning);
      if (task == tasks.end()) task = tasks.insert(task, {.candidate = candidate, .tuning = tuning});
      task->sizes.push_back(size);
    }
  }
}

void simulate_trials(std::vector<Trial>& trials, const Platform& platform, const SurveyPlan& plan, Look look) {
  std::vector<Task> tasks;
  for (const Trial& trial : trials) {
    if (look == Look::first || chunks_matter(trial.contestant)) add_tasks(tasks, trial.candidate, plan, look);
  }
  const std::vector<std::string> answers = simulate_tasks(tasks, platform, plan);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const Variant& who = tasks[i].candidate.who;
    Trial& trial = *std::ranges::find(trials, who, [](const Trial& each) { return each.candidate.who; });
    ++trial.tried;
    const std::string refusal = take_answer(trial.contestant, tasks[i], answers[i]);
    if (!refusal.empty() && trial.refused++ == 0) trial.first_refusal = refusal;
  }
}

}  // namespace

Survey make_survey(const Platform& platform, const SurveyPlan& plan) {
  const Path path = Topology(platform).path(plan.places[0], plan.places[1]);
  Survey survey;
  std::vector<Trial> trials;
  for (const Protocol* protocol : all_protocols()) {
    const std::string name(protocol->name());
    if (!plan.protocols.empty() && !std::ranges::count(plan.protocols, name)) continue;
    const Support support = protocol->supports(path);
    if (!support.usable()) {
      survey.left_out.push_back({name, "refused: " + support.reason});
    } else if (protocol->delegates() && plan.protocols.empty()) {
      survey.left_out.push_back({name, "it chooses among the others"});
    } else if (protocol->message_memory() != Memory::device && !plan.references) {
      survey.left_out.push_back({name, "a reference only: it moves host memory"});
    } else {
      if (support.kind == Support::Kind::fallback) survey.remarks.push_back({name, "falls back: " + support.reason});
      for (const Candidate& candidate : candidates_of(*protocol, plan)) {
        trials.push_back(
            {.candidate = candidate, .contestant = {.who = candidate.who, .whole = candidate.whole(plan)}});
      }
    }
  }
  for (const Look look : {Look::first, Look::close}) simulate_trials(trials, platform, plan, look);
  for (Trial& trial : trials) {
    const std::string name = to_string(trial.candidate.who);
    if (trial.contestant.samples.empty()) {
      survey.left_out.push_back({name, "refused: " + trial.first_refusal});
      continue;
    }
    if (trial.refused > 0) {
      survey.remarks.push_back(
          {name, fmt::format("refuses {} of {} settings: {}", trial.refused, trial.tried, trial.first_refusal)});
    }
    const bool of_device = trial.candidate.protocol->message_memory() == Memory::device;
    (of_device ? survey.contestants : survey.references).push_back(std::move(trial.contestant));
  }
  return survey;
}

void simulate_missing(std::vector<Contestant>& contestants, const std::vector<SingleTuning>& tunings,
                      const Platform& platform, const SurveyPlan& plan) {
  std::vector<Task> tasks;
  for (const auto& [who, tuning, loss, missing] : tunings) {
    const bool listed = std::ranges::any_of(
        tasks, [&](const Task& task) { return task.candidate.who == who && task.tuning == tuning; });
    if (missing.empty() || listed) continue;
    const auto candidates = candidates_of(find_protocol(who.protocol), plan);
    tasks.push_back(
        {.candidate = *std::ranges::find(candidates, who, &Candidate::who), .tuning = tuning, .sizes = missing});
  }
  const std::vector<std::string> answers = simulate_tasks(tasks, platform, plan);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    take_answer(*std::ranges::find(contestants, tasks[i].candidate.who, &Contestant::who), tasks[i], answers[i]);
  }
}

int cores() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

}  // namespace twinlink::model
