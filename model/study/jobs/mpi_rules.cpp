#include "model/study/jobs/mpi_rules.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "model/study/model_error.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::model {
namespace {

/// The same messages in the same order as coll_tuned of Open MPI 4.1 sends them (ompi/mca/coll/base), by the numbers of
/// `ompi_info --param coll tuned --level 9`. What is not here differs, or has no rival.
struct MpiCandidate {
  std::string_view workload;
  std::string_view ours;
  int number;
  std::string_view theirs;
};
constexpr std::array<MpiCandidate, 7> kCandidatesOfMpi{{{"all-reduce", "ring", 4, "ring"},
                                                        {"all-reduce", "halving-doubling", 6, "rabenseifner"},
                                                        {"broadcast", "tree", 6, "binomial tree"},
                                                        {"broadcast", "chain", 3, "pipeline"},
                                                        {"all-to-all", "direct", 1, "basic linear"},
                                                        {"all-to-all", "pairwise", 2, "pairwise"},
                                                        {"all-to-all", "bruck", 3, "modified bruck"}}};
/// In coll_base_functions.h.
constexpr std::array<std::pair<std::string_view, int>, 3> kMpiNumbers{
    {{"all-reduce", 2}, {"all-to-all", 3}, {"broadcast", 7}}};

double share_of_error() { return model_error(Simulated::driven_collectives).share; }

/// Pieces of the catalogue's chain: of 256 KiB, 64 at most; one is a whole message.
Bytes segment_of(std::string_view algorithm, Bytes size) {
  constexpr std::uint64_t kPiece = std::uint64_t{256} << 10U;
  constexpr std::uint64_t kMost = 64;
  const std::uint64_t pieces = std::min(size.count() / kPiece, kMost);
  return algorithm == "chain" && pieces > 1 ? Bytes{size.count() / pieces} : Bytes{};
}

void require_mpi(const JobSearch& search) {
  const bench::WorkloadOptions& workload = search.job.workload;
  if (std::ranges::find(kMpiNumbers, workload.workload, &std::pair<std::string_view, int>::first) ==
      kMpiNumbers.end()) {
    throw UsageError(
        fmt::format("--for openmpi: of {} no two algorithms of Open MPI are simulated; of all-reduce, "
                    "all-to-all and broadcast there are",
                    workload.workload));
  }
  if ((workload.protocol != "host" && workload.protocol != "cuda-aware") || !workload.between.empty() ||
      !workload.between_domains.empty()) {
    throw UsageError("--for openmpi needs messages of MPI alone: -p host, or -p cuda-aware");
  }
  if (workload.workload == "all-reduce" && workload.protocol == "cuda-aware") {
    throw UsageError("--for openmpi: it adds up GPU buffers on the host; ask for all-reduce with -p host");
  }
  if (!workload.algorithm.empty()) throw UsageError("--emit chooses the algorithm itself");
}

/// What is the fastest by more than the model errs, if anything is.
MpiRule mpi_rule_for(Bytes size, std::span<const MpiCandidate> candidates, std::span<const MessageTimes> times) {
  std::vector<std::pair<double, const MpiCandidate*>> ranking;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (times[i].refused.empty()) ranking.emplace_back(times[i].us.front(), &candidates[i]);
  }
  std::ranges::sort(ranking);
  if (ranking.size() < 2 || 1 - ranking[0].first / ranking[1].first <= share_of_error()) return {size};
  const auto& [time, best] = ranking[0];
  const auto& [next_time, next] = ranking[1];
  const double gain = 1 - time / next_time;
  return {size, best->number, segment_of(best->ours, size), gain,
          fmt::format("{}: {:.2f} us at {} B, {} {:.2f} us: {:.0f} % less", best->theirs, time, size.count(),
                      next->theirs, next_time, 100 * gain)};
}

}  // namespace

MpiRules mpi_rules(const JobSearch& search) {
  require_mpi(search);
  const bench::WorkloadOptions& workload = search.job.workload;
  const ReadyJob ready = ready_job(*search.platform, search.job);
  if (workload.workload == "all-reduce" &&
      std::ranges::any_of(ready.places, [&](const Place& place) { return place.node != ready.places[0].node; })) {
    throw UsageError(
        "--for openmpi: between nodes its halving takes other partners first than ours; all-reduces of one node, or "
        "all-to-all and broadcast");
  }
  std::vector<MpiCandidate> candidates;
  std::ranges::copy_if(kCandidatesOfMpi, std::back_inserter(candidates),
                       [&](const MpiCandidate& each) { return each.workload == workload.workload; });
  std::vector<Timed> works;
  const auto sizes = ready.plan.sizes();
  for (const Bytes size : sizes) {
    for (const MpiCandidate& candidate : candidates) {
      SimulatedJob job = search.job;
      job.workload.algorithm = candidate.ours;
      job.workload.sweep.begin = job.workload.sweep.end = size;
      works.push_back(timed(job, 1, {}));
    }
  }
  const std::vector<MessageTimes> times = times_on(*search.platform, works, search.at_once, search.on_progress);
  MpiRules all{
      .collective = workload.workload,
      .number = std::ranges::find(kMpiNumbers, workload.workload, &std::pair<std::string_view, int>::first)->second,
      .ranks = static_cast<int>(ready.places.size()),
      .rules = {{}},
      .sizes = sizes.size()};
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    const std::span of_size(&times[s * candidates.size()], candidates.size());
    MpiRule rule = mpi_rule_for(sizes[s], candidates, of_size);
    // Half way between two sizes, as ratios; below the first one nobody knows.
    const double before = s == 0 ? 0 : static_cast<double>(sizes[s - 1].count());
    if (s > 0)
      rule.from = Bytes{1 + static_cast<std::uint64_t>(std::sqrt(before * static_cast<double>(sizes[s].count())))};
    MpiRule& last = all.rules.back();
    if (last.algorithm != rule.algorithm || last.segment != rule.segment) {
      all.rules.push_back(std::move(rule));
    } else if (rule.gain < last.gain) {
      std::tie(last.gain, last.why) = std::pair(rule.gain, rule.why);
    }
  }
  if (all.rules.back().algorithm != 0) all.rules.push_back({sizes[sizes.size() - 1] + Bytes{1}});
  return all;
}

std::string to_text(const MpiRules& rules, std::string_view file, std::string_view command) {
  // Numbers alone count; what is behind a '#' does not. Rules of the largest number of ranks that is not above the
  // communicator's hold: so those behind it get one that leaves all to Open MPI.
  std::string text = fmt::format(
      "# {}\n# mpirun --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename {} ...\n"
      "# A rule beats all others that were simulated by more than the {:.0f} % by which collectives of CPUs err ({}):\n"
      "# if Open MPI takes it already, nothing is gained. Algorithm 0: Open MPI chooses.\n"
      "1  # collective\n{}  # {}\n2  # numbers of ranks\n{}  # ranks\n{}  # sizes: from, algorithm, fan-out, segment\n",
      command, file, 100 * share_of_error(), model_error(Simulated::driven_collectives).source, rules.number,
      rules.collective, rules.ranks, rules.rules.size());
  for (const MpiRule& rule : rules.rules) {
    text += fmt::format("{} {} 0 {}  # {}\n", rule.from.count(), rule.algorithm, rule.segment.count(),
                        rule.why.empty() ? "Open MPI chooses" : rule.why);
  }
  return text + fmt::format("{}  # ranks and more\n1  # size\n0 0 0 0  # Open MPI chooses\n", rules.ranks + 1);
}

}  // namespace twinlink::model
