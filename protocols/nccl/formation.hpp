// Formation: how the ranks of a job stand in the rings and trees of its channels. All ranks work it out alike, from
// what they have told each other.
//
// Ranks whose GPUs share a node, or reach each other's memory, are an island; between islands bytes go through
// adapters. Each channel's ring goes through one island after the other, and crosses from a GPU to the one of the same
// number, its rail; channels take turns at the rails. A channel's tree is a chain within each island, whose first ranks
// form one of two binary trees: who is a leaf in one has ranks below it in the other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "protocols/core/rank.hpp"
#include "protocols/gpu/program.hpp"
#include "protocols/nccl/search.hpp"

namespace twinlink::nccl {

/// Links of a binary tree by numbers; -1: none.
struct TreeLinks {
  std::int32_t above = -1;
  std::array<std::int32_t, 2> below{-1, -1};
};
/// Of `count` nodes the place of `node`, in the tree itself or in the other one.
TreeLinks binary_tree(std::int32_t node, std::int32_t count, bool other);

/// Where a rank stands, with other ranks as its links.
struct Neighbourhood {
  gpu::ChannelPosition position{};    ///< links are ranks
  std::vector<std::int32_t> order{};  ///< of the channel's ring, by place
};

class Formation {
 public:
  /// `island` of each rank: any number that its members share. All are taken to be like the first one, with one ring in
  /// the members' order.
  explicit Formation(const std::vector<std::int32_t>& island);
  /// Rings within the first one, at least one: channels take turns at them.
  void take(std::vector<Ring> rings) { rings_ = std::move(rings); }

  [[nodiscard]] std::size_t islands() const { return islands_.size(); }
  /// Of the first one.
  [[nodiscard]] std::size_t members() const { return islands_.front().size(); }
  /// Of each, where all have as many and the numbers of each follow each other; else of one rank, as if each were one.
  [[nodiscard]] int group() const;
  /// The ranks of each.
  [[nodiscard]] const std::vector<std::vector<std::int32_t>>& ranks() const { return islands_; }
  /// One ring of all ranks in their order.
  [[nodiscard]] bool is_plain() const;
  /// Its links in the tree of those that have the same place in all islands, which have as many members.
  void put_into_rail_tree(gpu::ChannelPosition& position, std::int32_t rank, std::int32_t channel) const;
  /// Those of the same place as `rank` in all islands, in the order of these.
  [[nodiscard]] std::vector<RankId> rail_of(std::int32_t rank) const;
  [[nodiscard]] Neighbourhood of(std::int32_t rank, std::int32_t channel) const;

 private:
  [[nodiscard]] std::vector<std::int32_t> ring_of(std::int32_t channel) const;
  void put_into_tree(gpu::ChannelPosition& position, std::int32_t rank, std::int32_t channel) const;

  std::vector<std::vector<std::int32_t>> islands_;  ///< their ranks
  std::vector<Ring> rings_;                         ///< of members
};

}  // namespace twinlink::nccl
