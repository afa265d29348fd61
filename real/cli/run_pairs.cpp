#include "real/cli/run_pairs.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iostream>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/measure/expectation.hpp"
#include "protocols/bench/measure/pairs.hpp"
#include "real/cli/commands.hpp"

namespace twinlink::real {
namespace {

RankId parse_rank(const std::string& text) {
  RankId rank;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), rank.value);
  if (error == std::errc{} && stop == text.data() + text.size() && rank.value >= 0) return rank;
  throw UsageError(fmt::format("--pairs: '{}' is no number of a rank", text));
}

void require_ranks(const Rank& rank, std::span<const bench::PairPlan> pairs) {
  int highest = 0;
  for (const bench::PairPlan& pair : pairs) {
    highest = std::max({highest, pair.plan.first.value, pair.plan.second.value});
  }
  if (highest < rank.ranks()) return;
  const int ranks = rank.ranks();
  throw UsageError(fmt::format("this job has {} rank{}, and --pairs names rank {}: start with mpirun -n {}", ranks,
                               ranks == 1 ? "" : "s", highest, std::int64_t{highest} + 1));
}

}  // namespace

void require_path(const Protocol& protocol, const Path& path) {
  require_support(protocol, path);
  const Support support = protocol.supports(path);
  if (support.kind != Support::Kind::fallback) return;
  // In one piece, for mpirun mixes what is not.
  fmt::print(stderr, "twinlink-real: note: {}\n", support.reason);
}

ExitCode run_pairs(const JobOptions& job_options, const bench::RunOptions& options,
                   const std::filesystem::path& expect) {
  Job job(job_options);
  MeasuredRank& rank = job.rank();
  std::vector<bench::PairPlan> pairs;
  std::vector<std::optional<bench::Expectation>> expectations;  // of rank 0, which writes the results
  job.agree([&] {
    const bool named = !options.protocol.empty() ||
                       std::ranges::none_of(options.pairs, [](const auto& pair) { return pair.protocol.empty(); });
    if (!named) throw UsageError("--pairs: -p, or a protocol behind each pair, says how messages travel");
    pairs = make_pair_plans(options, bench::measured_repeats(), parse_rank);
    for (bench::PairPlan& pair : pairs) pair.plan.keep_samples = true;  // as of every measurement
    require_ranks(rank, pairs);
    if (rank.id() == RankId{0}) require_writable(options);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto& [protocol, plan] = pairs[i];
      if (rank.id() == plan.first) require_path(*protocol, rank.path_to(plan.second));
      if (rank.id() != RankId{0}) continue;
      expectations.emplace_back();
      if (!expect.empty()) {
        expectations.back() = bench::read_expectation(bench::file_of_pair(expect, i), protocol->name(), plan);
      }
    }
  });
  job.run([&](MeasuredRank& self) {
    std::vector<bench::Series> all = bench::measure_at_once(self, pairs);
    job.conclude();
    if (self.id() != RankId{0}) return;
    std::vector<bench::Result> results;
    for (bench::Series& series : all) {
      series.clock = "host";
      bench::Result result{.world = "measured",
                           .program = kProgram,
                           .command = job_options.command_line,
                           .environment = job.environment(),
                           .series = std::move(series)};
      if (const auto& expected = expectations[results.size()]) {
        result.environment.set(std::string(bench::kExpectedMember), to_json(*expected));
      }
      results.push_back(std::move(result));
    }
    bench::deliver(results, options.output, std::cout);
  });
  return ExitCode::ok;
}

}  // namespace twinlink::real
