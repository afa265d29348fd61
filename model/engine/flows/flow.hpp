// Flows: bytes on their way over links, which all that cross them share evenly (max-min).
//
// Transport starts one for each way of an operation and is told of its end; Machine makes the links; MaxMinFlows, or
// SimGridFlows, says how fast each flow is from moment to moment. With two flows on a link of 10 GB/s, of which one is
// held to 2 GB/s elsewhere, the other has 8 GB/s.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "model/engine/flows/bottleneck.hpp"
#include "model/engine/flows/clock.hpp"
#include "protocols/core/units.hpp"

namespace simgrid::s4u {
class Link;
}

namespace twinlink::model {

class Flow;

/// Bytes per second of a link that limits nobody.
inline constexpr double kOpenRate = 1e15;

/// A link without latency.
struct SharedLink {
  /// Until a time it had another rate.
  struct Earlier {
    Seconds until{};
    double rate = 0;
  };
  /// A flow that crosses it, and which of that flow's links it is.
  struct Crossing {
    Flow* flow = nullptr;
    std::size_t leg = 0;
  };

  /// Sums differ in their last digits.
  static constexpr double kABitMore = 1 + 1e-12;

  double rate = 0;                 ///< bytes per second
  double share = 1;                ///< of a whole link's rate, if it stands for several; see Folding
  std::vector<Earlier> earlier{};  ///< in the order of time
  bool open = false;               ///< limits nobody: for flows that cross no other
  bool rests = false;              ///< flows that cross it do not move
  double carried = 0;              ///< bytes that have begun to cross it
  std::uint32_t number = 0;        ///< among the links of the network
  std::vector<Crossing> crossing{};
  std::vector<std::uint32_t> places{};  ///< of the same flows in their pool

  // Of MaxMinFlows.
  double load = 0;           ///< bytes per second that all would have if none was held up
  bool changed = false;      ///< since rates were worked out
  bool all_changed = false;  ///< likewise, in a way that concerns all that cross it
  bool full = false;         ///< it may have limited somebody when rates were worked out
  std::uint64_t met = 0;     ///< the last flow that came: its number
  bool met_twice = false;    ///< by that flow
  Bottleneck before{};       ///< what its flows cross before it
  Bottleneck behind{};

  // Ways round it over two others, which its flows take where it is full and these have something left.
  std::vector<std::array<SharedLink*, 2>> detours{};
  bool joins_detours = false;  ///< it has some, or others lead over it
  std::uint32_t round = 0;     ///< its place among those that do
  double net = 0;              ///< bytes per second that others' detours bring it, less those that go round it

  // Of SimGridFlows.
  simgrid::s4u::Link* inner = nullptr;  ///< SimGrid's, once a flow crosses it
  bool slowed = false;                  ///< it has next to no bandwidth in SimGrid, for it rests

  /// It limits none of its flows: together they want no more than its rate.
  [[nodiscard]] bool has_room() const { return open || load <= rate * kABitMore; }
  /// It limits none of its flows either: tighter links on their ways, before it or behind it, bring no more than its
  /// rate.
  [[nodiscard]] bool is_spared() const;
  /// How many bytes it could have carried between two times, at the rates that it had.
  [[nodiscard]] double possible(Seconds from, Seconds to) const;
};

/// The links that a flow crosses, at least one, and its own limit. From Machine; the links live as long as the network.
struct FlowRoute {
  std::vector<SharedLink*> links{};
  std::optional<Rate> limit{};
  double share = 1;  ///< of the bytes of a transfer, whose other flows take other ways

  /// Bytes per second of a flow that nobody holds up: of a link that stands for several it has that of one.
  [[nodiscard]] double rate_alone() const;
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

/// All links of the machine, and the flows that cross them.
class FlowNetwork {
 public:
  FlowNetwork() = default;
  virtual ~FlowNetwork() = default;
  FlowNetwork(const FlowNetwork&) = delete;
  FlowNetwork& operator=(const FlowNetwork&) = delete;

  /// Told of every flow that ends, from now on.
  void observe(std::function<void(const FlowRecord&)> observer) { observer_ = std::move(observer); }

  /// Links may be added while the simulation runs, and live as long as the network.
  SharedLink& add_link(Rate rate);
  SharedLink& add_open_link();
  /// Where `link` is full, its flows have also what the two links of each detour have left. Not of SimGridFlows.
  virtual void add_detours(SharedLink& /*link*/, std::vector<std::array<SharedLink*, 2>> /*detours*/) {}
  /// Bytes that have gone round links until now are counted where they went.
  virtual void settle_detours() {}

  /// `size` bytes, which is not zero, begin to move. `listener` outlives the flow.
  virtual FlowId start(const FlowRoute& route, Bytes size, FlowListener& listener) = 0;
  /// Takes a flow away: its bytes do not arrive, and its listener is not told. Does nothing to a flow that has ended.
  virtual void drop(FlowId id) = 0;

  /// How many bytes of a flow that has not ended are left.
  [[nodiscard]] virtual double left(FlowId id) const = 0;

  /// `link` has another rate from now on, which is not more than before; nothing is next to nothing.
  virtual void set_rate(SharedLink& link, Rate rate) = 0;
  /// Flows that cross `link` stop moving, and those that start later do not begin to, until go_on().
  virtual void rest(SharedLink& link) = 0;
  virtual void go_on(SharedLink& link) = 0;

 protected:
  /// Bytes per second of a link that has nothing to give. In a second a thousandth of a byte passes, whose time is far
  /// below any precision.
  static constexpr double kRateAtRest = 1e-3;

  /// For FlowRecord.
  [[nodiscard]] bool is_observed() const { return static_cast<bool>(observer_); }
  void tell(const FlowRecord& record) const { observer_(record); }
  static void change_rate(SharedLink& link, Rate rate, Seconds now);

 private:
  std::function<void(const FlowRecord&)> observer_{};
  std::deque<SharedLink> links_;
};

}  // namespace twinlink::model
