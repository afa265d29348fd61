#include "model/study/clustering.hpp"

#include <algorithm>
#include <ostream>
#include <set>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/engine/simulation.hpp"
#include "protocols/bench/measure/collectives.hpp"
#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/workloads/group_rank.hpp"

namespace twinlink::model {
namespace {

/// Who goes on in the part where all are at work. Ranks of a simulation share memory: a job's first rank to ask
/// decides for its others, so that all make the same iterations without a message.
class Together {
 public:
  Together(int jobs, int ranks)
      : left_(jobs), ranks_(ranks), through_(static_cast<std::size_t>(jobs)), answers_(through_.size() + 1) {}

  bool goes_on(std::size_t group, std::size_t iteration) {
    const bool is_job = group < through_.size();
    if (is_job && iteration == 0 && ++through_[group] == ranks_) --left_;
    std::vector<bool>& answers = answers_[group];
    if (answers.size() == iteration) answers.push_back(left_ > 0);
    return answers[iteration];
  }

 private:
  int left_;  ///< jobs that have iterations to do
  int ranks_;
  std::vector<int> through_;  ///< ranks of each job
  std::vector<std::vector<bool>> answers_;
};

std::vector<RankGroup> groups_of(const Cluster& cluster) {
  std::vector<std::vector<RankId>> members(static_cast<std::size_t>(cluster.jobs) + 1);
  for (int rank = 0; rank < static_cast<int>(cluster.places.size()); ++rank) {
    members[static_cast<std::size_t>(std::min(rank / cluster.ranks, cluster.jobs))].emplace_back(rank);
  }
  std::vector<RankGroup> groups;
  for (std::vector<RankId>& of : members) groups.emplace_back(std::move(of), cluster.places);
  return groups;
}

class ClusterRun {
 public:
  ClusterRun(const bench::WorkloadPlan& plan, const Cluster& cluster)
      : plan_(plan), cluster_(cluster), jobs_(static_cast<std::size_t>(cluster.jobs)), groups_(groups_of(cluster)) {
    const std::span<const Bytes> sizes = plan.sizes();
    const std::size_t rows = std::max<std::size_t>(sizes.size(), 1);  // a trace has its own
    for (std::size_t i = 0; i < rows; ++i) {
      rounds_.emplace_back(cluster.jobs, cluster.ranks);
      points_.push_back({.size = sizes.empty() ? Bytes{} : sizes[i], .jobs = std::vector<JobTimes>(jobs_)});
    }
  }

  /// On every rank of the machine.
  void run(MeasuredRank& rank, const std::function<void(const ClusterPoint&)>& on_point) {
    const auto group = static_cast<std::size_t>(std::min(rank.id().value / cluster_.ranks, cluster_.jobs));
    // The machine knows the model of each GPU, which a list of places need not.
    const RankGroup known(groups_[group].members, rank.position().places);
    GroupRank mine(rank, known);
    const bench::Patience patience = bench::Patience::of_turn(plan_.timeout);
    for (std::size_t i = 0; i < points_.size(); ++i) {
      for (std::size_t job = 0; job < jobs_; ++job) {
        bench::meet_all(rank, patience);
        if (job != group) continue;
        bench::WorkloadPlan plan = plan_of(group, i);
        // Ranks come to the timed iterations as they do when all are at work.
        plan.company = {.meet = [&] { bench::meet_all(mine, patience); }, .goes_on = [](std::size_t) { return false; }};
        take_alone(i, job, measure_workload(mine, plan));
      }
      bench::meet_all(rank, patience);
      bench::WorkloadPlan plan = plan_of(group, i);
      if (auto* const work = std::get_if<bench::Scheduled>(&plan.work);
          group < jobs_ && work != nullptr && plan.tuned == nullptr) {
        work->algorithms = {&find_algorithm(*work->workload, points_[i].jobs[group].algorithm)};
      }
      plan.company = {.meet = [&] { bench::meet_all(rank, patience); },
                      .goes_on = [&, i, group](std::size_t n) { return rounds_[i].goes_on(group, n); }};
      const bench::WorkloadSeries series = measure_workload(mine, plan);
      if (!series.points.empty() && group < jobs_) {
        points_[i].jobs[group].together_us = series.points.front().time_us.median;
      }
      bench::meet_all(rank, patience);
      if (rank.id() == RankId{0} && on_point) on_point(points_[i]);
    }
  }

  [[nodiscard]] std::vector<ClusterPoint> take() { return std::move(points_); }

 private:
  [[nodiscard]] bench::WorkloadPlan plan_of(std::size_t group, std::size_t point) const {
    bench::WorkloadPlan plan = plan_;
    plan.on_point = {};
    if (plan_.room) {
      plan.room = [this, group](RankId member) {
        return plan_.room(groups_[group].members[static_cast<std::size_t>(member.value)]);
      };
    }
    constexpr Bytes kBesideTrace = 1_MiB;
    const bool is_job = group < jobs_;
    if (!is_job && plan_.scheduled() == nullptr) plan.work = bench::Scheduled{};
    auto* const work = std::get_if<bench::Scheduled>(&plan.work);
    if (work != nullptr) work->sizes = {plan_.scheduled() == nullptr ? kBesideTrace : points_[point].size};
    if (is_job) return plan;
    work->workload = cluster_.background;
    work->training.reset();
    work->sums = bench::Sums::on_gpus;
    plan.tuned = nullptr;
    work->algorithms = {&cluster_.background->algorithms.front()};
    plan.warmup = 0;
    plan.iterations = 1;
    plan.verify = false;
    return plan;
  }

