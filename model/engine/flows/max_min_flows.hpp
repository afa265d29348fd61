// MaxMinFlows: who shares a link with others has an even part of it, or less where something else holds it up, and
// what that leaves the others share.
//
// A link with room for all that cross it limits none of them. So only links without room count, and a change moves the
// rates of those alone whom such links join to it. Rates are worked out once for each moment of time, whatever has
// happened in it. SimGrid is the judge: with SimGridFlows random jobs take the same time.
#pragma once

#include <cstdint>
#include <vector>

#include "model/engine/flows/flow.hpp"
#include "model/engine/flows/flow_pool.hpp"

namespace twinlink::model {

class MaxMinFlows final : public FlowNetwork {
 public:
  /// `clock` outlives it.
  explicit MaxMinFlows(Clock& clock) : clock_(clock), flows_(clock, [this](Flow& flow) { end(flow); }) {}

  FlowId start(const FlowRoute& route, Bytes size, FlowListener& listener) override;
  void drop(FlowId id) override;
  [[nodiscard]] double left(FlowId id) const override;
  void set_rate(SharedLink& link, Rate rate) override;
  void rest(SharedLink& link) override;
  void go_on(SharedLink& link) override;

  /// Works out the rates of all that what has happened concerns. Before time passes.
  void share();

 private:
  struct Candidate {
    double part = 0;  ///< of its rate, for each crossing whose rate is not known yet
    std::size_t number = 0;
  };
  static bool later(const Candidate& a, const Candidate& b) {
    return a.part > b.part || (a.part == b.part && a.number > b.number);
  }

  void touch(SharedLink& link);
  void leave(Flow& flow);
  void end(Flow& flow);
  void collect();
  void fill();
  void give(Flow& flow, double rate);
  void move(Flow& flow, double rate);
  [[nodiscard]] SharedLink* tightest();

  Clock& clock_;
  FlowPool flows_;
  std::vector<SharedLink*> changed_;
  std::uint64_t workings_ = 0;
  // Of the working out that is under way.
  std::vector<Flow*> concerned_;
  std::vector<Flow*> unsettled_;  ///< of these, whose rate is not known yet
  std::vector<SharedLink*> met_;
  std::vector<SharedLink*> full_;      ///< of these, the links without room
  std::vector<Candidate> candidates_;  ///< a heap, whose top has the least part
};

}  // namespace twinlink::model
