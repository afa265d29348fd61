// A timeline of a simulated job in the Chrome trace format, which Perfetto and chrome://tracing open.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "model/engine/sim_rank.hpp"
#include "model/engine/simulation.hpp"

namespace twinlink::model {

/// Operations of ranks, in the words of their protocols. Each rank is a process; its tracks are what it sends, receives
/// and tells, its streams, and what moves the bytes of copies: copy engines, kernels, the CPU. One process more has the
/// links, each with what crosses it. What overlaps on one of these has another track of the same name. Arrows lead from
/// each send, control message and signal to who took it.
class Timeline {
 public:
  /// So many operations are kept, the first ones; a viewer gets slow with more.
  static constexpr std::size_t kMostOperations = 200'000;

  /// Listens to a simulation with `options`, beside whoever does so already. The timeline must outlive it.
  void watch(SimulationOptions& options);
  /// The code of a rank has come to its end: the links are known that there are.
  void rank_ends();
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
};

}  // namespace twinlink::model
