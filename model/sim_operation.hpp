// SimRank's operations, for sim_rank.cpp and sim_progress.cpp only.
#pragma once

#include "model/sim_rank.hpp"

namespace twinlink::model {

struct SimRank::Operation {
  enum class State {
    unmatched,  ///< a receive, or a send above the eager limit, whose partner has not come
    delayed,    ///< its latency runs until `due`
    queued,     ///< ready, but behind another flow of its queue
    flowing,
    ended
  };
  enum class Kind { copy, send, receive, tell, hear };

  Op op{};
  Kind kind = Kind::copy;
  State state = State::unmatched;
  Status status = Status::delivered;
  bool abandoned = false;

  Part from{};
  Part to{};
  Content snapshot{Bytes{}};  ///< of `from`, when the operation began to read it
  const Cost* copy_cost = nullptr;
  Queue* queue = nullptr;  ///< the stream of a copy, the wire of a send

  RankId peer{};
  Tag tag{};
  bool eager = false;
  OperationPtr partner{};  ///< the receive of a send
  Message* into = nullptr;

  Seconds due{};
  Seconds flow_began{};
  std::unique_ptr<Flow> flow{};

  OpReport report{};
};

/// Two points in time closer than this are the same: SimGrid's own precision, see simgrid_settings().
inline constexpr Seconds kTimePrecision{1e-12};

}  // namespace twinlink::model