  /// The job's first rank has the series.
  void take_alone(std::size_t point, std::size_t job, const bench::WorkloadSeries& series) {
    if (series.points.empty()) return;
    JobTimes& times = points_[point].jobs[job];
    times.algorithm = series.points.front().algorithm;
    times.alone_us = series.points.front().time_us.median;
    if (plan_.trace() != nullptr) points_[point].size = series.points.front().size;
  }

  const bench::WorkloadPlan& plan_;
  const Cluster& cluster_;
  std::size_t jobs_;
  std::vector<RankGroup> groups_;
  std::vector<Together> rounds_{};
  std::vector<ClusterPoint> points_{};
};

/// "0/0 0/1 ... 1/7": the first and the last.
std::string places_of(const Cluster& cluster, int job) {
  const auto ranks = static_cast<std::size_t>(cluster.ranks);
  const std::size_t first = static_cast<std::size_t>(job) * ranks;
  const std::size_t last = first + ranks - 1;
  return to_string(cluster.places[first]) + " to " + to_string(cluster.places[last]);
}

std::size_t ranks_behind(const Cluster& cluster) {
  return cluster.places.size() - static_cast<std::size_t>(cluster.jobs * cluster.ranks);
}

}  // namespace

void deal_places(Cluster& cluster) {
  const std::vector<Place> places = cluster.places;
  const auto jobs = static_cast<std::size_t>(cluster.jobs);
  const auto ranks = static_cast<std::size_t>(cluster.ranks);
  const std::size_t behind = ranks_behind(cluster);
  std::size_t next = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t job = 0; job < jobs; ++job) cluster.places[job * ranks + rank] = places[next++];
    if (rank < behind) cluster.places[jobs * ranks + rank] = places[next++];
  }
}

std::vector<ClusterPoint> measure_cluster(const Platform& platform, const bench::WorkloadPlan& plan,
                                          const Cluster& cluster,
                                          const std::function<void(const ClusterPoint&)>& on_point,
                                          const SimulationOptions& options) {
  if (plan.scheduled() != nullptr && plan.scheduled()->algorithms.size() > 1)
    throw UsageError("--algorithm all: of several jobs each has one algorithm");
  ClusterRun run(plan, cluster);
  simulate(
      platform, cluster.places, [&](MeasuredRank& rank) { run.run(rank, on_point); }, options);
  return run.take();
}

void print_heading(const bench::WorkloadPlan& plan, const Cluster& cluster, std::ostream& out) {
  std::set<int> nodes;
  for (const Place& place : cluster.places) nodes.insert(place.node);
  std::string between;
  if (plan.ways.between != plan.ways.within) between += fmt::format(", {} between nodes", plan.ways.between->name());
  if (plan.ways.between_domains != nullptr) {
    between += fmt::format(", {} between domains", plan.ways.between_domains->name());
  }
  out << fmt::format("# {}: simulated over {}{}, {} job{} of {} ranks on {} node{}\n", plan.name(),
                     plan.ways.within->name(), between, cluster.jobs, cluster.jobs == 1 ? "" : "s", cluster.ranks,
                     nodes.size(), nodes.size() == 1 ? "" : "s");
  for (int job = 0; job < cluster.jobs; ++job) out << fmt::format("# job {}: {}\n", job + 1, places_of(cluster, job));
  if (cluster.background != nullptr) {
    out << fmt::format("# background: {} of {} ranks\n", cluster.background->name, ranks_behind(cluster));
  }
  out << fmt::format("# {:>10} {:>4} {:<17} {:>12} {:>12} {:>8}\n", "bytes", "job", "algorithm", "alone us",
                     "together us", "times");
}

void print_point(const ClusterPoint& point, std::ostream& out) {
  for (std::size_t job = 0; job < point.jobs.size(); ++job) {
    const JobTimes& times = point.jobs[job];
    out << fmt::format("{:>12} {:>4} {:<17} {:>12.2f} {:>12.2f} {:>8.3f}\n", point.size.count(), job + 1,
                       times.algorithm, times.alone_us, times.together_us, times.slower());
  }
  out << std::flush;
}

nlohmann::json to_json(const bench::WorkloadPlan& plan, const Cluster& cluster,
                       const std::vector<ClusterPoint>& points) {
  nlohmann::json all = nlohmann::json::array();
  for (const ClusterPoint& point : points) {
    nlohmann::json jobs = nlohmann::json::array();
    for (const JobTimes& times : point.jobs) {
      jobs.push_back(
          {{"algorithm", times.algorithm}, {"alone_us", times.alone_us}, {"together_us", times.together_us}});
    }
    all.push_back({{"bytes", point.size.count()}, {"jobs", std::move(jobs)}});
  }
  nlohmann::json places = nlohmann::json::array();
  for (const Place& place : cluster.places) places.push_back(to_string(place));
  nlohmann::json file{{"kind", "twinlink-jobs"},
                      {"schema", 1},
                      {"workload", plan.name()},
                      {"protocol", plan.ways.within->name()},
                      {"protocol_between_nodes", plan.ways.between->name()},
                      {"jobs", cluster.jobs},
                      {"ranks", cluster.ranks},
                      {"places", std::move(places)},
                      {"points", std::move(all)}};
  if (plan.ways.between_domains != nullptr) file["protocol_between_domains"] = plan.ways.between_domains->name();
  if (cluster.background != nullptr) file["background"] = cluster.background->name;
  return file;
}

std::string to_csv(const std::vector<ClusterPoint>& points) {
  std::string text = "bytes,job,algorithm,alone_us,together_us\n";
  for (const ClusterPoint& point : points) {
    for (std::size_t job = 0; job < point.jobs.size(); ++job) {
      const JobTimes& times = point.jobs[job];
      text += fmt::format("{},{},{},{:.6g},{:.6g}\n", point.size.count(), job + 1, times.algorithm, times.alone_us,
                          times.together_us);
    }
  }
  return text;
}

}  // namespace twinlink::model
