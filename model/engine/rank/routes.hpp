// Routes: which links the bytes of one rank's operations cross, and how many bytes they are worth there. Transport asks
// when an operation begins to flow; Machine knows the links, and what it says is kept by peer and ends.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include <boost/container/flat_map.hpp>

#include "model/engine/rank/message_ways.hpp"
#include "model/engine/rank/operation.hpp"
#include "model/engine/rank/sim_world.hpp"

namespace twinlink::model {

class Routes {
 public:
  /// `world` and `ways`, the rank's own, outlive it.
  Routes(SimWorld& world, RankId rank, MessageWays& ways) : world_(world), rank_(rank), ways_(ways) {}

  /// The flows of an operation's present stage, one for each way that its bytes take side by side. Valid until the next
  /// call.
  [[nodiscard]] const std::vector<FlowRoute>& of(Operation& operation);
  /// A fault has cut one of them: nothing comes through.
  [[nodiscard]] bool are_cut(Operation& operation);

  /// The bytes of an operation, which the caches hold from now on; and where CPUs copy it, as many more as flow in the
  /// time that it takes longer to fetch some of them from memory.
  [[nodiscard]] Bytes bytes_of(Operation& operation);
  /// What flows of a message that CPUs copy in `time`, if nobody disturbs them.
  [[nodiscard]] Bytes copied_in(Seconds time, const Operation& message) const;

 private:
  [[nodiscard]] Rate rate_of_cpus(const Operation& message) const;

  SimWorld& world_;
  RankId rank_;
  MessageWays& ways_;
  std::map<std::tuple<int, End, End, bool>, std::vector<FlowRoute>> copies_;  ///< by node, and whether cached
  /// Through adapters: by peer, both ends, whether there are several, and which.
  boost::container::flat_map<std::tuple<RankId, Location, Location, bool, AdapterTurn>, std::vector<FlowRoute>>
      transfers_;
  int fabric_changes_ = 0;          ///< that transfers_ knows of
  std::vector<FlowRoute> by_cpus_;  ///< of the message asked for last
};

}  // namespace twinlink::model
