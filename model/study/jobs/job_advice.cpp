#include "model/study/jobs/job_advice.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "model/study/advice.hpp"
#include "model/study/model_error.hpp"
#include "platforms/tools/placement.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/registry.hpp"
#include "protocols/workloads/catalogue.hpp"
#include "protocols/workloads/connections.hpp"

namespace twinlink::model {
namespace {

/// In larger jobs `workload` itself chooses among algorithms, and tries those alone that it predicts to be fast.
constexpr int kMostRanksOfAll = 64;
/// So many algorithms of a size are looked at closely.
constexpr std::size_t kClose = 2;

/// Is the second protocol that between domains of nodes?
bool by_domain(const SimulatedJob& job) {
  return job.workload.between.empty() && !job.workload.between_domains.empty();
}

auto& second_of(auto& job) { return by_domain(job) ? job.workload.between_domains : job.workload.between; }
auto& settings_of_second(auto& job) {
  return by_domain(job) ? job.workload.settings_between_domains : job.workload.settings_between;
}

JobSetting setting_of(const SimulatedJob& job) {
  return {.place = job.place,
          .within = job.workload.protocol,
          .between = second_of(job),
          .chunk = job.workload.settings.chunk,
          .depth = job.workload.settings.depth};
}

SimulatedJob job_with(SimulatedJob job, const JobSetting& setting, const std::string& algorithm, Bytes size) {
  job.place = setting.place;
  bench::WorkloadOptions& workload = job.workload;
  workload.protocol = setting.within;
  workload.settings.chunk = setting.chunk;
  workload.settings.depth = setting.depth;
  for (const auto& option : setting.options) workload.settings.options.emplace_back(option);
  for (const auto& option : setting.options_between) settings_of_second(job).options.emplace_back(option);
  second_of(job) = setting.between;
  workload.algorithm = algorithm;
  if (size != Bytes{}) workload.sweep.begin = workload.sweep.end = size;
  return job;
}

/// In how many words it differs.
int changes(const JobSetting& from, const JobSetting& to) {
  return static_cast<int>(from.place != to.place) + static_cast<int>(from.within != to.within) +
         static_cast<int>(from.between != to.between) + static_cast<int>(from.chunk != to.chunk) +
         static_cast<int>(from.depth != to.depth) + static_cast<int>(to.options.size() + to.options_between.size());
}

class Search {
 public:
  explicit Search(const JobSearch& search) : search_(search), given_(setting_of(search.job)) {
    const ReadyJob ready = ready_job(*search.platform, search.job);
    advice_.workload = ready.plan.name();
    advice_.ranks = static_cast<int>(ready.places.size());
    places_ = ready.places;
    of_sizes_ = ready.plan.scheduled() != nullptr;
    for (const Bytes size : ready.plan.sizes()) advice_.sizes.push_back({.size = size});
    if (!of_sizes_) advice_.sizes.push_back({});
    advice_.predicted = of_sizes_ && search.job.workload.algorithm.empty() && advice_.ranks > kMostRanksOfAll;
    if (of_sizes_ && search.job.workload.algorithm.empty() && !advice_.predicted) all_ = "all";
    if (!search.job.workload.algorithm.empty()) all_ = search.job.workload.algorithm;
    if (of_sizes_) by_itself_ = workloads::together_of(search.job.workload.workload);
  }

  JobAdvice run() {
    begin();
    round([this](const JobSetting& best, Bytes) { return with_places(best); }, all_algorithms());
    if (search_.any_within) {
      round([this](const JobSetting& best, Bytes) { return with_within(best); }, all_algorithms());
    }
    if (search_.any_between) {
      round([this](const JobSetting& best, Bytes) { return with_between(best); }, all_algorithms());
    }
    if (of_sizes_) {
      for (int together = 0; together < 2; ++together) {
        round([this](const JobSetting& best, Bytes) { return with_options(best); }, fastest_algorithms());
      }
      round([this](const JobSetting& best, Bytes size) { return with_chunks(best, size); }, fastest_algorithms());
      round([this](const JobSetting& best, Bytes size) { return with_depths(best, size); }, fastest_algorithms());
    }
    for (JobSizeAdvice& size : advice_.sizes) rank(size);
    advice_.left_out.assign(left_out_.begin(), left_out_.end());
    return std::move(advice_);
  }

