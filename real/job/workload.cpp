#include "real/job/workload.hpp"

#include <iostream>
#include <utility>

#include <nlohmann/json.hpp>

#include "real/job/timeline.hpp"

namespace twinlink::real {

ExitCode measure_workload(const JobOptions& job_options, const bench::WorkloadOptions& options,
                          const std::filesystem::path& timeline_file, const std::string& program) {
  Job job(job_options);
  constexpr bench::PlanDefaults kDefaults{.warmup = 2, .iterations = 10, .timeout = bench::kMeasuredTimeout};
  bench::WorkloadPlan plan;
  job.agree([&] {
    plan = make_plan(options, kDefaults);
    plan.room = [&job](RankId) { return job.device_memory(); };
    require_possible(job.rank(), plan);
    if (job.rank().id() != RankId{0}) return;
    bench::NamedFiles others{{"the platform", platform_file(job_options.pace)}};
    bench::require_timeline(timeline_file, others);
    require_writable(options, others);
  });
  job.run([&](Rank& rank) {
    bench::WorkloadFile file{.world = "measured",
                             .program = program,
                             .command = job_options.command_line,
                             .environment = job.environment(),
                             .series = heading_of(rank, plan)};
    plan.on_point = bench::live_rows(file, std::cout);
    JobTimeline timeline(rank, timeline_file);
    bench::WorkloadSeries series = bench::measure_workload(timeline.rank(), plan);
    job.conclude();
    timeline.write(plan.timeout);
    if (rank.id() != RankId{0}) return;
    file.environment = job.environment();
    file.series = std::move(series);
    deliver(file, options, std::cout);
  });
  return ExitCode::ok;
}

}  // namespace twinlink::real
