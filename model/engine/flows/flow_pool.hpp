// FlowPool: flows that are used again when they have ended.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "model/engine/flows/flow.hpp"

namespace twinlink::model {

namespace versions {
class Transfer;
}

/// One for each network: it has what either needs.
class Flow {
 public:
  struct Leg {
    SharedLink* link = nullptr;
    std::size_t place = 0;  ///< of this leg in the link's crossings
    // Of MaxMinFlows: where the flow stands in those of the link.
    std::uint32_t in_before = 0;
    std::uint32_t in_behind = 0;
  };

  /// `in_pool`: its place there.
  Flow(Clock& clock, std::uint32_t in_pool, std::function<void(Flow&)> ended)
      : place(in_pool), timer(clock, [this, end = std::move(ended)] { end(*this); }) {}

  /// Crosses the links of `route` from now on.
  void enter(const FlowRoute& route, Bytes size, Seconds now);
  /// Crosses nothing any more.
  void leave();
  [[nodiscard]] FlowRecord record(Seconds now) const;

  const std::uint32_t place;
  std::uint64_t number = 0;  ///< 0: has ended
  FlowListener* listener = nullptr;
  std::vector<Leg> legs{};
  std::optional<Rate> limit{};
  double bytes = 0;
  Seconds began{};

  // Of MaxMinFlows.
  Timer timer;           ///< of its end
  double remaining = 0;  ///< of the bytes, at `since`
  Seconds since{};

  // Of SimGridFlows.
  bool waits = false;  ///< SimGrid does not know of it yet
  versions::Transfer* transfer = nullptr;
};

class FlowPool {
 public:
  FlowPool(Clock& clock, std::function<void(Flow&)> ended) : clock_(clock), ended_(std::move(ended)) {}

  Flow& take(FlowListener& listener);
  void give_back(Flow& flow);
  [[nodiscard]] Flow& at(std::uint32_t place) { return *flows_[place]; }

 private:
  Clock& clock_;
  std::function<void(Flow&)> ended_;  ///< a flow's timer has acted
  std::vector<std::unique_ptr<Flow>> flows_;
  std::vector<Flow*> free_;
  std::uint64_t started_ = 0;
};

}  // namespace twinlink::model
