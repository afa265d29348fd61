// MaxMinFlows: who shares a link with others has an even part of it, or less where something else holds it up, and
// what that leaves the others share.
//
// A link with room for all that cross it limits none of them. So only links without room count, and a change moves the
// rates of those alone whom such links join to it. Rates are worked out once for each moment of time, whatever has
// happened in it. SimGrid is the judge: with SimGridFlows random jobs take the same time.
//
// Where all send to all, a change moves nearly all rates, and a working out goes through thousands of flows. What it
// looks at of a flow and of a link stands apart from the rest of them, close together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "model/engine/flows/flow.hpp"
#include "model/engine/flows/flow_pool.hpp"

namespace twinlink::model {

class MaxMinFlows final : public FlowNetwork {
 public:
  /// `clock` outlives it.
  explicit MaxMinFlows(Clock& clock) : clock_(clock), flows_(clock, [this](Flow& flow) { end(flow); }) {}

  void add_detours(SharedLink& link, std::vector<std::array<SharedLink*, 2>> detours) override;
  void settle_detours() override;
  FlowId start(const FlowRoute& route, Bytes size, FlowListener& listener) override;
  void drop(FlowId id) override;
  [[nodiscard]] double left(FlowId id) const override;
  void set_rate(SharedLink& link, Rate rate) override;
  void rest(SharedLink& link) override;
  void go_on(SharedLink& link) override;

  /// Works out the rates of all that what has happened concerns. Before time passes.
  void share();

  // Of a flow that is under way, since share().

  [[nodiscard]] double rate(const Flow& flow) const { return states_[flow.place].rate; }
  /// Bytes per second if others did not hold it up.
  [[nodiscard]] double most(const Flow& flow) const { return states_[flow.place].most; }
  /// So many flows did the last working out go through.
  [[nodiscard]] std::size_t affected() const { return affected_.size(); }

 private:
  /// A flow, as a working out sees it.
  struct FlowState {
    double most = 0;             ///< bytes per second if it is not held up by others
    double rate = 0;             ///< bytes per second
    double next = -1;            ///< the rate that it is to have; negative: not known yet
    std::uint32_t visited = 0;   ///< the last working out that met it
    int at_rest = 0;             ///< so many of its links rest
    bool joins_detours = false;  ///< one of its links does
    bool grows = false;          ///< round full links, while the working out goes on
    /// The numbers of its links without room, in the order of its way.
    boost::container::small_vector<std::uint32_t, 4> full{};
  };
  /// A link without room, likewise.
  struct SaturatedLink {
    SharedLink* link = nullptr;
    double left = 0;            ///< of its rate
    int unsettled = 0;          ///< flows that cross it whose rate is not known yet, or still grows
    std::uint32_t visited = 0;  ///< the last working out that met it
  };
  struct Candidate {
    double part = 0;           ///< of its rate, for each crossing whose rate is not known yet
    std::uint32_t met = 0;     ///< at this place among the links without room
    std::uint32_t number = 0;  ///< of the link
  };
  /// A link that has detours or that others lead over, while the working out goes on.
  struct Round {
    SharedLink* link = nullptr;
    double left = 0;   ///< of its rate
    int growing = 0;   ///< flows that cross it and still grow
    double speed = 0;  ///< what it loses for each byte per second that these grow
    double net = 0;    ///< as SharedLink has it
    int open = 0;      ///< its detours that have something left
  };
  struct Later {
    bool operator()(const Candidate& a, const Candidate& b) const {
      return a.part > b.part || (a.part == b.part && a.met > b.met);
    }
  };

  void mark_changed(SharedLink& link);
  void mark_all_changed(SharedLink& link);
  void leave(Flow& flow);
  void end(Flow& flow);
  [[nodiscard]] SaturatedLink& saturated(SharedLink& link);
  void enter_bottlenecks(Flow& flow, double most);
  void note_full_links(const Flow& flow);
  [[nodiscard]] bool settle_fullness(SharedLink& link);
  void collect();
  void mark_affected(std::uint32_t place);
  void fill();
  void meet(SharedLink& link);
  void meet_rounds();
  void spread_from(std::size_t& next);
  // In detours.cpp.
  [[nodiscard]] static bool is_open(const Round& round) { return round.left > round.link->rate * kNothing; }
  void go_round();
  void begin_to_grow();
  void set_speeds();
  [[nodiscard]] double next_step(double grown) const;
  void grow(double step);
  void stop_growing(std::uint32_t place, double grown);
  void give(FlowState& state, double rate);
  void move(Flow& flow, double rate);
  [[nodiscard]] SharedLink* tightest();
  void sift_down();

  Clock& clock_;
  FlowPool flows_;
  std::vector<FlowState> states_;         ///< by place in the pool
  std::vector<SaturatedLink> saturated_;  ///< by number
  std::vector<SharedLink*> changed_;
  std::vector<FlowId> begun_;  ///< since rates were worked out, and not free
  std::uint32_t workings_ = 0;
  // Of the working out that is under way.
  std::vector<std::uint32_t> affected_;
  std::vector<std::uint32_t> unsettled_;  ///< of these, whose rate is not known yet
  std::vector<SharedLink*> met_;
  std::vector<Candidate> candidates_;  ///< a heap, whose top has the least part
  bool round_changes_ = false;         ///< it concerns links with detours
  // Where flows go round full links.
  static constexpr double kNothing = 1e-9;  ///< of a rate: a link that has no more left is full
  std::vector<Round> rounds_;
  std::vector<std::pair<double, std::uint32_t>> growing_;  ///< how much more each can have, the most first
  std::vector<std::uint32_t> narrow_;                      ///< full links without detours that they cross
  Seconds settled_{};
};

}  // namespace twinlink::model
