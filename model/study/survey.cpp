#include "model/study/survey.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "model/study/message_times.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/bench/cli/options.hpp"
#include "protocols/core/choices.hpp"
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
    return base.chunk_or_whole() == Bytes{} ? Bytes{} : plan.sizes.back();
  }
};

using Options = std::map<std::string, std::string>;

Candidate make_candidate(const Protocol& protocol, Variant who, const SurveyPlan& plan) {
  bench::NamedValues options = plan.options;
  options.insert(options.end(), who.options.begin(), who.options.end());
  Settings base =
      bench::make_settings(protocol, {.preset = who.preset, .options = std::move(options), .library = plan.library});
  return {.who = std::move(who), .protocol = &protocol, .base = std::move(base)};
}

/// The protocol with its defaults and with its presets; those that differ from one before in chunk and depth alone only
/// if the plan wants all.
std::vector<Candidate> candidates_of(const Protocol& protocol, const SurveyPlan& plan) {
  const std::string name(protocol.name());
  std::vector<Candidate> candidates{make_candidate(protocol, {.protocol = name}, plan)};
  for (const Preset& preset : protocol.presets()) {
    Candidate candidate = make_candidate(protocol, {.protocol = name, .preset = std::string(preset.name)}, plan);
    const bool known = std::ranges::any_of(
        candidates, [&](const Candidate& other) { return other.base.options == candidate.base.options; });
    if (!known || plan.all_presets) candidates.push_back(std::move(candidate));
  }
  return candidates;
}

/// An option that decides by the message's size: each message is on one side of it, so both sides are all that there
/// is.
bool is_limit(const Option& option) { return option.values == "SIZE"; }

bool is_set(const SurveyPlan& plan, const Option& option) {
  return std::ranges::any_of(plan.options, [&](const auto& each) { return each.first == option.name; });
}

/// The protocol with one other choice each.
std::vector<Candidate> single_choices(const Protocol& protocol, const SurveyPlan& plan) {
  std::vector<Candidate> candidates;
  for (const Option& option : protocol.options()) {
    if (is_set(plan, option)) continue;
    for (const std::string& choice : other_choices(protocol, option, plan.sizes.back())) {
      candidates.push_back(make_candidate(
          protocol, {.protocol = std::string(protocol.name()), .options = {{std::string(option.name), choice}}}, plan));
    }
  }
  return candidates;
}

/// Every combination of two and more of `singles`, which have one option each, none of an option twice.
std::vector<Options> combinations(const std::vector<Options>& singles) {
  std::vector<Options> all{{}};
  for (const Options& single : singles) {
    const std::size_t so_far = all.size();
    for (std::size_t i = 0; i < so_far; ++i) {
      if (all[i].contains(single.begin()->first)) continue;
      Options more = all[i];
      more.insert(*single.begin());
      all.push_back(std::move(more));
    }
  }
  std::erase_if(all, [](const Options& options) { return options.size() < 2; });
  return all;
}

/// The options with a count, of which only the default is tried.
std::string numbers_of(const Protocol& protocol, const SurveyPlan& plan) {
  std::string names;
  for (const Option& option : protocol.options()) {
    if (option.values.find('|') != std::string_view::npos || is_limit(option) || is_set(plan, option)) continue;
    names += (names.empty() ? "" : ", ") + std::string(option.name);
  }
  return names;
}

/// One simulation: one tuning of one candidate, at all sizes at which it differs from the others.
struct Task {
  Candidate candidate{};
  Tuning tuning{};
  std::vector<Bytes> sizes{};
};

TimesPlan plan_of(const Task& task, const SurveyPlan& survey) {
  Settings settings = task.candidate.base;
  settings.chunk = task.tuning.chunk == Bytes{} ? task.candidate.whole(survey) : task.tuning.chunk;
  settings.depth = task.tuning.depth;
  return {.protocol = task.candidate.protocol,
          .settings = std::move(settings),
          .places = survey.places,
          .sizes = task.sizes,
          .pattern = survey.pattern,
          .window = survey.window};
}

std::vector<MessageTimes> simulate_tasks(const std::vector<Task>& tasks, const Platform& platform,
                                         const SurveyPlan& plan) {
  std::vector<Timed> all;
  for (const Task& task : tasks) all.push_back(timed(plan_of(task, plan)));
  return times_on(platform, all, plan.at_once, plan.on_progress);
}

