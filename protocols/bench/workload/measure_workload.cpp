#include "protocols/bench/workload/measure_workload.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/measure/check_error.hpp"
#include "protocols/bench/measure/collectives.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/workload/gpu_sums.hpp"
#include "protocols/bench/workload/job_heap.hpp"
#include "protocols/bench/workload/times.hpp"
#include "protocols/bench/workload/turns.hpp"
#include "protocols/bench/workload/workload_plan.hpp"
#include "protocols/puts/expert_puts.hpp"
#include "protocols/workloads/execution.hpp"
#include "protocols/workloads/groups.hpp"

namespace twinlink::bench {
namespace {

using workloads::Algorithm;
using workloads::bytes_of;
using workloads::elements_of;
using workloads::Schedule;
using workloads::Shape;

/// Those in which something else than a kernel happens.
std::size_t steps_of(const Schedule& schedule) {
  std::size_t steps = 0;
  schedule.for_each_step([&](const workloads::Step& step) { steps += step.compute == Seconds{} ? 1 : 0; });
  return steps;
}

/// The first collective that the protocol does by itself; null: there is none.
const workloads::Together* first_together(const Schedule& schedule) {
  const workloads::Together* first = nullptr;
  schedule.for_each_step([&](const workloads::Step& step) {
    if (step.together && first == nullptr) first = &*step.together;
  });
  return first;
}

class WorkloadRun {
 public:
  WorkloadRun(MeasuredRank& rank, const WorkloadPlan& plan)
      : ready_(rank),
        rank_(ready_),
        plan_(plan),
        work_(*plan.scheduled()),
        shape_(shape_for(rank, plan)),
        self_(rank.id().value),
        patience_(Patience::of_turn(plan.timeout)) {}

  WorkloadSeries run() {
    WorkloadSeries series;
    if (self_ == 0) series = heading_of(rank_, plan_);
    if (predicts()) predict();
    std::vector<Candidate> all;
    for (const Bytes size : work_.sizes) add_candidates(all, size);
    open(all);
    for (auto next = all.begin(); next != all.end();) {
      const auto last =
          work_.algorithms.empty()
              ? std::find_if(next, all.end(), [&](const Candidate& other) { return other.size != next->size; })
              : next + 1;
      Candidate& candidate = fastest_of({next, last}, all);
      next = last;
      begin_anew(all);
      WorkloadPoint point = measure_point(*candidate.algorithm, candidate.schedule, candidate.size);
      point.predicted_us = told_as_predicted(candidate);
      point.why = candidate.why;
      if (candidate.algorithm->together) tell_way(candidate.schedule, point);
      if (self_ != 0) continue;
      if (plan_.judge) plan_.judge(plan_, point);
      if (plan_.on_point) plan_.on_point(point);
      series.points.push_back(std::move(point));
    }
    count();
    series.counters = counters_;
    close();
    return self_ == 0 ? series : WorkloadSeries{};
  }

 private:
  /// An algorithm that may be the fastest at a size.
  struct Candidate {
    const Algorithm* algorithm;
    Bytes size;
    double predicted_us;
    Schedule schedule{};
    std::string why{};
  };
  /// So many times the least predicted time is tried: turns that are timed alone may go on at the same time.
  static constexpr double kNearly = 2;
  /// In larger jobs nothing is tried, for that takes as long as what is measured then.
  static constexpr std::size_t kMostTried = 200'000;
  /// Nor is anything predicted of one where the algorithm is named, for that takes several times as long.
  static constexpr std::size_t kMostPredicted = 20'000;
  /// What needs more room than the data and this is not tried: the room may be lacking, and who needs so much sends it.
  static constexpr Bytes kMoreRoom = 256_MiB;

