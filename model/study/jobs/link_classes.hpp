// Which links stand for others, where ranks do: those at one place of ways that can be moved onto each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "model/engine/flows/folding.hpp"
#include "model/engine/flows/platform_names.hpp"
#include "platforms/topology/topology.hpp"

namespace twinlink::model {

/// Links by the numbers that ways have, each with who crosses it.
class LinkClasses {
 public:
  /// The ways of a message of some rank that stands for others, and then of each move the ways to which it leads, in
  /// the same order. False: they are no images of the first.
  bool add(const std::vector<std::vector<FabricWay>>& moved);
  /// What stands for each link, of `moves` that lead from one to the other; nothing where links that are to stand for
  /// each other are crossed by others.
  [[nodiscard]] std::optional<Folding::Links> classes(int moves);

 private:
  struct Link {
    std::uint64_t link = 0;
    std::uint64_t crossed = 0;
    std::size_t joined = 0;
  };
  void begin(const FabricWay& way);
  bool move(const FabricWay& way);
  std::size_t number_of(std::uint64_t link);
  std::size_t root(std::size_t link);
  void join(std::size_t one, std::size_t other) { links_[root(one)].joined = root(other); }

  std::unordered_map<std::uint64_t, std::size_t> numbers_{};
  std::vector<Link> links_{};
  FabricWay first_{};
  std::vector<std::uint64_t> marks_{};  ///< of its hops
  std::uint64_t marked_ = 0;
};

}  // namespace twinlink::model
