// What pages show: a machine and a message on it, as drawings and as bars, each with its table; results, as curves, and
// why a round took as long as it did; and the figures of "GPUDirect Performance on Keeneland".
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "model/cli/explanation.hpp"
#include "model/engine/flows/platform_names.hpp"
#include "model/study/figures.hpp"
#include "model/study/watch/round_watch.hpp"
#include "platforms/machine/platform.hpp"
#include "platforms/report/document.hpp"
#include "platforms/tools/drawing.hpp"
#include "protocols/bench/results/results.hpp"
#include "protocols/bench/workload/workload_options.hpp"

namespace twinlink::model {

/// One node of each kind.
Drawing machine_drawing(const Platform& platform);
/// Where the steps of a message go, each way once: pieces of a message follow each other on the same.
Drawing message_drawing(const Platform& platform, const std::vector<Place>& places, const Protocol& protocol,
                        Bytes size, const ObservedMessage& message);

/// The machine with the table of its links. Without Graphviz the table alone, and a note on standard error.
report::Picture machine_picture(const Platform& platform);
/// The way of a warm message, and its steps. It is simulated in a process of its own, before any other simulation of
/// this one.
report::Document message_blocks(const Platform& platform, const std::vector<Place>& places, const Protocol& protocol,
                                const Settings& settings, const Packing& packing, Bytes size);

/// Rates and times of all curves, which labels tell apart, over one table.
report::Document curve_plots(const std::string& title, std::span<const bench::Result> results);

/// The links and the critical path of a round; `of` says of which one. Nothing of what is empty.
report::Document why_blocks(const std::string& of, const RoundFindings& found);

/// What is wished for, on `out`.
void print_why(const RoundFindings& found, const RoundWishes& wishes, std::ostream& out);

/// The page of a simulated workload: its curves, `why` of its last point, and the machine.
report::Document workload_page(const bench::WorkloadFile& file, const Platform& platform, report::Document why);

/// A figure, its curves, and the machine that they were simulated on.
struct SimulatedFigure {
  const Figure* figure = nullptr;
  Platform platform{};
  std::vector<DrawnCurve> curves{};  ///< not empty
};

/// Plots with their tables, the machines, and the ways of five protocols on the first machine where each can run; why
/// where none can. Simulates a message of each in a process of its own.
report::Document figure_page(std::span<const SimulatedFigure> figures);

}  // namespace twinlink::model
