// Seats of a node: what is next to each of its ranks, and whether ranks can be moved so that all of it is alike.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "model/engine/flows/folding.hpp"
#include "model/engine/flows/machine.hpp"
#include "model/engine/flows/max_min_flows.hpp"
#include "model/engine/flows/platform_names.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/core/path.hpp"

namespace twinlink::model {

/// Over which adapters messages of any size may go between two GPUs: all of a large one's, or one.
[[nodiscard]] std::vector<Adapters> all_adapters(const Topology& topology, std::size_t from, std::size_t to);

class Seats {
 public:
  /// Of the ranks on the nodes that share one graph, in their order. `topology` outlives it.
  Seats(const Topology& topology, std::span<const Place> places);

  /// False where they share something that no moves are asked about.
  [[nodiscard]] bool may_be_alike() const;
  /// Of seats that may be: what some ranks of a node need that stand for others which these moves lead to; nothing
  /// where the moves bring two ranks to two others that have other links, costs or latencies between them, or where
  /// links that are to stand for each other are crossed by others. All pairs are looked at, and all that their bytes
  /// may cross.
  [[nodiscard]] std::optional<Folding::Within> within(const Folding::Moves& by) const;

 private:
  /// What two ranks have between them beside links.
  struct Facts {
    std::vector<double> numbers{};
    std::vector<const void*> things{};

    friend bool operator==(const Facts&, const Facts&) = default;
  };
  [[nodiscard]] const Place& place(int rank) const { return places_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::size_t gpu(int rank) const { return seats_[static_cast<std::size_t>(rank)].gpu; }
  [[nodiscard]] std::vector<Location> locations(int rank) const;
  static void add_path(Facts& facts, const Path& path);
  void add_each_rates(Facts& facts, const Route& route) const;
  [[nodiscard]] Facts own(int rank) const;
  [[nodiscard]] Facts between(int from, int to) const;
  void add_copies(Facts& facts, int from, int to) const;
  [[nodiscard]] std::vector<Route> routes(int from, int to) const;
  [[nodiscard]] std::vector<FabricWay> ways(int from, int to) const;

  const Topology& topology_;
  std::vector<Place> places_;
  std::vector<Folding::Seat> seats_{};
  int nodes_;  ///< that they are on: as many further on other ranks have seats like these
  Clock clock_{};
  MaxMinFlows network_{clock_};  ///< without a flow
  Machine machine_;
};

}  // namespace twinlink::model
