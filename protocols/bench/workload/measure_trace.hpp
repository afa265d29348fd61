// Times of a recorded job, in both worlds.
#pragma once

#include <filesystem>
#include <memory>

#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/core/measured_rank.hpp"

namespace twinlink::bench {

/// A NAME of a workload that is a file.
bool is_trace(const std::filesystem::path& name);
/// An InputError for a file that cannot be read, or holds no job that can come to its end.
std::shared_ptr<const workloads::goal::Job> read_job(const std::filesystem::path& file);

/// require_possible() and measure_workload() of a plan with a trace.
void require_playable(const Rank& rank, const WorkloadPlan& plan);
WorkloadSeries measure_trace(MeasuredRank& rank, const WorkloadPlan& plan);

}  // namespace twinlink::bench