 private:
  struct Task {
    std::size_t size = 0;  ///< index
    JobSetting setting{};
    std::string algorithm{};
  };
  using Moves = std::function<std::vector<JobSetting>(const JobSetting&, Bytes size)>;
  using Algorithms = std::function<std::vector<std::string>(const JobSizeAdvice&)>;

  [[nodiscard]] Algorithms all_algorithms() const {
    return [this](const JobSizeAdvice&) { return std::vector<std::string>{all_}; };
  }
  [[nodiscard]] static Algorithms fastest_algorithms() {
    return [](const JobSizeAdvice& size) {
      std::vector<std::string> names;
      for (const JobSample& sample : ranked(size.samples)) {
        if (names.size() < kClose) names.push_back(sample.algorithm);
      }
      return names;
    };
  }

  /// The fastest of each algorithm, the fastest first.
  static std::vector<JobSample> ranked(const std::vector<JobSample>& samples) {
    std::vector<JobSample> best;
    for (const JobSample& sample : samples) {
      const auto known = std::ranges::find(best, sample.algorithm, &JobSample::algorithm);
      if (known == best.end()) {
        best.push_back(sample);
      } else if (sample.time_us < known->time_us) {
        *known = sample;
      }
    }
    std::ranges::stable_sort(best, {}, &JobSample::time_us);
    return best;
  }

  /// As `workload` itself would do it.
  void begin() {
    std::vector<Task> tasks;
    for (std::size_t i = 0; i < advice_.sizes.size(); ++i) {
      tasks.push_back({i, given_, search_.job.workload.algorithm});
    }
    std::string refused;
    run(tasks, [&](const Task& task, const MessageTimes& times) {
      if (!times.refused.empty()) {
        refused = times.refused;
      } else {
        advice_.sizes[task.size].given = {given_, times.algorithms.front(), times.us.front()};
        if (!of_sizes_) advice_.sizes[task.size].size = times.sizes.front();
      }
    });
    if (!refused.empty()) throw UnavailableError(refused);
    for (JobSizeAdvice& size : advice_.sizes) size.samples.push_back(size.given);
  }

  /// From the best setting of each algorithm of a size.
  void round(const Moves& moves, const Algorithms& algorithms) {
    std::vector<Task> tasks;
    for (std::size_t i = 0; i < advice_.sizes.size(); ++i) {
      const JobSizeAdvice& size = advice_.sizes[i];
      for (const std::string& algorithm : algorithms(size)) {
        const auto of_algorithm = [&](const JobSample& sample) {
          return algorithm == all_ || sample.algorithm == algorithm;
        };
        const JobSample* best = nullptr;
        for (const JobSample& sample : size.samples) {
          if (of_algorithm(sample) && (best == nullptr || sample.time_us < best->time_us)) best = &sample;
        }
        for (JobSetting& setting : moves(best->setting, size.size)) {
          const std::string name = algorithm_for(setting, algorithm);
          if (done_.insert({i, name, setting}).second) tasks.push_back({i, std::move(setting), name});
        }
      }
    }
    run(tasks, [&](const Task& task, const MessageTimes& times) {
      if (!times.refused.empty()) {
        const std::string words = words_of(task.setting, search_);
        left_out_.insert({words.empty() ? task.algorithm : words, times.refused});
        return;
      }
      for (std::size_t n = 0; n < times.us.size(); ++n) {
        add(advice_.sizes[task.size], {task.setting, times.algorithms[n], times.us[n]});
      }
    });
  }

