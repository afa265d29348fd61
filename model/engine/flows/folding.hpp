// Folding: of ranks that do the same at the same time some are simulated, and stand for all.
//
// A group of moves carries nodes onto nodes, and what ranks do, the ways between them and the links onto each other: so
// many nodes further on round the circle of all, or nodes whose numbers differ in the same bits. The first nodes of all
// orbits stand for all. A second group does so with the ranks of each node, their GPUs and adapters. What a rank sends
// to a peer goes to who stands for that peer, to whom the sender is the rank that has been moved likewise; and a link
// stands for all that it can be moved to. Who makes a Folding has seen that all this is so: model/study/jobs/alike.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/engine/flows/platform_names.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/core/rank.hpp"
#include "protocols/core/standing.hpp"

namespace twinlink::model {

class Folding {
 public:
  enum class Move {
    shift,        ///< by a multiple of the stride, round the circle of all: stride times count are all
    exclusive_or  ///< of a number and a multiple of the stride below stride times count; both are powers of two
  };
  /// Nodes, or the ranks of each.
  struct Moves {
    Move move = Move::shift;
    int all = 1;
    int stride = 1;
    int count = 1;

    [[nodiscard]] int moved(int which, int by) const { return move == Move::shift ? (which + by) % all : which ^ by; }
    /// Who is brought there by what brings who stands for `to` to it.
    [[nodiscard]] int moved_back(int which, int to) const {
      const int by = to / stride % count * stride;
      return moved(which, move == Move::shift ? all - by : by);
    }
  };
  /// What stands for a link between switches: that link, of whose rate the ranks that stand for all have a part.
  struct Link {
    std::uint64_t link = 0;
    double share = 1;  ///< 0: nobody has looked at it
  };
  using Links = std::unordered_map<std::uint64_t, Link>;
  /// What is next to a rank: its GPU, and where its host buffers lie.
  struct Seat {
    std::size_t gpu = 0;
    Location near{};
    Location far{};
  };
  /// Ranks of a node that others of it stand for.
  struct Within {
    std::vector<Seat> seats{};  ///< of the ranks of the nodes that share a graph, in their order
    std::vector<Link> links{};  ///< of a node, by slot, see Machine
  };

  /// Rank r is on node r / ranks.all. `links`: all that messages between the nodes cross. `within` is empty where
  /// ranks.count is 1.
  Folding(const Moves& nodes, const Moves& ranks, Links links, Within within)
      : nodes_(nodes), ranks_(ranks), links_(std::move(links)), within_(std::move(within)) {}

  /// Which ranks stand for all, and how many these are.
  [[nodiscard]] Standing standing() const { return standing_of(nodes_, ranks_); }
  [[nodiscard]] static Standing standing_of(const Moves& nodes, const Moves& ranks) {
    return {.stride = nodes.stride * ranks.all,
            .count = nodes.count,
            .within_stride = ranks.stride,
            .within_count = ranks.count};
  }
  [[nodiscard]] int ranks() const { return nodes_.all * ranks_.all / standing().each(); }
  [[nodiscard]] int node(int node) const { return Standing{.stride = nodes_.stride, .count = nodes_.count}.of(node); }
  [[nodiscard]] RankId standing_for(RankId rank) const { return RankId{standing().of(rank.value)}; }
  /// Who `rank` is to the rank that stands for `peer`.
  [[nodiscard]] RankId seen_by(RankId peer, RankId rank) const;
  /// A logic_error for one that no message was to cross.
  [[nodiscard]] const Link& link(std::uint64_t link) const;

  /// Do ranks of one node stand for each other?
  [[nodiscard]] bool is_within() const { return ranks_.count > 1; }
  /// Only then: what stands for a link of a node, by slot.
  [[nodiscard]] const Link& slot(std::size_t slot) const;
  /// Where `owner` has what who stands for it has at `at`, next to itself. A logic_error for anywhere else, where they
  /// are not next to the same.
  [[nodiscard]] Location location(RankId owner, Location at) const;
  /// The GPU, in its node, of who stands for a rank on that one, which has one.
  [[nodiscard]] std::size_t gpu(std::size_t gpu) const;

 private:
  [[nodiscard]] const Seat& seat(int rank) const {
    return within_.seats[static_cast<std::size_t>(rank) % within_.seats.size()];
  }

  Moves nodes_;
  Moves ranks_;
  Links links_;
  Within within_;
};

}  // namespace twinlink::model