  [[nodiscard]] Schedule schedule_of(const Algorithm& algorithm, Bytes size,
                                     const workloads::TrainingParts& parts = {}) const {
    return bench::schedule_of(work_, algorithm, shape_, self_, size, parts);
  }
  /// Infinite where that is not known, or nothing is predicted.
  [[nodiscard]] double predicted(const Algorithm& algorithm, Bytes size) const {
    const auto time_of = [&](std::uint64_t elements) {
      const auto found = predicted_us_.find({&algorithm, elements});
      return found == predicted_us_.end() ? std::numeric_limits<double>::infinity() : found->second.us;
    };
    if (work_.training) {
      return training_time(*work_.training, elements_of(size),
                           [&](std::uint64_t elements) { return Seconds{time_of(elements) * 1e-6}; })
          .microseconds();
    }
    WorkloadPoint point{
        .size = size, .algorithm = std::string(algorithm.name), .predicted_us = time_of(elements_of(size))};
    point.time_us.median = std::numeric_limits<double>::infinity();
    if (plan_.judge && std::isfinite(point.predicted_us)) plan_.judge(plan_, point);
    return point.predicted_us;
  }
  /// Nothing where it is not known, or where it is the time of the whole.
  [[nodiscard]] double told_as_predicted(const Candidate& candidate) const {
    const auto found = predicted_us_.find({candidate.algorithm, elements_of(candidate.size)});
    const bool whole = found != predicted_us_.end() && found->second.whole;
    return whole || !std::isfinite(candidate.predicted_us) ? 0 : candidate.predicted_us;
  }
  /// Buffers and connections for all of these.
  void open(std::span<const Candidate> candidates) {
    std::uint64_t data = 0;
    std::uint64_t scratch = 0;
    Bytes slots{};
    for (const Candidate& candidate : candidates) {
      data = std::max(data, candidate.schedule.data);
      scratch = std::max(scratch, candidate.schedule.scratch);
      slots = std::max(slots, slots_of(candidate.schedule));
    }
    open(data, scratch, slots);
    for (const Candidate& candidate : candidates) connections_->open(candidate.schedule);
  }
  /// The slots of a symmetric heap hold what earlier messages have left there, by pairs. Times must not depend on it.
  void begin_anew(std::span<const Candidate> candidates) {
    if (!heap_) return;
    count();
    close();
    open(candidates);
  }
  void count() {
    for (const auto& [name, value] : connections_->counters()) counters_[name] += value;
  }
  /// What blocks that are put take of the heap.
  [[nodiscard]] Bytes slots_of(const Schedule& schedule) const {
    Bytes slots{};
    for (const workloads::Step& step : schedule.steps) {
      if (!step.together || step.together->blocks.experts == 0) continue;
      slots = std::max(slots, room_for_experts(*plan_.ways.within, plan_.ways.settings_within, shape_.ranks,
                                               step.together->blocks.portions()));
    }
    return slots;
  }
  void open(std::uint64_t data, std::uint64_t scratch, Bytes slots = {}) {
    if (workloads::wants_heap(plan_.ways)) {
      data = most_of_all(rank_, std::max<std::uint64_t>(data, 1), patience_);
      scratch = most_of_all(rank_, std::max<std::uint64_t>(scratch, 1), patience_);
      make_heap(heap_, rank_, plan_, bytes_of(data + scratch) + slots, 3);
      buffers_.emplace(*heap_, data, scratch);
    } else {
      plan_.require_room(rank_, bytes_of(data + scratch), plan_.name());
      buffers_.emplace(rank_, plan_.ways.within->message_memory(), data, scratch);
    }
    gpu_sums_.emplace(rank_, work_.sums, data);
    connections_.emplace(rank_, plan_.ways, heap_ ? &*heap_ : nullptr);
    warm_up_.emplace(
        ready_, [this] { return connections_->connecting(); },
        [this](int mine) { return least_of_all(rank_, mine, patience_); });
  }
  void close() {
    meet_all(rank_, patience_);  // a peer's channel may have our buffers open
    connections_.reset();
    meet_all(rank_, patience_);
    buffers_.reset();
    gpu_sums_.reset();
    if (heap_) heap_->close();
    heap_.reset();
  }