  /// A protocol that does the workload by itself with such options alone has no messages then, and without them no
  /// algorithm that is its own.
  [[nodiscard]] std::string algorithm_for(const JobSetting& setting, const std::string& algorithm) const {
    const Protocol& protocol = find_protocol(setting.within);
    if (by_itself_ == nullptr || !search_.job.workload.algorithm.empty() || protocol.does_collectives()) {
      return algorithm;
    }
    Settings settings;
    for (const auto& [name, value] : search_.job.workload.settings.options) settings.options[name] = value;
    for (const auto& [name, value] : setting.options) settings.options[name] = value;
    const bool own = setting.between.empty() && protocol.does(*by_itself_->together, settings);
    return own ? std::string(by_itself_->name) : algorithm == by_itself_->name ? all_ : algorithm;
  }
  /// With these options the protocol does the workload by itself; none: it never does, or without any.
  [[nodiscard]] std::map<std::string, std::string> options_by_itself(const Protocol& protocol) const {
    if (by_itself_ == nullptr || !search_.job.workload.algorithm.empty() || protocol.does_collectives()) return {};
    for (const Option& option : protocol.options()) {
      for (const std::string& choice : other_choices(protocol, option, largest())) {
        const Settings settings{.options = {{std::string(option.name), choice}}};
        if (protocol.does(*by_itself_->together, settings)) return settings.options;
      }
    }
    return {};
  }

  /// `workload` may have chosen an algorithm that was asked for by its name too.
  static void add(JobSizeAdvice& size, JobSample sample) {
    const bool known = std::ranges::any_of(size.samples, [&](const JobSample& other) {
      return other.algorithm == sample.algorithm && other.setting == sample.setting;
    });
    if (!known) size.samples.push_back(std::move(sample));
  }

  void run(const std::vector<Task>& tasks, const std::function<void(const Task&, const MessageTimes&)>& take) {
    std::vector<Timed> works;
    for (const Task& task : tasks) {
      const Bytes size = of_sizes_ ? advice_.sizes[task.size].size : Bytes{};
      works.push_back(timed(job_with(search_.job, task.setting, task.algorithm, size), 1, {}));
    }
    const std::vector<MessageTimes> times = times_on(*search_.platform, works, search_.at_once, search_.on_progress);
    for (std::size_t i = 0; i < tasks.size(); ++i) take(tasks[i], times[i]);
    advice_.simulations += tasks.size();
  }

  [[nodiscard]] std::vector<JobSetting> with_places(const JobSetting& best) const {
    std::vector<JobSetting> all{best};
    if (!search_.any_place) return all;
    for (const char* place : {"packed", "spread"}) {
      all.push_back(best);
      all.back().place = place;
    }
    return all;
  }

  /// Protocols for device memory that run on all of these paths, by the way that they are named after.
  static std::vector<std::string> fitting(const std::vector<Path>& paths) {
    std::vector<std::string> names;
    for (const Protocol* protocol : all_protocols()) {
      if (protocol->delegates() || protocol->message_memory() != Memory::device || paths.empty()) continue;
      const bool fits = std::ranges::all_of(
          paths, [&](const Path& path) { return protocol->supports(path).kind == Support::Kind::yes; });
      if (fits) names.emplace_back(protocol->name());
    }
    return names;
  }
  [[nodiscard]] std::vector<Path> paths(bool of_one_node) const {
    const bool domains = by_domain(search_.job);
    std::vector<Path> found = paths_between(*search_.platform, places_);
    std::erase_if(found, [&](const Path& path) {
      return (domains ? workloads::in_one_domain(path) : path.same_node) != of_one_node;
    });
    return found;
  }

  [[nodiscard]] std::vector<JobSetting> with_within(const JobSetting& best) const {
    std::vector<JobSetting> all;
    const std::vector<std::string> others = fitting(paths(false));
    for (const std::string& name : fitting(paths(true))) {
      if (auto options = options_by_itself(find_protocol(name)); !options.empty()) {
        all.push_back(best);
        all.back().within = name;
        all.back().between.clear();
        all.back().options = std::move(options);
      }
      all.push_back(best);
      all.back().within = name;
      if (!search_.any_between) continue;
      if (best.between.empty() && !others.empty()) all.back().between = best.within;
      if (all.back().between == name) all.back().between.clear();
      // One that does collectives by itself does them between nodes too.
      if (std::ranges::count(others, name) == 0 || all.back().between.empty()) continue;
      all.push_back(all.back());
      all.back().between.clear();
    }
    return all;
  }
  [[nodiscard]] std::vector<JobSetting> with_between(const JobSetting& best) const {
    std::vector<JobSetting> all;
    for (const std::string& name : fitting(paths(false))) {
      all.push_back(best);
      all.back().between = name == best.within ? "" : name;
    }
    return all;
  }

