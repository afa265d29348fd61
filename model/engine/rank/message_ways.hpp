// MessageWays: how messages of one rank reach its peers, and what that costs them before their bytes move. Their bytes
// are the business of Routes. Latencies of one peer are worked out once and kept.
#pragma once

#include <optional>
#include <tuple>
#include <vector>

#include <boost/container/flat_map.hpp>

#include "model/engine/rank/operation.hpp"
#include "model/engine/rank/sim_world.hpp"

namespace twinlink::model {

class MessageWays {
 public:
  /// `world` outlives it.
  MessageWays(SimWorld& world, RankId rank) : world_(world), rank_(rank) {}

  /// Within the node, and not through the adapter.
  [[nodiscard]] bool by_shared_memory(RankId peer) const;
  /// What the library takes for messages to and from `peer`. An InputError where no fabric joins the nodes.
  [[nodiscard]] const NetworkCosts& costs(RankId peer) const;
  /// The adapters that a message of `size` takes to `peer`.
  [[nodiscard]] std::vector<Adapters> adapters(RankId peer, Location from, Location to, Bytes size,
                                               AdapterTurn turn = {}) const;
  /// Where the bytes of a message or a put go. An eager message that nobody awaits yet goes to the library's own
  /// buffer, next to the receiver.
  [[nodiscard]] Location target(const Operation& operation) const;

  /// What links, adapters and switches between the ends of a message or a put add to its latency.
  [[nodiscard]] Seconds latency(const Operation& operation);
  /// The same for control messages, which lie in the memories next to the GPUs.
  [[nodiscard]] Seconds latency_of_control(RankId peer);
  /// The control messages by which all ranks would tell each other something.
  [[nodiscard]] Seconds time_to_tell_all();
  /// What a large message takes longer that the library copies piece by piece: the copy out of the shared buffer begins
  /// when the first piece has been copied in, and every piece is a call of memcpy.
  [[nodiscard]] Seconds copying_piece_by_piece(RankId peer, Bytes size);
  /// How long a message waits until its adapters can take it: from now on they are taken.
  Seconds adapter_turn(const Operation& operation);

  /// The parts of a message's way, and whose CPUs copy it there.
  [[nodiscard]] Stages stages(const Operation& send) const;
  /// No control message to `peer` comes through.
  [[nodiscard]] bool control_is_cut(RankId peer) const;

 private:
  [[nodiscard]] Seconds latency_between(RankId peer, Location from, Location to, Bytes size, bool in_request,
                                        AdapterTurn turn);
  [[nodiscard]] boost::container::small_vector<RankId, 2> copying_ranks(const Operation& send) const;

  SimWorld& world_;
  RankId rank_;
  std::optional<Seconds> time_to_tell_all_{};
  /// By peer, both ends, whether it takes several adapters, and which; worked out when first needed.
  boost::container::flat_map<std::tuple<RankId, Location, Location, bool, bool, AdapterTurn>, Seconds> latencies_;
};

}  // namespace twinlink::model
