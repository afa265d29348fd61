#include "protocols/bench/workload/measure_workload.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/measure/check_error.hpp"
#include "protocols/bench/measure/collectives.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/workload/times.hpp"
#include "protocols/bench/workload/workload_plan.hpp"
#include "protocols/workloads/goal/player.hpp"
#include "protocols/workloads/goal/repetition.hpp"

namespace twinlink::bench {
namespace {

using workloads::goal::Job;
using workloads::goal::Pace;
using workloads::goal::Played;
using workloads::goal::Player;

class TraceRun {
 public:
  TraceRun(MeasuredRank& rank, const WorkloadPlan& plan)
      : ready_(rank),
        rank_(ready_),
        plan_(plan),
        self_(rank.id().value),
        patience_(Patience::of_turn(plan.timeout)),
        player_(rank_, plan.ways, *plan.trace()) {}

  /// Nothing where the iterations of a shortened job do not take equal times.
  std::optional<WorkloadSeries> run() {
    WorkloadSeries series;
    if (self_ == 0) {
      series = heading_of(rank_, plan_);
      series.notes = remarks();
    }
    std::vector<double> ended;
    std::vector<double> waited;
    WarmUp warm_up(
        ready_, [this] { return player_.connecting(); },
        [this](int mine) { return least_of_all(rank_, mine, patience_); });
    run_rounds(
        plan_, warm_up, [this] { play(true); },
        [&](bool counts) {
          const Played played = play(false, counts);
          if (!counts) return;
          ended.push_back(played.ended.microseconds());
          waited.push_back(played.waited.microseconds());
          paces_.push_back(played.pace);
          for (const auto& [name, one] : played.under_way) {
            workloads::goal::UnderWay& all = under_way_[name];
            all.calls += one.calls;
            all.time += one.time;
            all.exposed += one.exposed;
          }
        });
    WorkloadPoint point = gather_point(ended, waited);
    series.counters = player_.counters();
    std::ranges::move(shares_, std::back_inserter(series.notes));
    meet_all(rank_, patience_);  // a peer's channel may have our buffers open
    player_.close();
    meet_all(rank_, patience_);
    if (least_of_all(rank_, goes_on_ ? 1 : 0, patience_) == 0) return {};
    if (self_ != 0) return series;
    if (plan_.on_point) plan_.on_point(point);
    series.points.push_back(std::move(point));
    return series;
  }

 private:
  std::vector<std::string> remarks() {
    std::vector<std::string> all;
    const Job& job = *plan_.trace();
    if (job.planned() > 0) {
      all.push_back(
          fmt::format("{} receives take any message: each takes the one that would come first if messages "
                      "took no time",
                      job.planned()));
    }
    if (job.has_nics() && !rank_.take_adapters({})) {
      all.emplace_back("the numbers of the nics have no effect: the network library chooses the adapters");
    }
    if (plan_.tuned != nullptr && !job.trace().by_library.empty()) all.push_back(counted_as(job.trace().by_library));
    return all;
  }

  /// Recorders write calls down as one that a library tells apart.
  [[nodiscard]] std::string counted_as(const std::set<std::string_view>& collectives) const {
    std::string text = fmt::format("tuned: {}: recorded calls count as blocking ones", rules_of(*plan_.tuned));
    if (collectives.contains("reduce-scatter")) text += ", reduce-scatters as MPI_Reduce_scatter";
    if (collectives.contains("all-gather")) text += ", all-gathers as MPI_Allgather";
    return text + "; the library may choose otherwise for what they were";
  }

  Played play(bool check, bool counts = false) {
    meet_all(rank_, patience_);
    if (counts && plan_.on_round) plan_.on_round(true, rank_.id(), rank_.now());
    Played played = player_.play(check, plan_.timeout);
    if (counts && plan_.on_round) plan_.on_round(false, rank_.id(), rank_.now());
    if (!played.outcome.ok()) {
      const bool late = played.outcome.status == Status::timed_out;
      throw CheckError(fmt::format("rank {}: {}: {}{}", self_, to_string(played.outcome.status), played.outcome.reason,
                                   late ? "; --timeout gives it longer" : ""));
    }
    if (!played.fault.empty()) throw CheckError(fmt::format("rank {}: {}", self_, played.fault));
    return played;
  }

