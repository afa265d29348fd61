// Flows: bytes on their way over links that SimGrid shares among all that cross them. Here and in alarm.cpp is all that
// ranks ask of SimGrid while they run.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>

#include "protocols/units.hpp"

namespace twinlink::model {

/// One transfer of bytes, from its start to its end. Belongs to the rank that started it.
class Flow {
 public:
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  /// Lets SimGrid forget the flow. By the actor that started it, once it has ended; other ranks may run meanwhile.
  void close();

 private:
  friend class FlowNetwork;
  explicit Flow(std::function<void()> ended) : ended_(std::move(ended)) {}

  std::function<void()> ended_;
  void* nothing_ = nullptr;  ///< flows carry no data; SimGrid wants a place to put it
  simgrid::s4u::CommPtr put_{};
  simgrid::s4u::CommPtr get_{};
};

/// All links of the machine, and where its actors live. Once per process: it is the platform of SimGrid's engine.
class FlowNetwork {
 public:
  using Route = std::vector<simgrid::s4u::LinkInRoute>;

  FlowNetwork();
  FlowNetwork(const FlowNetwork&) = delete;
  FlowNetwork& operator=(const FlowNetwork&) = delete;

  /// A link that all flows on it share evenly (max-min). It has no latency. Names are unique.
  simgrid::s4u::Link* add_link(const std::string& name, Rate rate);
  /// A link that limits nobody, for flows that cross no other: SimGrid forbids empty routes.
  simgrid::s4u::Link* add_open_link(const std::string& name);

  /// `size` bytes, which is not zero, begin to move over `route`, which is not empty, at no more than `limit`. Called
  /// in an actor; others may run meanwhile. `ended` is called once, when the last byte has arrived, and not in an
  /// actor: it may note down what happened, and ring alarms. It is not called if the actor ends before the flow.
  std::unique_ptr<Flow> start(const Route& route, const std::optional<Rate>& limit, Bytes size,
                              std::function<void()> ended);

  /// Where all actors live; nothing is computed there.
  [[nodiscard]] simgrid::s4u::Host* home() const { return home_; }

 private:
  simgrid::s4u::NetZone* zone_;
  simgrid::s4u::Host* home_;
  simgrid::s4u::Mailbox* mailbox_;
};

}  // namespace twinlink::model
