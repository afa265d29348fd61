// Flows: bytes on their way over links, which all that cross them share.
//
// A link with room for all that cross it limits none of them. A flow whose links all have room takes bytes by rate, and
// SimGrid need not know of it. When one joins for which a link has no room, SimGrid gets all that cross the link, with
// what is left of them, and says when they end. So sharing is SimGrid's.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <simgrid/s4u.hpp>

#include "model/engine/flows/clock.hpp"
#include "protocols/core/units.hpp"

namespace twinlink::model {

namespace versions {
class Carrier;
class Transfer;
}  // namespace versions

class Flow;

/// All flows on a link share it evenly (max-min). It has no latency.
struct SharedLink {
  /// Until a time it had another rate.
  struct Earlier {
    Seconds until{};
    double rate = 0;
  };

  double rate = 0;                      ///< bytes per second
  std::vector<Earlier> earlier{};       ///< in the order of time
  bool open = false;                    ///< limits nobody: for flows that cross no other
  bool rests = false;                   ///< flows that cross it do not move
  int crossing = 0;                     ///< how many flows cross it
  double load = 0;                      ///< bytes per second that they would have if none was held up
  double carried = 0;                   ///< bytes that have begun to cross it
  std::vector<Flow*> free{};            ///< those that SimGrid does not know of
  simgrid::s4u::Link* inner = nullptr;  ///< SimGrid's, once a flow in SimGrid crosses it
  bool slowed = false;                  ///< it has next to no bandwidth in SimGrid, for it rests

  [[nodiscard]] bool has_room() const { return open || load <= rate * (1 + 1e-12); }
  /// Bytes that it could have carried between two times.
  [[nodiscard]] double possible(Seconds from, Seconds to) const;
};

/// The links that a flow crosses, at least one, and its own limit.
struct FlowRoute {
  std::vector<SharedLink*> links{};
  std::optional<Rate> limit{};
  double share = 1;  ///< of the bytes of a transfer, whose other flows take other ways
};

/// A flow that has left its links.
struct FlowRecord {
  std::uint64_t number = 0;                ///< as FlowId has it
  std::vector<const SharedLink*> links{};  ///< that it has crossed
  double limit = 0;                        ///< bytes per second: its own; infinity if it has none
  double bytes = 0;
  Seconds began{};
  Seconds ended{};
};

/// Told when the last byte of a flow has arrived, outside of any rank's code.
class FlowListener {
 public:
  FlowListener() = default;
  virtual ~FlowListener() = default;
  FlowListener(const FlowListener&) = delete;
  FlowListener& operator=(const FlowListener&) = delete;

  virtual void flow_has_ended() = 0;
};

/// Names a flow that has been started; also one that has ended since.
struct FlowId {
  Flow* flow = nullptr;
  std::uint64_t number = 0;
};

/// All links of the machine. Once per process: it is the platform of SimGrid's engine.
class FlowNetwork {
 public:
  /// `exact`: SimGrid gets all flows. `woken`: there is something for hear_simgrid().
  FlowNetwork(simgrid::s4u::Engine& engine, Clock& clock, bool exact, std::function<void()> woken);
  ~FlowNetwork();
  FlowNetwork(const FlowNetwork&) = delete;
  FlowNetwork& operator=(const FlowNetwork&) = delete;

  /// Told of every flow that ends, from now on.
  void observe(std::function<void(const FlowRecord&)> observer) { observer_ = std::move(observer); }

  /// Links may be added while the simulation runs, and live as long as the network.
  SharedLink& add_link(Rate rate);
  SharedLink& add_open_link();

  /// `size` bytes, which is not zero, begin to move. `listener` outlives the flow.
  FlowId start(const FlowRoute& route, Bytes size, FlowListener& listener);
  /// The bytes of a flow do not arrive, and its listener is not told. Nothing where it has ended.
  void drop(FlowId id);

  /// `link` has another rate from now on, which is not more than before; nothing is next to nothing.
  void set_rate(SharedLink& link, Rate rate);
  /// Flows that cross `link` stop moving, and those that start later do not begin to, until go_on().
  void rest(SharedLink& link);
  void go_on(SharedLink& link);

  /// SimGrid knows of flows, or is to learn of some: time does not pass without it.
  [[nodiscard]] bool needs_simgrid() const { return in_simgrid_ > 0; }
  /// The listeners of flows that have ended in SimGrid are told.
  void hear_simgrid();
  /// SimGrid learns of the flows that have begun since; its clock shows the present time.
  void tell_simgrid();
  [[nodiscard]] bool has_news_for_simgrid() const { return told_ < news_.size(); }
  /// An actor that runs `code` once the simulation begins.
  void add_actor(const std::function<void()>& code);

 private:
  friend class Flow;
  Flow& take(FlowListener& listener);
  void give_back(Flow& flow);
  void leave_links(Flow& flow);
  void make_room(SharedLink& link);
  void go_free(Flow& flow);
  void share(Flow& flow);
  void share_all_of(SharedLink& link);
  void settle(Flow& flow);
  void end(Flow& flow);
  void end_shared(FlowId flow);
  bool load(versions::Transfer& transfer);
  [[nodiscard]] simgrid::s4u::Link& inner(SharedLink& link);
  void set_slowed(SharedLink& link, bool slowed);

  Clock& clock_;
  bool exact_;
  std::function<void()> woken_;
  std::function<void(const FlowRecord&)> observer_{};
  simgrid::s4u::NetZone* zone_;
  simgrid::s4u::NetZone* zone_of_links_;
  simgrid::s4u::Host* home_;
  std::unique_ptr<versions::Carrier> carrier_;
  std::deque<SharedLink> links_;
  std::vector<std::unique_ptr<Flow>> flows_;  ///< all there have been at once; used again and again
  std::vector<Flow*> free_;
  std::deque<Flow*> news_;                        ///< for SimGrid
  std::size_t told_ = 0;                          ///< of these, for how many a carrier is on its way
  std::vector<FlowId> ended_;                     ///< in SimGrid
  std::vector<simgrid::s4u::LinkInRoute> route_;  ///< of the flow that starts
  std::size_t in_simgrid_ = 0;
  std::uint64_t started_ = 0;
  std::uint64_t inner_links_ = 0;
};

}  // namespace twinlink::model
