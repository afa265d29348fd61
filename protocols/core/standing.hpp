// Which ranks stand for all: of ranks that do the same at the same time one is enough, in a simulation.
#pragma once

namespace twinlink {

/// Of every `count` stretches of `stride` ranks that follow each other the first one stands for all of these; and of
/// the ranks that are left so, of every `within_count` stretches of `within_stride` again, whose product divides
/// `stride`. By default each rank stands for itself. The ranks that stand for others have places, in their order.
struct Standing {
  int stride = 1;
  int count = 1;
  int within_stride = 1;
  int within_count = 1;

  /// How many ranks one stands for.
  [[nodiscard]] constexpr int each() const { return count * within_count; }
  [[nodiscard]] constexpr int place_of(int rank) const {
    return kept(kept(rank, stride, count), within_stride, within_count);
  }
  [[nodiscard]] constexpr int at(int place) const {
    return spread(spread(place, within_stride, within_count), stride, count);
  }
  /// Who stands for a rank.
  [[nodiscard]] constexpr int of(int rank) const { return at(place_of(rank)); }

 private:
  static constexpr int kept(int rank, int stride, int count) {
    return rank / (stride * count) * stride + rank % stride;
  }
  static constexpr int spread(int place, int stride, int count) {
    return place / stride * stride * count + place % stride;
  }
};

}  // namespace twinlink
