// What pages say of results: curves, and why a round took as long as it did.
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "model/engine/flows/platform_names.hpp"
#include "model/study/watch/round_watch.hpp"
#include "platforms/machine/platform.hpp"
#include "platforms/report/document.hpp"
#include "protocols/bench/results/results.hpp"
#include "protocols/bench/workload/workload_options.hpp"

namespace twinlink::model {

/// Rates and times of all curves, which labels tell apart, over one table.
report::Document curve_plots(const std::string& title, std::span<const bench::Result> results);

/// The links and the critical path of a round; `of` says of which one. Nothing of what is empty.
report::Document why_blocks(const std::string& of, const RoundFindings& found);

/// What is wished for, on `out`.
void print_why(const RoundFindings& found, const RoundWishes& wishes, std::ostream& out);

/// The page of a simulated workload: its curves, `why` of its last point, and the machine.
report::Document workload_page(const bench::WorkloadFile& file, const Platform& platform, report::Document why);

}  // namespace twinlink::model
