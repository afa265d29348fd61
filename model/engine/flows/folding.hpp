// Folding: of ranks that do the same at the same time some are simulated, and stand for all.
//
// A group of moves carries nodes onto nodes, and what ranks do, the ways between them and the links onto each other: so
// many nodes further on round the circle of all, or nodes whose numbers differ in the same bits. The first nodes of all
// orbits stand for all. What a rank sends to a peer goes to who stands for that peer, to whom the sender is the rank
// that has been moved likewise; and a link of the fabric stands for all that it can be moved to. Who makes a Folding
// has seen that all this is so: model/study/jobs/alike.hpp.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "protocols/core/rank.hpp"
#include "protocols/core/standing.hpp"

namespace twinlink::model {

class Folding {
 public:
  enum class Move {
    shift,        ///< by a multiple of the stride, round the circle of all nodes: stride times count are all
    exclusive_or  ///< of a node's number and a multiple of the stride below stride times count; both are powers of two
  };
  /// Rank r is on node r / per_node, of the `nodes` that have numbers from 0 on; `standing` is of nodes.
  struct Nodes {
    Move move = Move::shift;
    int nodes = 1;
    Standing standing{};
    int per_node = 1;

    [[nodiscard]] int moved(int node, int move_by) const {
      return move == Move::shift ? (node + move_by) % nodes : node ^ move_by;
    }
  };
  /// What stands for a link between switches: that link, of whose rate the ranks that stand for all have a part.
  struct Link {
    std::uint64_t link = 0;
    double share = 1;
  };
  using Links = std::unordered_map<std::uint64_t, Link>;

  /// `links`: all that messages between the ranks cross.
  Folding(const Nodes& nodes, Links links) : nodes_(nodes), links_(std::move(links)) {}

  /// Which ranks stand for all, and how many these are.
  [[nodiscard]] Standing standing() const {
    return {.stride = nodes_.standing.stride * nodes_.per_node, .count = nodes_.standing.count};
  }
  [[nodiscard]] int ranks() const { return nodes_.nodes / nodes_.standing.count * nodes_.per_node; }
  [[nodiscard]] int node(int node) const { return nodes_.standing.of(node); }
  [[nodiscard]] RankId standing_for(RankId rank) const { return RankId{standing().of(rank.value)}; }
  /// Who `rank` is to the rank that stands for `peer`.
  [[nodiscard]] RankId seen_by(RankId peer, RankId rank) const;
  /// A logic_error for one that no message was to cross.
  [[nodiscard]] const Link& link(std::uint64_t link) const;

 private:
  Nodes nodes_;
  Links links_;
};

}  // namespace twinlink::model
