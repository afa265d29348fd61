// Which ranks stand for all: of ranks that do the same at the same time one is enough, in a simulation.
#pragma once

namespace twinlink {

/// Of every `count` stretches of `stride` ranks that follow each other the first one stands for all of these; by
/// default each rank for itself. The ranks that stand for others have places, in their order.
struct Standing {
  int stride = 1;
  int count = 1;

  [[nodiscard]] constexpr int place_of(int rank) const { return rank / (stride * count) * stride + rank % stride; }
  [[nodiscard]] constexpr int at(int place) const { return place / stride * stride * count + place % stride; }
  /// Who stands for a rank.
  [[nodiscard]] constexpr int of(int rank) const { return rank - rank / stride % count * stride; }
};

}  // namespace twinlink