  /// On rank 0.
  WorkloadPoint gather_point(const std::vector<double>& ended, const std::vector<double>& waited) {
    nlohmann::json parts = nlohmann::json::object();
    for (const auto& [name, all] : under_way_) {
      if (all.calls > 0) parts[name] = {all.calls, all.time.microseconds(), all.exposed.microseconds()};
    }
    nlohmann::json paces = nlohmann::json::array();
    for (const Pace& pace : paces_) {
      paces.push_back({pace.shortest, pace.longest, pace.early, pace.third, pace.fifth, pace.sixth});
    }
    const std::string mine =
        to_text(nlohmann::json{{"ended", ended}, {"waited", waited}, {"under_way", parts}, {"paces", paces}});
    std::map<std::string, Part> sums;
    Times times;
    WorkloadPoint point{.algorithm = "trace", .verified = plan_.verify};
    const Job& job = *plan_.trace();
    for (const std::string& text : gather(rank_, mine, patience_)) {
      const nlohmann::json of_rank = nlohmann::json::parse(text);
      times.by_rank.push_back(of_rank.at("ended").get<std::vector<double>>());
      const int rank = static_cast<int>(point.ranks.size());
      const std::size_t tasks = job.of(rank).tasks;
      point.ranks.push_back({.ended_us = summarize(times.by_rank.back()).median,
                             .waited_us = summarize(of_rank.at("waited").get<std::vector<double>>()).median,
                             .tasks = tasks,
                             .sent = job.of(rank).sent()});
      for (const auto& [name, part] : of_rank.at("under_way").items()) sums[name].add(part);
      for (std::size_t i = 0; i < paces_.size(); ++i) {
        const auto pace = of_rank.at("paces").at(i).get<std::array<double, 6>>();
        paces_[i].merge({pace[0], pace[1], pace[2], pace[3], pace[4], pace[5]});
      }
      point.size += point.ranks.back().sent;
      point.steps = std::max(point.steps, tasks);
    }
    if (self_ != 0) return point;
    take_times(point, times);
    note_shares(sums, static_cast<double>(std::max<std::size_t>(ended.size(), 1)));
    if (point.time_us.median > 0) {
      point.algorithm_MBps = point.bus_MBps = static_cast<double>(point.size.count()) / point.time_us.median;
    }
    point.predicted_us = job.longest_path().microseconds();
    point.why = "the longest chain of calcs is what is predicted";
    if (job.left_out() > 0) {
      const auto of_body = static_cast<double>(job.trace().iterations_of_body);
      for (const Pace& pace : paces_) goes_on_ = goes_on_ && pace.period().value_or(0) > 0;
      point.why += fmt::format(
          "; {} of its equal iterations are not simulated, for they take as long as those before, "
          "{:.2f} us each",
          job.left_out() * job.trace().iterations_of_body, paces_.back().period().value_or(0) / of_body);
    }
    return point;
  }

  /// Of the ranks that have such communication, over all rounds.
  struct Part {
    double ranks = 0;
    double calls = 0;
    double us = 0;
    double exposed_us = 0;

    void add(const nlohmann::json& of_rank) {
      ranks += 1;
      calls += of_rank.at(0).get<double>();
      us += of_rank.at(1).get<double>();
      exposed_us += of_rank.at(2).get<double>();
    }
  };
  /// Means of a round and rank, what is exposed most first.
  void note_shares(const std::map<std::string, Part>& sums, double rounds) {
    constexpr std::size_t kMost = 16;
    std::vector<std::pair<std::string, Part>> all(sums.begin(), sums.end());
    std::ranges::stable_sort(all, std::greater(),
                             [](const auto& each) { return each.second.exposed_us / each.second.ranks; });
    for (std::size_t i = 0; i < std::min(all.size(), kMost); ++i) {
      const auto& [name, part] = all[i];
      const double each = part.ranks * rounds;
      const auto recorded = plan_.trace()->trace().recorded.find(name);
      shares_.push_back(fmt::format("{}: {:.0f} a rank, {:.2f} us under way: {:.2f} us exposed, {:.2f} us hidden{}",
                                    name, part.calls / each, part.us / each, part.exposed_us / each,
                                    (part.us - part.exposed_us) / each,
                                    recorded == plan_.trace()->trace().recorded.end()
                                        ? ""
                                        : fmt::format("; recorded {:.2f} us", recorded->second.microseconds())));
    }
    if (all.size() > kMost) shares_.push_back(fmt::format("and {} kinds of less", all.size() - kMost));
  }