/// Adds the times to those of the task's protocol. Returns why there are none; empty if there are.
std::string take_times(Contestant& contestant, const Task& task, const MessageTimes& times) {
  for (std::size_t i = 0; i < times.us.size(); ++i) {
    contestant.samples[task.sizes[i]].push_back({task.tuning, times.us[i], times.ways[i]});
  }
  if (times.refused.empty() || times.refused.starts_with(kNotDelivered)) return times.refused;
  return "refused: " + times.refused;
}

/// As simulate_tasks(). Of a task that is not delivered, each size becomes a task of its own: the largest one may take
/// too long, and the others have their times.
std::vector<MessageTimes> simulate_apart(std::vector<Task>& tasks, const Platform& platform, const SurveyPlan& plan) {
  std::vector<MessageTimes> times = simulate_tasks(tasks, platform, plan);
  std::vector<Task> single;
  for (std::size_t i = tasks.size(); i-- > 0;) {
    if (tasks[i].sizes.size() < 2 || !times[i].refused.starts_with(kNotDelivered)) continue;
    for (const Bytes size : tasks[i].sizes) {
      single.push_back(tasks[i]);
      single.back().sizes = {size};
    }
    tasks.erase(tasks.begin() + static_cast<std::ptrdiff_t>(i));
    times.erase(times.begin() + static_cast<std::ptrdiff_t>(i));
  }
  std::ranges::move(simulate_tasks(single, platform, plan), std::back_inserter(times));
  std::ranges::move(single, std::back_inserter(tasks));
  return times;
}

/// A candidate with what has been simulated of it, and of how many settings there are no times.
struct Trial {
  Candidate candidate{};
  Contestant contestant{};
  int tried = 0;
  int without = 0;
  std::string first_reason{};
};

enum class Look {
  glance,  ///< whole messages, and one way to cut two sizes
  first,   ///< one way to cut each other size
  close    ///< all the rest, the least depth first
};

/// Of the sizes that are cut at a glance: the largest, and the one in the middle.
bool is_glanced_at(Bytes size, const SurveyPlan& plan) {
  return size == plan.sizes.back() || size == plan.sizes[plan.sizes.size() / 2];
}

/// The look at which a message is simulated with a tuning. The last tuning has the largest chunk that cuts the message,
/// and the greatest depth.
Look look_of(Bytes size, const Tuning& tuning, const Tuning& last, const SurveyPlan& plan) {
  const bool whole = tuning.chunk.value_or(Bytes{}) == Bytes{};
  if (!whole && tuning != last) return Look::close;
  return whole || is_glanced_at(size, plan) ? Look::glance : Look::first;
}

/// The depths of a chunk are tried at a close look in this order: the greatest, the least, and then those between them
/// from the least on. `at` is a place among the tunings of a size.
std::size_t turn_of(const std::vector<Tuning>& tunings, std::size_t at) {
  const auto of_chunk = [&](const Tuning& tuning) { return tuning.chunk == tunings[at].chunk; };
  const auto first = static_cast<std::size_t>(std::ranges::find_if(tunings, of_chunk) - tunings.begin());
  const auto depths = static_cast<std::size_t>(std::ranges::count_if(tunings, of_chunk));
  const std::size_t place = at - first;
  return place + 1 == depths ? 0 : place + 1;
}

const Sample* find_sample(const Contestant& contestant, Bytes size, const Tuning& tuning) {
  const auto samples = contestant.samples.find(size);
  if (samples == contestant.samples.end()) return nullptr;
  const auto found = std::ranges::find(samples->second, tuning, &Sample::tuning);
  return found == samples->second.end() ? nullptr : &*found;
}

/// Are the depths behind that at `at` no better than those before it? They get better up to one and then worse, as
/// pieces wait for each other less and leave the caches more. Where one was not tried for that, those behind it are
/// not.
bool is_deep_enough(const Contestant& contestant, Bytes size, const std::vector<Tuning>& tunings, std::size_t at) {
  std::size_t greatest = at;
  while (greatest + 1 < tunings.size() && tunings[greatest + 1].chunk == tunings[at].chunk) ++greatest;
  const bool is_second = at < 2 || tunings[at - 2].chunk != tunings[at].chunk;
  const Sample* const before = find_sample(contestant, size, tunings[at - 1]);
  const Sample* const other = find_sample(contestant, size, is_second ? tunings[greatest] : tunings[at - 2]);
  if (before == nullptr || other == nullptr) return before == nullptr && !is_second;
  return is_second ? before->time_us == other->time_us : before->time_us >= other->time_us;
}

