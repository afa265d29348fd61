#include "model/study/jobs/tuner_rules.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "model/study/model_error.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::model {
namespace {

using Word = std::string_view;

/// What NCCL's tuners decide about.
constexpr std::array<std::pair<Word, Word>, 5> kCollectives{{{"all-reduce", "allreduce"},
                                                             {"all-gather", "allgather"},
                                                             {"reduce-scatter", "reducescatter"},
                                                             {"broadcast", "broadcast"},
                                                             {"reduce", "reduce"}}};

struct Form {
  Word algorithm;  ///< our option's
  Word format;
  Word theirs;  ///< the CSV's algorithm
};
constexpr std::array<Form, 9> kForms{{{"ring", "ll", "ring"},
                                      {"ring", "ll128", "ring"},
                                      {"ring", "simple", "ring"},
                                      {"tree", "ll", "tree"},
                                      {"tree", "ll128", "tree"},
                                      {"tree", "simple", "tree"},
                                      {"nvls", "simple", "nvls"},
                                      {"nvlstree", "simple", "nvls_tree"},
                                      {"pat", "simple", "pat"}}};

Timed timed_with(SimulatedJob job, Bytes size, const Form* form) {
  job.workload.sweep.begin = job.workload.sweep.end = size;
  if (form != nullptr) {
    job.workload.settings.options.emplace_back("algo", form->algorithm);
    job.workload.settings.options.emplace_back("proto", form->format);
  }
  return timed(job, 1, {});
}

/// Half way between two sizes, as ratios.
Bytes between(Bytes a, Bytes b) {
  return Bytes{static_cast<std::uint64_t>(std::sqrt(static_cast<double>(a.count()) * static_cast<double>(b.count())))};
}

}  // namespace

TunerRules tuner_rules(const JobSearch& search) {
  const bench::WorkloadOptions& workload = search.job.workload;
  const auto* const known = std::ranges::find(kCollectives, Word(workload.workload), &std::pair<Word, Word>::first);
  if (known == kCollectives.end()) throw UsageError("--emit: NCCL's tuners decide nothing about " + workload.workload);
  if (workload.protocol != "nccl" || !workload.between.empty() || !workload.between_domains.empty()) {
    throw UsageError("--emit needs -p nccl alone");
  }
  if (!workload.algorithm.empty() && workload.algorithm != "kernel")
    throw UsageError("--emit is of NCCL's own kernels");
  for (const auto& [name, value] : workload.settings.options) {
    if (name == "algo" || name == "proto") throw UsageError("--emit chooses algo and proto itself");
  }
  const ReadyJob ready = ready_job(*search.platform, search.job);
  TunerRules all{.collective = std::string(known->second), .ranks = static_cast<int>(ready.places.size())};
  // NCCL counts the nodes of an NVLink domain as one.
  const Topology topology(*search.platform);
  std::set<int> nodes;
  for (const Place& place : ready.places) nodes.insert(topology.copy_of(place.node));
  all.nodes = static_cast<int>(nodes.size());
  const auto sizes = ready.plan.sizes();
  all.sizes = sizes.size();
  std::vector<Timed> works;
  for (const Bytes size : sizes) {
    works.push_back(timed_with(search.job, size, nullptr));
    for (const Form& form : kForms) works.push_back(timed_with(search.job, size, &form));
  }
  const std::vector<MessageTimes> times = times_on(*search.platform, works, search.at_once, search.on_progress);
  const double error = model_error(Simulated::block_collectives).share;
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    const MessageTimes* const row = &times[s * (kForms.size() + 1)];
    if (!row->refused.empty()) throw UnavailableError(row->refused);
    const bool safe = row->ways.front().find("LL128 on") != std::string::npos;
    const Form* best = nullptr;
    double time = row->us.front() * (1 - error);
    for (std::size_t f = 0; f < kForms.size(); ++f) {
      const MessageTimes& tried = row[f + 1];
      if (!tried.refused.empty() || (kForms[f].format == "ll128" && !safe) || tried.us.front() >= time) continue;
      best = &kForms[f];
      time = tried.us.front();
    }
    if (best == nullptr) continue;
    const Bytes from = s == 0 ? sizes[0] : between(sizes[s - 1], sizes[s]) + Bytes{1};
    const Bytes to = s + 1 == sizes.size() ? sizes[s] : between(sizes[s], sizes[s + 1]);
    TunerRule rule{from,
                   to,
                   std::string(best->theirs),
                   std::string(best->format),
                   row->ways.front().substr(0, row->ways.front().find(';')),
                   time,
                   row->us.front()};
    TunerRule* const last = all.rules.empty() ? nullptr : &all.rules.back();
    const bool goes_on = last != nullptr && last->to + Bytes{1} == from && last->algorithm == rule.algorithm &&
                         last->format == rule.format && last->own == rule.own;
    if (!goes_on) {
      all.rules.push_back(std::move(rule));
      continue;
    }
    last->to = to;
    if (rule.gain() < last->gain()) std::tie(last->time_us, last->own_us) = std::pair(rule.time_us, rule.own_us);
  }
  return all;
}

std::string to_csv(const TunerRules& rules, const std::string& command) {
  const double error = model_error(Simulated::block_collectives).share;
  std::string text = fmt::format(
      "# {}\n# For NCCL's example of a tuner plugin, RCCL's, or libnccl-tuner-twinlink.so: NCCL_TUNER_CONFIG_FILE.\n"
      "# Only what gains more than the {:.0f} % by which simulated collectives err ({}).\n"
      "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff\n",
      command, 100 * error, model_error(Simulated::block_collectives).source);
  for (const TunerRule& rule : rules.rules) {
    text += fmt::format("# {:.2f} us instead of {:.2f} ({}): {:.0f} % less\n", rule.time_us, rule.own_us, rule.own,
                        100 * rule.gain());
    text += fmt::format("{},{},{},{},{},-1,{},{},-1,-1\n", rules.collective, rule.from.count(), rule.to.count(),
                        rule.algorithm, rule.format, rules.nodes, rules.ranks);
  }
  return text;
}

}  // namespace twinlink::model