  /// Rank 0's number, on all ranks. Not negative.
  int told_by_first(int mine) {
    return least_of_all(rank_, self_ == 0 ? mine : std::numeric_limits<int>::max(), patience_);
  }

  /// A training step has those of its buckets.
  [[nodiscard]] std::vector<std::uint64_t> elements_at_once(Bytes size) const {
    const std::uint64_t elements = elements_of(size);
    if (!work_.training) return {elements};
    const std::uint64_t bucket = elements_of(work_.training->bucket);
    return {std::min(bucket, elements), elements % bucket == 0 ? std::min(bucket, elements) : elements % bucket};
  }

  /// An algorithm and what it sends at once, whose turns are timed.
  struct Job {
    const Algorithm* algorithm;
    std::uint64_t elements;
    std::optional<Turns> turns{};  ///< on rank 0
    std::vector<TimedTurn> timed{};
    Schedule all{};                 ///< of this rank
    std::vector<Schedule> parts{};  ///< of which these steps are timed
  };

  /// Where nobody has to choose, what is predicted only stands beside what is measured.
  [[nodiscard]] bool predicts() const {
    if (!work_.predictable() || work_.sums == Sums::copied_and_back) return false;
    if (work_.algorithms.size() != 1 && plan_.tuned == nullptr) return true;
    return !plan_.company.meet && std::ranges::all_of(work_.sizes, [&](Bytes size) {
      const std::uint64_t elements = elements_at_once(size).front();
      return messages_of(*candidates(plan_, shape_, size).front(), shape_, elements) <= kMostPredicted;
    });
  }

  /// Of all algorithms that are made of messages, at all sizes: rank 0 says which turns are timed, and adds them up.
  void predict() {
    std::vector<Job> jobs;
    for (const Bytes size : work_.sizes) {
      for (const Algorithm* algorithm : candidates(plan_, shape_, size)) {
        if (algorithm->together) continue;
        for (const std::uint64_t elements : elements_at_once(size)) jobs.push_back({algorithm, elements});
      }
    }
    if (jobs.empty()) return;
    std::uint64_t data = 0;
    std::uint64_t scratch = 0;
    for (Job& job : jobs) {
      take_turns(job, jobs.size() == work_.sizes.size());
      data = std::max(data, job.all.data);
      scratch = std::max(scratch, job.all.scratch);
    }
    if (std::ranges::all_of(jobs, [](const Job& job) { return job.parts.empty(); })) return;
    learning_ = true;
    open(data, scratch);
    for (Job& job : jobs) {
      if (heap_ && &job != jobs.data()) {
        close();
        open(data, scratch);
      }
      time_turns(job);
    }
    close();
    learning_ = false;
  }

  /// Of one step that all ranks take at once nothing is predicted where nobody has to choose.
  void take_turns(Job& job, bool alone) {
    std::vector<std::string> texts;  // rank 0's, for all: in each of many ranks they would take all memory
    if (self_ == 0) {
      texts.assign(static_cast<std::size_t>(shape_.ranks), "[]");
      Shape shape = shape_;
      shape.standing = {};  // of contents nobody asks, and to list those of all ranks takes long
      job.turns.emplace(*job.algorithm, shape, job.elements);
      if (job.turns->known() && (!alone || job.turns->count() != 1)) job.timed = turns_to_time(*job.turns);
      std::vector<nlohmann::json> lists(texts.size(), nlohmann::json::array());
      for (const TimedTurn& turn : job.timed) {
        const std::vector<int> steps = job.turns->steps_of(turn.kind);
        for (std::size_t rank = 0; rank < steps.size(); ++rank) lists[rank].push_back({steps[rank], turn.one_in});
      }
      std::ranges::transform(lists, texts.begin(), [](const nlohmann::json& list) { return to_text(list); });
    }
    const nlohmann::json mine = nlohmann::json::parse(scatter(rank_, texts, patience_));
    job.all = job.algorithm->schedule(shape_, self_, job.elements);
    for (const nlohmann::json& turn : mine) {
      Schedule part{.data = job.all.data, .scratch = job.all.scratch};
      const int step = turn.at(0).get<int>();
      if (step >= 0) {
        part.steps.push_back(
            part_of(job.all.steps.at(static_cast<std::size_t>(step)), shape_, self_, turn.at(1).get<int>()));
      }
      job.parts.push_back(std::move(part));
    }
    job.all.steps.clear();
  }

