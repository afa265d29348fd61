// What bench::timeline_text() says of a simulated job.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "model/engine/flows/machine.hpp"
#include "model/engine/simulation.hpp"
#include "protocols/bench/measure/timeline.hpp"
#include "protocols/trace/op_report.hpp"

namespace twinlink::model {

/// Operations and flows of a job.
class Timeline {
 public:
  /// Listens to a simulation with `options`, beside whoever does so already. The timeline must outlive it.
  void watch(SimulationOptions& options);
  /// The code of one of `ranks` has come to its end: with the last one all links are known that there are.
  void rank_ends(std::size_t ranks);
  [[nodiscard]] std::size_t left_out() const { return left_out_; }

  /// JSON; times in microseconds of simulated time. `places` of the ranks, by number.
  [[nodiscard]] std::string text(const std::vector<Place>& places) const;

 private:
  std::vector<OpReport> reports_{};  ///< in the order in which they ended
  std::vector<FlowRecord> flows_{};
  std::vector<LinkUse> links_{};
  std::function<std::vector<LinkUse>()> own_link_use_{};
  const std::function<std::vector<LinkUse>()>* link_use_ = nullptr;
  std::size_t left_out_ = 0;
  std::size_t ended_ = 0;
};

}  // namespace twinlink::model
