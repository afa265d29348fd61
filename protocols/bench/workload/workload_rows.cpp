#include "protocols/bench/workload/workload_rows.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ostream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/cli/print.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/json_statistics.hpp"

namespace twinlink::bench {
namespace {

constexpr const char* kColumns =
    "bytes,algorithm,steps,time_us,fastest_us,slowest_rank,predicted_us,algorithm_MBps,bus_MBps";

std::string to_csv(const WorkloadSeries& series) {
  std::string text = fmt::format("{}\n", kColumns);
  for (const WorkloadPoint& p : series.points) {
    const std::string predicted = p.predicted_us > 0 ? fmt::format("{:.6g}", p.predicted_us) : "";
    text += fmt::format("{},{},{},{:.6g},{:.6g},{},{},{:.6g},{:.6g}\n", p.size.count(), p.algorithm, p.steps,
                        p.time_us.median, p.fastest_us, p.slowest_rank, predicted, p.algorithm_MBps, p.bus_MBps);
  }
  return text;
}

/// Where some ranks were simulated, and stand for all.
std::string standing_for_all(const WorkloadFile& file) {
  if (!file.environment->is_object() || !file.environment->contains("simulated_ranks")) return {};
  const int simulated = file.environment->at("simulated_ranks").get<int>();
  if (simulated == file.series.ranks) return {};
  return simulated == 1 ? "; 1 rank is simulated and stands for all"
                        : fmt::format("; {} ranks are simulated and stand for all", simulated);
}

void print_heading(const WorkloadFile& file, std::ostream& out) {
  const WorkloadSeries& series = file.series;
  out << fmt::format("# {}: {} over {}, {} ranks on {} node{}{}\n", series.workload,
                     heading_world(file.world, file.environment), series.protocols(), series.ranks, series.nodes,
                     series.nodes == 1 ? "" : "s", standing_for_all(file))
      << fmt::format("# {:>10} {:<17} {:>5} {:>12} {:>8} {:>12} {:>11} {:>11}\n", "bytes", "algorithm", "steps",
                     "time us", "slowest", "predicted", "alg. MB/s", "bus MB/s");
}

/// The ranks of a trace; of many those that end last.
void print_parts(const std::vector<RankPart>& parts, std::ostream& out) {
  constexpr std::size_t kMost = 32;
  std::vector<std::size_t> shown(parts.size());
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  if (parts.size() > kMost) {
    std::ranges::stable_sort(shown, std::greater(), [&](std::size_t rank) { return parts[rank].ended_us; });
    shown.resize(kMost);
    out << fmt::format("# the {} of {} ranks that end last:\n", kMost, parts.size());
  }
  out << fmt::format("# {:>10} {:>12} {:>12} {:>8} {:>15}\n", "rank", "ended us", "waited us", "tasks", "sent bytes");
  for (const std::size_t rank : shown) {
    const RankPart& part = parts[rank];
    out << fmt::format("{:>12} {:>12.2f} {:>12.2f} {:>8} {:>15}\n", rank, part.ended_us, part.waited_us, part.tasks,
                       part.sent.count());
  }
}

/// How far the prediction is off, where that is more than a fifth; a trace's is no time of its messages.
std::string off_prediction(const WorkloadPoint& p) {
  constexpr double kFar = 0.2;
  const double off = p.predicted_us > 0 && p.ranks.empty() ? p.time_us.median / p.predicted_us - 1 : 0;
  if (std::abs(off) <= kFar) return {};
  return fmt::format("{:.0f} % {} than predicted", std::abs(off) * 100, off > 0 ? "longer" : "shorter");
}

void print_array(const ArrayPart& part, double all_us, std::ostream& out) {
  out << "#  ";
  if (part.gflops > 0) out << fmt::format(" transforms {:.2f} us,", part.transforms_us);
  out << fmt::format(" packing {:.2f} us, exchange {:.2f} us: {:.2f} us hidden", part.packing_us, part.exchange_us,
                     part.hidden_us(all_us));
  if (part.gflops > 0) out << fmt::format("; {:.2f} GFLOP/s", part.gflops);
  out << '\n';
}

void print_training(const TrainingPart& part, double step_us, std::ostream& out) {
  const std::string sent =
      part.dimensions.empty() ? fmt::format("all-reduces of {} buckets", part.buckets) : "messages";
  out << fmt::format("#   kernels alone {:.2f} us, {} alone {:.2f} us: {:.2f} us exposed, {:.2f} us hidden\n",
                     part.compute_us, sent, part.communication_us, part.exposed_us(step_us), part.hidden_us(step_us));
  if (part.bubble_us > 0) out << fmt::format("#   bubble of the pipeline {:.2f} us\n", part.bubble_us);
  for (const TrainingDimension& each : part.dimensions) {
    const std::string buckets = each.name == "data" ? fmt::format(", {} buckets", part.buckets) : "";
    out << fmt::format("#   {:<9} {:>4} ranks{}: alone {:.2f} us: {:.2f} us exposed, {:.2f} us hidden\n", each.name,
                       each.ranks, buckets, each.alone_us, each.exposed_us, each.hidden_us());
  }
  if (const double lost = part.lost_us(step_us); lost > 0.005) {
    out << fmt::format("#   {:.2f} us longer than one after the other: they hold each other up\n", lost);
  }
}

void print_row(const WorkloadPoint& p, std::ostream& out) {
  std::string remarks = off_prediction(p);
  const std::string predicted = p.predicted_us > 0 ? fmt::format("{:.2f}", p.predicted_us) : "-";
  if (!remarks.empty() && !p.why.empty()) remarks += "; ";
  remarks += p.why;
  out << fmt::format("{:>12} {:<17} {:>5} {:>12.2f} {:>8} {:>12} {:>11.2f} {:>11.2f}{}\n", p.size.count(), p.done_by(),
                     p.steps, p.time_us.median, p.slowest_rank, predicted, p.algorithm_MBps, p.bus_MBps,
                     remarks.empty() ? "" : "  # " + remarks);
  if (!p.ranks.empty()) print_parts(p.ranks, out);
  if (p.training) print_training(*p.training, p.time_us.median, out);
  if (p.array) print_array(*p.array, p.time_us.median, out);
  out << std::flush;
}

}  // namespace

std::function<void(const WorkloadPoint&)> live_rows(const WorkloadFile& file, std::ostream& out) {
  return [&file, &out, headed = false](const WorkloadPoint& point) mutable {
    if (!std::exchange(headed, true)) print_heading(file, out);
    print_row(point, out);
  };
}

void deliver(const WorkloadFile& file, const WorkloadOptions& options, std::ostream& out) {
  for (const std::string& note : file.series.notes) out << "# " << note << '\n';
  if (!options.json.empty()) write_json_file(options.json, to_json(file));
  if (!options.csv.empty()) write_file(options.csv, to_csv(file.series));
}

}  // namespace twinlink::bench