  void time_turns(Job& job) {
    std::vector<double> mine;
    std::vector<std::size_t> messages;
    for (const Schedule& part : job.parts) {
      connections_->open(part);
      prepare(rank_, part, *buffers_);
      mine.push_back(quickest_us(part, "a single turn", bytes_of(part.data)));
      messages.push_back(part.steps.empty() ? 0 : part.steps.front().transfers.size());
    }
    job.parts.clear();
    std::vector<std::vector<double>> us(mine.size());
    std::vector<std::size_t> of_all(mine.size());
    if (mine.empty()) return;
    const nlohmann::json told{{"us", mine}, {"messages", messages}};
    for (const std::string& text : gather(rank_, to_text(told), patience_)) {
      const nlohmann::json of_rank = nlohmann::json::parse(text);
      for (std::size_t i = 0; i < us.size(); ++i) {
        us[i].push_back(of_rank.at("us").at(i).get<double>());
        of_all[i] += of_rank.at("messages").at(i).get<std::size_t>();
      }
    }
    if (self_ != 0) return;
    // Ranks that others stand for take what these do.
    const Standing standing = rank_.standing();
    for (std::size_t i = 0; i < us.size(); ++i) {
      of_all[i] *= static_cast<std::size_t>(standing.each());
      const std::vector<double> ran = std::exchange(us[i], {});
      for (int rank = 0; rank < shape_.ranks; ++rank) {
        us[i].push_back(ran[static_cast<std::size_t>(standing.place_of(rank))]);
      }
    }
    const double longest = job.turns->longest_us(times_of_kinds(*job.turns, job.timed, us, of_all));
    const bool whole = job.turns->count() == 1 && job.timed.front().one_in == 1 && !work_.training;
    predicted_us_[{job.algorithm, job.elements}] = {longest, whole};
  }

  /// The quickest of a few times.
  double quickest_us(const Schedule& schedule, std::string_view name, Bytes size) {
    (*warm_up_)(1, [&] { timed(schedule, name, size); });
    auto best = std::numeric_limits<double>::infinity();
    const int tries = std::min(plan_.iterations, 5);
    for (int i = 0; i < tries; ++i) best = std::min(best, timed(schedule, name, size));
    return best;
  }

  /// Of the rank that is the slowest: on all of them.
  double slowest_us(const Schedule& schedule, std::string_view name, Bytes size) {
    const auto best = static_cast<float>(quickest_us(schedule, name, size));
    // Numbers that are not negative are in the order of their bits.
    return std::bit_cast<float>(-least_of_all(rank_, -std::bit_cast<int>(best), patience_));
  }

  /// Rank 0 predicts, and says which others are worth a try; those that were chosen are all there.
  void add_candidates(std::vector<Candidate>& all, Bytes size) {
    std::vector<Candidate> of_size;
    for (const Algorithm* algorithm : candidates(plan_, shape_, size)) {
      of_size.push_back({algorithm, size, self_ == 0 ? predicted(*algorithm, size) : 0});
    }
    int worth = (1 << of_size.size()) - 1;
    std::string why;
    if (plan_.tuned != nullptr) {
      why = chosen_by_library(plan_, shape_, size).why;
      if (workloads::mpi::has_no_buffer(work_.workload->name)) why += "; without a buffer: messages of the host";
      if (work_.sums == Sums::copied_and_back) why += "; added up on the host, with copies there and back";
    } else if (work_.algorithms.empty() && !of_size.front().algorithm->together && work_.predictable()) {
      worth = told_by_first(self_ == 0 ? worth_a_try(of_size) : 0);
      std::vector<const Candidate*> sorted;
      for (const Candidate& each : of_size) sorted.push_back(&each);
      std::ranges::stable_sort(sorted, {}, &Candidate::predicted_us);
      for (const Candidate* each : sorted) {
        if (!std::isfinite(each->predicted_us)) continue;
        why += fmt::format("{}{} {:.2f}", why.empty() ? "predicted us: " : ", ", each->algorithm->name,
                           each->predicted_us);
      }
    }
    for (std::size_t i = 0; i < of_size.size(); ++i) {
      if ((worth >> i & 1) == 0) continue;
      of_size[i].schedule = schedule_of(*of_size[i].algorithm, size);
      of_size[i].why = why;
      all.push_back(std::move(of_size[i]));
    }
  }