/// Those of a look that `goes_on` lets at a size; of a close one those whose depth has its turn.
void add_tasks(std::vector<Task>& tasks, const Trial& trial, const SurveyPlan& plan, Look look,
               const std::function<bool(Bytes)>& goes_on, std::optional<std::size_t> turn = std::nullopt) {
  const Candidate& candidate = trial.candidate;
  const SearchSpace space = plan.space(*candidate.protocol, candidate.base);
  const auto first = static_cast<std::ptrdiff_t>(tasks.size());
  for (const Bytes size : plan.sizes) {
    if (!goes_on(size)) continue;
    const std::vector<Tuning> tunings = tunings_at(size, plan.window, space);
    for (std::size_t i = 0; i < tunings.size(); ++i) {
      const Tuning& tuning = tunings[i];
      if (look_of(size, tuning, tunings.back(), plan) != look || (turn && turn_of(tunings, i) != *turn)) continue;
      if (turn.value_or(0) > 1 && is_deep_enough(trial.contestant, size, tunings, i)) continue;
      auto task = std::ranges::find(tasks.begin() + first, tasks.end(), tuning, &Task::tuning);
      if (task == tasks.end()) task = tasks.insert(task, {.candidate = candidate, .tuning = tuning});
      task->sizes.push_back(size);
    }
  }
}

void simulate_trials(std::vector<Trial>& trials, std::vector<Task> tasks, const Platform& platform,
                     const SurveyPlan& plan) {
  const std::vector<MessageTimes> times = simulate_apart(tasks, platform, plan);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const Variant& who = tasks[i].candidate.who;
    Trial& trial = *std::ranges::find(trials, who, [](const Trial& each) { return each.candidate.who; });
    ++trial.tried;
    const std::string reason = take_times(trial.contestant, tasks[i], times[i]);
    if (!reason.empty() && trial.without++ == 0) trial.first_reason = reason;
  }
}

/// Is a message of any size faster in pieces than whole, of those that have been simulated? True where none was
/// simulated whole.
bool cutting_helps(const Contestant& contestant) {
  for (const auto& [size, samples] : contestant.samples) {
    double whole = std::numeric_limits<double>::infinity();
    double cut = whole;
    for (const Sample& sample : samples) {
      double& least = sample.tuning.chunk.value_or(Bytes{}) == Bytes{} ? whole : cut;
      least = std::min(least, sample.time_us);
    }
    if (cut < whole) return true;
  }
  return false;
}

void add_trials(std::vector<Trial>& trials, std::vector<Candidate> candidates, const SurveyPlan& plan) {
  for (Candidate& candidate : candidates) {
    Contestant contestant{
        .who = candidate.who, .whole = candidate.whole(plan), .library = candidate.protocol->does_collectives()};
    trials.push_back({.candidate = std::move(candidate), .contestant = std::move(contestant)});
  }
}

/// The least time of each size.
std::map<Bytes, double> least_times(const Contestant& contestant) {
  std::map<Bytes, double> least;
  for (const auto& [size, samples] : contestant.samples) {
    for (const Sample& sample : samples) {
      const auto [known, is_new] = least.emplace(size, sample.time_us);
      if (!is_new) known->second = std::min(known->second, sample.time_us);
    }
  }
  return least;
}

/// What is simulated next of each trial: choices that are far behind the best of their protocol at a size are left out
/// there. Defaults and presets never are, for each has one setting for all sizes.
void simulate_next(std::vector<Trial>& trials, const Platform& platform, const SurveyPlan& plan, Look look,
                   double far = std::numeric_limits<double>::infinity(),
                   std::optional<std::size_t> turn = std::nullopt) {
  std::map<std::pair<const Protocol*, Bytes>, double> best;
  for (const Trial& trial : trials) {
    for (const auto& [size, us] : least_times(trial.contestant)) {
      const auto [known, is_new] = best.emplace(std::pair(trial.candidate.protocol, size), us);
      if (!is_new) known->second = std::min(known->second, us);
    }
  }
  std::vector<Task> tasks;
  for (const Trial& trial : trials) {
    if (look == Look::close && !chunks_matter(trial.contestant)) continue;
    // Neither the greatest nor the least depth makes any piece worth it, so those between do not.
    if (turn.value_or(0) > 1 && !cutting_helps(trial.contestant)) continue;
    const std::map<Bytes, double> least = least_times(trial.contestant);
    const bool chosen = !trial.candidate.who.options.empty();
    const auto goes_on = [&](Bytes size) {
      const auto mine = least.find(size);
      return !chosen || mine == least.end() || mine->second <= best.at({trial.candidate.protocol, size}) * far;
    };
    add_tasks(tasks, trial, plan, look, goes_on, turn);
  }
  simulate_trials(trials, std::move(tasks), platform, plan);
}

