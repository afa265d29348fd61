// Flows: bytes on their way over links that SimGrid shares among all that cross them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <simgrid/s4u.hpp>

#include "protocols/core/units.hpp"

namespace twinlink::model {

/// One transfer of bytes, before, while and after they move.
class Flow {
 public:
  Flow() = default;
  virtual ~Flow() = default;
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  /// Lets SimGrid forget the flow once it has ended. By the actor that prepared it; others may run meanwhile.
  virtual void close() = 0;
  /// Its bytes do not arrive. `ended` may be called all the same.
  virtual void cancel() = 0;
};

/// The links that a flow crosses, at least one, and its own limit.
struct FlowRoute {
  std::vector<simgrid::s4u::Link*> links{};
  std::optional<Rate> limit{};
  double share = 1;  ///< of the bytes of a transfer, whose other flows take other ways
};

/// All links of the machine, and where its actors live. Once per process: it is the platform of SimGrid's engine.
class FlowNetwork {
 public:
  explicit FlowNetwork(simgrid::s4u::Engine& engine);
  FlowNetwork(const FlowNetwork&) = delete;
  FlowNetwork& operator=(const FlowNetwork&) = delete;

  /// A link that all flows on it share evenly (max-min). It has no latency. Names are unique. Links may be added while
  /// the simulation runs.
  simgrid::s4u::Link* add_link(const std::string& name, Rate rate);
  /// A link that limits nobody, for flows that cross no other: SimGrid forbids empty routes.
  simgrid::s4u::Link* add_open_link(const std::string& name);

  /// A flow that the calling actor will start, or have started. `ended` is called outside of actors when the last byte
  /// has arrived; not if the actor ends before.
  std::unique_ptr<Flow> prepare(std::function<void()> ended);
  /// `size` bytes, which is not zero, begin to move. If an actor calls this, others may run meanwhile.
  void start(Flow& flow, const FlowRoute& route, Bytes size);

  /// `link` has another rate from now on; nothing is next to nothing.
  void set_rate(simgrid::s4u::Link& link, Rate rate);

  /// Flows that cross `link` stop moving, and those that start later do not begin to, until go_on().
  void rest(simgrid::s4u::Link& link);
  void go_on(simgrid::s4u::Link& link);

  /// A flow that has been started moves no more, and is kept until the simulation has ended.
  void drop(std::unique_ptr<Flow> flow);

  /// Runs `code` once the simulation begins. All actors live in one place, and nothing is computed there.
  void add_actor(const std::string& name, const std::function<void()>& code);

 private:
  struct Resting {
    simgrid::s4u::Link* link;
    double rate;  ///< that it will have again
    bool slowed;  ///< it has another meanwhile; a link that nobody crosses is left as it is, for that takes less time
  };
  static void set_slowed(Resting& resting, bool slowed);

  simgrid::s4u::NetZone* zone_;
  simgrid::s4u::NetZone* links_;
  simgrid::s4u::Host* home_;
  simgrid::s4u::Mailbox* mailbox_;
  std::vector<simgrid::s4u::LinkInRoute> route_;  ///< of the flow that starts
  std::unordered_map<const simgrid::s4u::Link*, Resting> resting_;
  std::vector<std::unique_ptr<Flow>> dropped_;
};

}  // namespace twinlink::model