  /// One more option each.
  [[nodiscard]] std::vector<JobSetting> with_options(const JobSetting& best) const {
    std::vector<JobSetting> all;
    const auto add_choices = [&](const std::string& name, std::map<std::string, std::string> JobSetting::*which,
                                 const bench::NamedValues& given) {
      const Protocol& protocol = find_protocol(name);
      if (protocol.delegates()) return;
      for (const Option& option : protocol.options()) {
        const std::string option_name(option.name);
        if (std::ranges::any_of(given, [&](const auto& each) { return each.first == option_name; })) continue;
        for (std::string& choice : other_choices(protocol, option, largest())) {
          all.push_back(best);
          (all.back().*which)[option_name] = std::move(choice);
        }
      }
    };
    add_choices(best.within, &JobSetting::options, search_.job.workload.settings.options);
    if (!best.between.empty()) {
      add_choices(best.between, &JobSetting::options_between, settings_of_second(search_.job).options);
    }
    return all;
  }
  [[nodiscard]] std::vector<JobSetting> with_chunks(const JobSetting& best, Bytes size) const {
    std::vector<JobSetting> all;
    const Protocol& protocol = find_protocol(best.within);
    if (!search_.any_chunk || protocol.delegates() || !may_set(protocol, "chunk")) return all;
    const SearchSpace space = default_search(size, {});
    for (const std::optional<Bytes>& chunk : space.chunks) {
      if (chunk && *chunk != Bytes{} && size.count() / chunk->count() > space.most_pieces) continue;
      all.push_back(best);
      all.back().chunk = chunk;
      // Settings with a chunk of their own may have no other meaning for zero.
      if (chunk == Bytes{} && cuts(protocol)) all.back().chunk = size;
    }
    return all;
  }
  [[nodiscard]] std::vector<JobSetting> with_depths(const JobSetting& best, Bytes size) const {
    std::vector<JobSetting> all;
    const Protocol& protocol = find_protocol(best.within);
    if (!search_.any_depth || protocol.delegates() || !may_set(protocol, "depth")) return all;
    if (!best.chunk && !cuts(protocol)) return all;
    for (const std::optional<int>& depth : default_search(size, {}).depths) {
      all.push_back(best);
      all.back().depth = depth;
    }
    return all;
  }
  static bool cuts(const Protocol& protocol) { return protocol.defaults().chunk_or_whole() != Bytes{}; }
  [[nodiscard]] Bytes largest() const { return advice_.sizes.back().size; }

  /// Of all that is as fast as the fastest, what differs least from the user's own.
  void rank(JobSizeAdvice& size) const {
    std::vector<JobSample> ranking = ranked(size.samples);
    for (JobSample& best : ranking) {
      const double limit = best.time_us * (1 + kTieMargin);
      const auto key = [&](const JobSample& sample) {
        return std::tuple(changes(given_, sample.setting), sample.time_us);
      };
      for (const JobSample& sample : size.samples) {
        if (sample.algorithm != best.algorithm || sample.time_us > limit) continue;
        if (key(sample) < key(best)) best = sample;
      }
    }
    for (JobSample& best : ranking) {
      const JobSample* own = by_itself(size, best);
      if (own != nullptr && own->time_us <= best.time_us * (1 + model_error(Simulated::block_collectives).share))
        best = *own;
    }
    std::ranges::stable_sort(ranking, {}, &JobSample::time_us);
    if (const JobSample* own = by_itself(size, ranking.front())) size.own = *own;
    size.ranking = std::move(ranking);
  }