/// The rest of each, depth by depth, and of what is less and less behind: what is between two depths is not far from
/// the better of them.
void look_closely(std::vector<Trial>& trials, const Platform& platform, const SurveyPlan& plan) {
  if (!plan.prunes) return simulate_next(trials, platform, plan, Look::close);
  std::size_t turns = 0;
  for (const Trial& trial : trials)
    turns = std::max(turns, plan.space(*trial.candidate.protocol, trial.candidate.base).depths.size());
  // So many times the best of a protocol at a size, found by trying: the winners are those of a whole search on every
  // platform that is shipped, as a test says.
  constexpr double kFar = 4;
  constexpr double kBehind = 1.5;
  constexpr double kNear = 1.25;
  for (std::size_t turn = 0; turn < turns; ++turn) {
    simulate_next(trials, platform, plan, Look::close, turn == 0 ? kFar : turn == 1 ? kBehind : kNear, turn);
  }
}

/// Does a message of any size take less time than with the defaults?
bool is_ever_faster(const Contestant& one, const Contestant& plain) {
  const std::map<Bytes, double> without = least_times(plain);
  return std::ranges::any_of(least_times(one), [&](const auto& point) {
    const auto other = without.find(point.first);
    return other == without.end() || point.second < other->second;
  });
}

/// Is it a choice of a limit alone?
bool is_of_limit(const Candidate& candidate) {
  if (candidate.who.options.size() != 1) return false;
  const auto& options = candidate.protocol->options();
  const auto option = std::ranges::find(options, candidate.who.options.begin()->first, &Option::name);
  return option != options.end() && is_limit(*option);
}

/// All times of each size, in the order in which they were simulated.
std::map<Bytes, std::vector<double>> all_times(const Contestant& contestant) {
  std::map<Bytes, std::vector<double>> all;
  for (const auto& [size, samples] : contestant.samples) {
    for (const Sample& sample : samples) all[size].push_back(sample.time_us);
  }
  return all;
}

/// Is it a choice with which every message takes the time that it takes without? Of a limit, one that makes none
/// faster: limits are many, and what is combined multiplies.
bool changes_nothing(const Trial& trial, const std::vector<Trial>& trials) {
  if (trial.candidate.who.options.empty()) return false;
  const Variant plain{.protocol = trial.candidate.who.protocol};
  const auto without = std::ranges::find(trials, plain, [](const Trial& each) { return each.candidate.who; });
  if (without == trials.end()) return false;
  if (is_of_limit(trial.candidate) && !trial.contestant.samples.empty()) {
    return !is_ever_faster(trial.contestant, without->contestant);
  }
  return all_times(trial.contestant) == all_times(without->contestant);
}

/// Those after the first that have the same times with other choices: two names of one thing, or one that decides
/// alone.
void leave_out_alike(std::vector<Trial>& trials, const std::vector<Trial>& before = {}) {
  std::set<std::pair<const Protocol*, std::map<Bytes, std::vector<double>>>> known;
  const auto note = [&](const Trial& trial) {
    const bool chosen = !trial.candidate.who.options.empty() && !trial.contestant.samples.empty();
    return chosen ? known.emplace(trial.candidate.protocol, all_times(trial.contestant)).second : true;
  };
  std::ranges::for_each(before, note);
  std::vector<bool> alike;
  for (const Trial& trial : trials) alike.push_back(!note(trial));
  std::size_t place = 0;
  std::erase_if(trials, [&](const Trial&) { return alike[place++]; });
}

/// Those that change nothing are compared with the same defaults, whatever the order.
void leave_out_idle(std::vector<Trial>& trials) {
  std::vector<bool> idle;
  for (const Trial& trial : trials) idle.push_back(changes_nothing(trial, trials));
  std::size_t place = 0;
  std::erase_if(trials, [&](const Trial&) { return idle[place++]; });
}

