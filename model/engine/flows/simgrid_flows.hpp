// SimGridFlows: SimGrid has all flows, and says when they end.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include <simgrid/s4u.hpp>

#include "model/engine/flows/flow.hpp"
#include "model/engine/flows/flow_pool.hpp"

namespace twinlink::model {

namespace versions {
class Carrier;
}

class SimGridFlows final : public FlowNetwork {
 public:
  /// Flows start and end at `home`, which is in `zone`. `woken`: there is something for hear_simgrid().
  SimGridFlows(simgrid::s4u::NetZone& zone, simgrid::s4u::Host& home, Clock& clock, std::function<void()> woken);
  ~SimGridFlows() override;

  FlowId start(const FlowRoute& route, Bytes size, FlowListener& listener) override;
  void drop(FlowId id) override;
  [[nodiscard]] double left(FlowId id) const override;
  void set_rate(SharedLink& link, Rate rate) override;
  void rest(SharedLink& link) override;
  void go_on(SharedLink& link) override;

  /// There are flows: time does not pass without SimGrid.
  [[nodiscard]] bool any() const { return count_ > 0; }
  /// The listeners of flows that have ended in SimGrid are told.
  void hear_simgrid();
  /// SimGrid learns of the flows that have begun since; its clock shows the present time.
  void tell_simgrid();
  [[nodiscard]] bool has_news_for_simgrid() const { return told_ < news_.size(); }

 private:
  void leave(Flow& flow);
  void end_in_simgrid(FlowId flow);
  bool load(versions::Transfer& transfer);
  [[nodiscard]] simgrid::s4u::Link& inner(SharedLink& link);
  void set_slowed(SharedLink& link, bool slowed);

  Clock& clock_;
  std::function<void()> woken_;
  simgrid::s4u::NetZone& zone_;
  simgrid::s4u::Host& home_;
  simgrid::s4u::NetZone* zone_of_links_;
  std::unique_ptr<versions::Carrier> carrier_;
  FlowPool flows_;
  std::deque<Flow*> news_;                        ///< for SimGrid
  std::size_t told_ = 0;                          ///< of these, for how many a carrier is on its way
  std::vector<FlowId> ended_;                     ///< in SimGrid
  std::vector<simgrid::s4u::LinkInRoute> route_;  ///< of the flow that starts
  std::size_t count_ = 0;
  std::uint64_t inner_links_ = 0;
};

}  // namespace twinlink::model