  /// What a library does at this place where the user sets no more than he has; null: `sample` is that, or no
  /// library's.
  [[nodiscard]] const JobSample* by_itself(const JobSizeAdvice& size, const JobSample& sample) const {
    if (!find_protocol(sample.setting.within).does_collectives()) return nullptr;
    JobSetting own = sample.setting;
    own.options = given_.options;
    own.options_between = given_.options_between;
    const auto found = std::ranges::find_if(
        size.samples, [&](const JobSample& each) { return each.algorithm == sample.algorithm && each.setting == own; });
    return found == size.samples.end() || own == sample.setting ? nullptr : &*found;
  }

  const JobSearch& search_;
  JobSetting given_;
  std::vector<Place> places_{};
  bool of_sizes_ = true;
  std::string all_{};
  const workloads::Algorithm* by_itself_ = nullptr;  ///< of the workload
  JobAdvice advice_{};
  std::set<std::tuple<std::size_t, std::string, JobSetting>> done_{};
  struct Less {
    bool operator()(const Remark& a, const Remark& b) const {
      return std::tie(a.who, a.text) < std::tie(b.who, b.text);
    }
  };
  std::set<Remark, Less> left_out_{};
};

}  // namespace

JobAdvice advise_job(const JobSearch& search) { return Search(search).run(); }

std::string words_of(const JobSetting& setting, const JobSearch& search) {
  std::string words;
  const auto add = [&](const std::string& word) { words += (words.empty() ? "" : " ") + word; };
  const JobSetting given = setting_of(search.job);
  if (setting.place != given.place) add("--place " + setting.place);
  // Which protocols a job takes by itself depends on its places.
  const bool other =
      std::tie(setting.place, setting.within, setting.between) != std::tie(given.place, given.within, given.between);
  if (search.any_within && other) {
    add("-p " + setting.within);
    if (search.any_between && !setting.between.empty()) {
      add((by_domain(search.job) ? "--between-domains " : "--between-nodes ") + setting.between);
    }
  }
  if (setting.chunk && search.any_chunk) add("--chunk " + format_size(*setting.chunk));
  if (setting.depth && search.any_depth) add(fmt::format("--depth {}", *setting.depth));
  for (const auto& [name, value] : setting.options) add(fmt::format("-o {}={}", name, value));
  for (const auto& [name, value] : setting.options_between) {
    add(fmt::format("{} {}={}", by_domain(search.job) ? "--between-domains-option" : "--between-option", name, value));
  }
  return words;
}

std::vector<ChoiceTimes> choices_of(const JobSizeAdvice& size) {
  std::vector<ChoiceTimes> all;
  const auto add = [&](const std::string& choice, const std::string& value, double time_us) {
    auto known = std::ranges::find(all, choice, &ChoiceTimes::choice);
    if (known == all.end()) known = all.insert(known, {.choice = choice});
    auto& values = known->values;
    const auto same = std::ranges::find(values, value, &std::pair<std::string, double>::first);
    if (same == values.end()) {
      values.emplace_back(value, time_us);
    } else {
      same->second = std::min(same->second, time_us);
    }
  };
  for (const JobSample& sample : size.samples) {
    const JobSetting& setting = sample.setting;
    add("algorithm", sample.algorithm, sample.time_us);
    add("place", setting.place, sample.time_us);
    add("protocols", setting.between.empty() ? setting.within : setting.within + "/" + setting.between, sample.time_us);
    const std::string chunk = setting.chunk == Bytes{} ? "whole" : setting.chunk ? format_size(*setting.chunk) : "own";
    add("chunk", chunk, sample.time_us);
    add("depth", setting.depth ? std::to_string(*setting.depth) : "own", sample.time_us);
    std::string options;
    for (const auto* each : {&setting.options, &setting.options_between}) {
      for (const auto& [name, value] : *each)
        options += fmt::format("{}{}={}", options.empty() ? "" : " ", name, value);
    }
    add("options", options.empty() ? "own" : options, sample.time_us);
  }
  std::erase_if(all, [](const ChoiceTimes& choice) { return choice.values.size() < 2; });
  return all;
}

}  // namespace twinlink::model