/// The choices that change a time, together.
std::vector<Trial> combined_trials(const std::vector<Trial>& trials, const SurveyPlan& plan) {
  std::map<const Protocol*, std::vector<Options>> singles;
  for (const Trial& trial : trials) {
    const bool took_part = !trial.contestant.samples.empty();
    if (took_part && trial.candidate.who.options.size() == 1) {
      singles[trial.candidate.protocol].push_back(trial.candidate.who.options);
    }
  }
  std::vector<Trial> combined;
  for (const auto& [protocol, options] : singles) {
    std::vector<Candidate> candidates;
    for (const Options& together : combinations(options)) {
      candidates.push_back(
          make_candidate(*protocol, {.protocol = std::string(protocol->name()), .options = together}, plan));
    }
    add_trials(combined, std::move(candidates), plan);
  }
  return combined;
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
      add_trials(trials, candidates_of(*protocol, plan), plan);
      if (plan.all_choices) {
        add_trials(trials, single_choices(*protocol, plan), plan);
        if (const std::string names = numbers_of(*protocol, plan); !names.empty()) {
          survey.remarks.push_back({name, "other numbers were not tried for: " + names});
        }
      }
    }
  }
  simulate_next(trials, platform, plan, Look::glance);
  if (plan.prunes) leave_out_idle(trials);
  simulate_next(trials, platform, plan, Look::first);
  leave_out_idle(trials);
  if (plan.prunes) leave_out_alike(trials);
  std::vector<Trial> combined = combined_trials(trials, plan);
  simulate_next(combined, platform, plan, Look::glance);
  simulate_next(combined, platform, plan, Look::first);
  if (plan.prunes) leave_out_alike(combined, trials);
  for (Trial& trial : combined) {  // behind the others of its protocol
    const auto last = std::find_if(trials.rbegin(), trials.rend(), [&](const Trial& each) {
      return each.candidate.protocol == trial.candidate.protocol;
    });
    trials.insert(last.base(), std::move(trial));
  }
  look_closely(trials, platform, plan);
  for (Trial& trial : trials) {
    const std::string name = to_string(trial.candidate.who);
    if (trial.contestant.samples.empty()) {
      survey.left_out.push_back({name, trial.first_reason});
      continue;
    }
    if (trial.without > 0) {
      survey.remarks.push_back(
          {name, fmt::format("{} of {} settings are left out: {}", trial.without, trial.tried, trial.first_reason)});
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
    tasks.push_back(
        {.candidate = make_candidate(find_protocol(who.protocol), who, plan), .tuning = tuning, .sizes = missing});
  }
  const std::vector<MessageTimes> times = simulate_tasks(tasks, platform, plan);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    take_times(*std::ranges::find(contestants, tasks[i].candidate.who, &Contestant::who), tasks[i], times[i]);
  }
}

/// Lines of 128 B are seen whole over NVLinks alone. NCCL knows where that is, and who switches them on elsewhere loses
/// data: nobody is advised to.
constexpr std::string_view kLeftToNccl = "ll128";

bool may_set(const Protocol& protocol, std::string_view what) {
  return !protocol.does_collectives() || std::ranges::count(protocol.aliases(), what, &Alias::target) > 0;
}

std::vector<std::string> other_choices(const Protocol& protocol, const Option& option, Bytes largest) {
  std::vector<std::string> choices;
  if (!may_set(protocol, option.name)) return choices;
  // What a library takes as a size is one of its buffers, and limits nothing.
  if (is_limit(option) && !protocol.does_collectives()) choices = {"0", format_size(largest * 2)};
  if (option.values.find('|') == std::string_view::npos) return choices;
  std::string_view values = option.values;
  if (values.ends_with(kOfList)) values.remove_suffix(kOfList.size());
  for (const auto part : std::views::split(values, '|')) {
    std::string choice(part.begin(), part.end());
    const auto same = [&](const std::string& other) {  // "tree" and "Tree" are two spellings of one
      return std::ranges::equal(choice, other, {}, ::tolower, ::tolower);
    };
    if (same(std::string(kLeftToNccl))) continue;
    if (choice != option.default_value && std::ranges::none_of(choices, same)) choices.push_back(std::move(choice));
  }
  return choices;
}

int cores() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

}  // namespace twinlink::model