  /// As bits: those that are predicted to take nearly the least time, or all; of a large job that one alone.
  [[nodiscard]] int worth_a_try(const std::vector<Candidate>& all) const {
    const auto least = std::ranges::min_element(all, {}, &Candidate::predicted_us);
    int worth = 1 << (least - all.begin());
    if (messages_of(*least->algorithm, shape_, elements_of(least->size)) > kMostTried) return worth;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].predicted_us > least->predicted_us * kNearly) continue;
      if (messages_of(*all[i].algorithm, shape_, elements_of(all[i].size)) > kMostTried) continue;
      const Schedule schedule = schedule_of(*all[i].algorithm, all[i].size);
      if (bytes_of(schedule.scratch) <= std::max(bytes_of(schedule.data), kMoreRoom)) worth |= 1 << i;
    }
    return worth;
  }

  /// Tries them, where there are several.
  Candidate& fastest_of(std::span<Candidate> all, std::span<const Candidate> of_all_sizes) {
    if (all.size() == 1) return all.front();
    std::vector<double> tried_us;
    std::string tried;
    for (const Candidate& each : all) {
      begin_anew(of_all_sizes);
      tried_us.push_back(slowest_us(each.schedule, each.algorithm->name, each.size));
      tried += fmt::format("{}{} {:.2f}", tried.empty() ? "tried: " : ", ", each.algorithm->name, tried_us.back());
    }
    Candidate& best = all[static_cast<std::size_t>(std::ranges::min_element(tried_us) - tried_us.begin())];
    best.why = tried + "; " + best.why;
    return best;
  }

  void run_once(const Schedule& schedule, std::string_view name, Bytes size,
                std::optional<std::string>* fault = nullptr) {
    Outcome outcome = learning_ ? Outcome{} : gpu_sums_->copy_to_host(schedule, *buffers_, plan_.timeout);
    if (outcome.ok())
      outcome = workloads::run_once(rank_, schedule, *connections_, *buffers_, plan_.timeout,
                                    {.fault = fault, .on_sent = row_ ? on_sent_ : std::function<void(std::size_t)>()});
    if (outcome.ok() && !learning_) outcome = gpu_sums_->copy_back(schedule, *buffers_, plan_.timeout);
    if (outcome.ok()) return;
    throw CheckError(fmt::format("rank {}: {} ({}) of {}: {}: {}", self_, work_.workload->name, name, format_size(size),
                                 to_string(outcome.status), outcome.reason));
  }

  double timed(const Schedule& schedule, std::string_view name, Bytes size, bool counts = false) {
    meet_all(rank_, patience_);
    const Seconds start = rank_.now();
    if (counts && plan_.on_round) plan_.on_round(true, rank_.id(), start);
    run_once(schedule, name, size);
    const Seconds end = rank_.now();
    if (counts && plan_.on_round) plan_.on_round(false, rank_.id(), end);
    return (end - start).microseconds();
  }

  void verify(const Schedule& schedule, std::string_view name, Bytes size) {
    prepare(rank_, schedule, *buffers_);
    gpu_sums_->prepare(schedule, *buffers_);
    meet_all(rank_, patience_);
    std::optional<std::string> fault;
    run_once(schedule, name, size, &fault);
    if (!fault) fault = fault_in(rank_, schedule, *buffers_);
    if (!fault) fault = gpu_sums_->fault_in(schedule);
    if (!fault) return;
    throw CheckError(
        fmt::format("rank {}: {} ({}) of {}: {}", self_, work_.workload->name, name, format_size(size), *fault));
  }

  WorkloadPoint measure_point(const Algorithm& algorithm, const Schedule& schedule, Bytes size) {
    std::vector<double> mine;
    Schedule several = schedule;
    if (work_.graph > 1) {
      for (workloads::Step& step : several.steps) {
        if (step.together) step.together->times = work_.graph;
      }
    }
    row_ = static_cast<bool>(plan_.on_messages);
    const int rounds = plan_.iterations + std::max(plan_.warmup, 1) + (plan_.verify ? 2 : 0);
    if (row_) plan_.on_messages(sent_in(schedule) * static_cast<std::size_t>(rounds), 0);
    run_rounds(
        plan_, *warm_up_, [&] { verify(schedule, algorithm.name, size); },
        [&](bool counts) {
          const double us = timed(several, algorithm.name, size, counts) / work_.graph;
          if (counts) mine.push_back(us);
        });
    row_ = false;
    const Times times = gather_times(mine, steps_of(schedule));
    WorkloadPoint point{
        .size = size, .algorithm = std::string(algorithm.name), .steps = most_steps_, .verified = plan_.verify};
    if (work_.training && !plan_.company.meet) point.training = take_apart(algorithm, size, times);
    if (self_ != 0) return {};
    take_times(point, times);
    point.slowest_rank = rank_.standing().at(point.slowest_rank);
    // A job without a message takes no time, and has no rate.
    const double us = point.time_us.median;
    point.algorithm_MBps = us > 0 ? static_cast<double>(size.count()) / us : 0;
    const int ranks = work_.training ? data_shape(*work_.training, shape_).ranks : shape_.ranks;
    point.bus_MBps = point.algorithm_MBps * work_.workload->bus_factor(ranks);
    return point;
  }

  /// What parts of a step take, each alone, and what it takes without them. On rank 0.
  TrainingPart take_apart(const Algorithm& algorithm, Bytes size, const Times& whole) {
    using workloads::TrainingParts;
    const workloads::TrainingStep& training = *work_.training;
    const std::size_t steps = most_steps_;
    const auto median_of = [&](const Times& times) { return self_ == 0 ? summarize(times.of(slowest)).median : 0; };
    const auto time_of = [&](const TrainingParts& parts) {
      const Schedule schedule = schedule_of(algorithm, size, parts);
      std::vector<double> mine;
      (*warm_up_)(1, [&] { timed(schedule, algorithm.name, size); });  // messages that the whole step does not have
      for (int i = 0; i < plan_.iterations; ++i) mine.push_back(timed(schedule, algorithm.name, size));
      return median_of(gather_times(mine, steps_of(schedule)));
    };
    TrainingParts kernels = TrainingParts::none();
    kernels.kernels = true;
    TrainingParts exchanges;
    exchanges.kernels = false;
    TrainingPart part{.compute_us = time_of(kernels), .communication_us = time_of(exchanges), .buckets = buckets(size)};
    if (training.split()) {
      TrainingParts stages = kernels;
      stages.pipeline = TrainingParts::Pipeline::tokens;
      if (training.degrees.pipeline > 1) part.bubble_us = std::max(0.0, time_of(stages) - part.compute_us);
      const auto add = [&](const char* name, int ranks, auto TrainingParts::*member, auto left_out) {
        if (ranks == 1) return;
        TrainingParts alone = TrainingParts::none();
        alone.*member = TrainingParts{}.*member;
        TrainingParts without;
        without.*member = left_out;
        const double alone_us = time_of(alone);
        part.dimensions.push_back({name, ranks, alone_us, std::max(0.0, median_of(whole) - time_of(without))});
      };
      const workloads::Degrees& degrees = training.degrees;
      add("tensor", degrees.tensor, &TrainingParts::tensor, false);
      add("expert", degrees.expert, &TrainingParts::expert, false);
      add("pipeline", degrees.pipeline, &TrainingParts::pipeline, TrainingParts::Pipeline::tokens);
      add("data", data_shape(training, shape_).ranks, &TrainingParts::data, false);
    }
    most_steps_ = steps;
    return part;
  }
  /// Of rank 0, whose part of the gradients is the largest.
  [[nodiscard]] std::size_t buckets(Bytes size) const {
    const workloads::Degrees& degrees = work_.training->degrees;
    const int parts = degrees.tensor * degrees.expert * degrees.pipeline;
    return buckets_of(*work_.training, workloads::part_of(elements_of(size), parts, 0).length).size();
  }

  /// Of a collective that the protocol does by itself: which way it takes, and what its rule expects of that.
  void tell_way(const Schedule& schedule, WorkloadPoint& point) {
    const workloads::Together* const together = first_together(schedule);
    if (together == nullptr) return;
    Communicator& all = connections_->together(together->members);
    const View data = buffers_->view(together->data);
    point.form = all.form(together->what, data);
    point.why = all.path_taken(together->what, data);
    if (!work_.predictable()) point.why = (work_.training->degrees.tensor > 1 ? "tensor: " : "data: ") + point.why;
    if (!work_.predictable()) return;
    const auto of = [&](std::uint64_t elements) {
      const View part = buffers_->view({together->data.where, together->data.begin, elements});
      return all.predicted(together->what, part).value_or(Seconds{});
    };
    if (of(together->data.length) == Seconds{}) return;
    point.predicted_us =
        (work_.training ? training_time(*work_.training, elements_of(point.size), of) : of(together->data.length))
            .microseconds();
  }

  /// On rank 0.
  Times gather_times(const std::vector<double>& mine, std::size_t steps) {
    Times times;
    most_steps_ = 0;
    for (const std::string& text : gather(rank_, to_text(nlohmann::json{{"us", mine}, {"steps", steps}}), patience_)) {
      const nlohmann::json of_rank = nlohmann::json::parse(text);
      times.by_rank.push_back(of_rank.at("us").get<std::vector<double>>());
      most_steps_ = std::max(most_steps_, of_rank.at("steps").get<std::size_t>());
    }
    return times;
  }

  SetUpRank ready_;
  ConcurrentRank rank_;
  const WorkloadPlan& plan_;
  const Scheduled& work_;
  Shape shape_;
  int self_;
  Patience patience_;
  std::optional<SymmetricHeap> heap_;
  std::optional<workloads::Buffers> buffers_;
  std::optional<GpuSums> gpu_sums_;  ///< beside the buffers
  std::function<void(std::size_t)> on_sent_ = [this](std::size_t sent) { plan_.on_messages(0, sent); };
  bool row_ = false;       ///< is a row measured, whose messages are counted?
  bool learning_ = false;  ///< what messages cost, without the copies of such
  std::optional<workloads::Connections> connections_;
  std::optional<WarmUp> warm_up_;                    ///< of the connections
  std::map<std::string, std::uint64_t> counters_{};  ///< of all connections
  struct Predicted {
    double us;
    bool whole;  ///< all of the job was timed at once
  };
  std::map<std::pair<const Algorithm*, std::uint64_t>, Predicted> predicted_us_{};  ///< on rank 0, by elements
  std::size_t most_steps_ = 0;
};

}  // namespace

WorkloadSeries measure_schedules(MeasuredRank& rank, const WorkloadPlan& plan) {
  require_schedules(rank, plan);
  return WorkloadRun(rank, plan).run();
}

WorkloadSeries measure_workload(MeasuredRank& rank, const WorkloadPlan& plan) {
  if (plan.array() != nullptr) return measure_array(rank, plan);
  return plan.trace() != nullptr ? measure_trace(rank, plan) : measure_schedules(rank, plan);
}

}  // namespace twinlink::bench
