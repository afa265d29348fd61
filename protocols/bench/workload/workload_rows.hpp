// The times of a workload for people: a row for each point, as soon as it is measured.
#pragma once

#include <functional>
#include <iosfwd>

#include "protocols/bench/workload/workload_options.hpp"

namespace twinlink::bench {

/// For WorkloadPlan::on_point: prints each row as it is measured, the heading before the first. Both must outlive it.
std::function<void(const WorkloadPoint&)> live_rows(const WorkloadFile& file, std::ostream& out);
/// Prints what is left, and writes the files asked for.
void deliver(const WorkloadFile& file, const WorkloadOptions& options, std::ostream& out);

}  // namespace twinlink::bench