  SetUpRank ready_;
  ConcurrentRank rank_;
  const WorkloadPlan& plan_;
  std::map<std::string, workloads::goal::UnderWay> under_way_{};
  std::vector<std::string> shares_{};
  std::vector<Pace> paces_{};  ///< of each iteration that counts; on rank 0 at last those of all ranks
  bool goes_on_ = true;        ///< on rank 0: a shortened job has shown what the whole one takes
  int self_;
  Patience patience_;
  Player player_;
};

RecordedJob job_of(workloads::goal::Trace trace, const workloads::goal::Algorithms& algorithms,
                   const std::function<bool(std::string_view what)>& stays) {
  workloads::goal::expand(trace, algorithms, stays);
  return std::make_shared<const Job>(std::move(trace));
}

}  // namespace

bool is_trace(const std::filesystem::path& name) {
  return (name.extension() == ".gz" ? name.stem() : name).extension() == ".goal";
}

RecordedJob read_job(const std::filesystem::path& file, const workloads::goal::Algorithms& algorithms,
                     const std::function<bool(std::string_view what)>& stays, std::uint64_t iterations_of_body) {
  constexpr std::size_t kMostTrace = std::size_t{1} << 30U;
  const std::unique_ptr<std::istream> stream = open_to_read(file);
  std::string text;
  std::string piece(std::size_t{1} << 20U, '\0');
  while (stream->read(piece.data(), static_cast<std::streamsize>(piece.size())), stream->gcount() > 0) {
    text.append(piece, 0, static_cast<std::size_t>(stream->gcount()));
    if (text.size() > kMostTrace) throw InputError(fmt::format("{}: error: longer than 1 GiB", file.string()));
  }
  workloads::goal::Trace trace = workloads::goal::read_trace(text, file.string());
  if (workloads::goal::shorten(trace, iterations_of_body)) {
    try {
      if (RecordedJob job = job_of(std::move(trace), algorithms, stays); job->goes_on()) return job;
    } catch (const InputError&) {
      // Of the whole job more may be wrong, and that is what its user is told.
    }
    trace = workloads::goal::read_trace(text, file.string());
  }
  return job_of(std::move(trace), algorithms, stays);
}

void require_playable(const Rank& rank, const WorkloadPlan& plan) {
  const Job& job = *plan.trace();
  if (job.ranks() != rank.ranks()) {
    throw InputError(fmt::format("{}:{}: error: there are {} ranks, and in this job {}", job.trace().file,
                                 job.trace().line, job.ranks(), rank.ranks()));
  }
  if (plan.tuned != nullptr) require_rule(*plan.tuned, "", nodes_of(rank));
  if (workloads::wants_heap(plan.ways)) {
    throw UsageError(fmt::format("{} has its messages on a symmetric heap, and a trace says no places there",
                                 plan.ways.within->name()));
  }
  const std::string refused = workloads::refusal(rank, plan.ways, job.of(rank.id().value).peers());
  if (!refused.empty()) throw UsageError(refused);
  const int self = rank.id().value;
  const workloads::goal::RankJob& mine = job.of(self);
  const Bytes room = mine.memory() + mine.memory_of_collectives();
  if (const auto* const largest = mine.largest()) {
    plan.require_room(rank, room, job.where(self, largest->task) + ": error: with this message");
  } else if (!mine.collectives.empty()) {
    plan.require_room(rank, room, job.trace().file + ": error: with its collectives");
  }
}

WorkloadSeries measure_trace(MeasuredRank& rank, const WorkloadPlan& plan) {
  require_playable(rank, plan);
  std::optional<WorkloadSeries> series = TraceRun(rank, plan).run();
  for (WorkloadPlan longer = plan; !series; series = TraceRun(rank, longer).run()) {
    longer.work = plan.longer(2 * longer.trace()->trace().iterations_of_body);
    require_playable(rank, longer);
  }
  return *std::move(series);
}

}  // namespace twinlink::bench
