// FftRun: a Fourier transform of an array on a rank: transforms and reshapes, one after the other or, in parts, one
// beside the other.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "protocols/workloads/arrays/fourier.hpp"
#include "protocols/workloads/arrays/mover.hpp"

namespace twinlink::workloads {

struct FftTimes {
  Seconds transforms{};
  ReshapeTimes reshapes{};
};

class FftRun {
 public:
  /// `rank` and `fft` outlive it. Numbers of a rank go through in so many parts.
  FftRun(ConcurrentRank& rank, const FftPlan& fft, std::uint64_t parts, const ReshapeWish& wish);

  /// The reshapes, by layout and part; forward alone, or back alone.
  [[nodiscard]] std::vector<const ReshapePlan*> plans(bool forward) const;
  [[nodiscard]] std::vector<const ReshapePlan*> plans() const;
  /// What this rank sends in one direction.
  [[nodiscard]] Bytes sent() const;

  /// `memory`: from the first buffer to the second, and back. Forward the numbers begin in the first one; layouts take
  /// turns. The Outcome of what has failed.
  Outcome run(bool forward, Mover& mover, RowPacking packing, const std::array<ReshapeMemory, 2>& memory,
              Seconds timeout, FftTimes& times);

 private:
  /// Of a layout, all of it or a part.
  Outcome transform(std::size_t layout, bool forward, std::uint64_t part, std::uint64_t parts, const View& numbers,
                    Seconds timeout, FftTimes& times);
  /// Between two layouts that follow each other: transforms of the first one's parts, and their reshapes; or back.
  Outcome stage(std::size_t layout, bool forward, Mover& mover, RowPacking packing,
                const std::array<ReshapeMemory, 2>& memory, Seconds timeout, FftTimes& times);

  ConcurrentRank& rank_;
  const FftPlan& fft_;
  std::uint64_t parts_;
  std::vector<std::vector<ReshapePlan>> forward_;   ///< by layout before it, and part
  std::vector<std::vector<ReshapePlan>> backward_;  ///< likewise, back to that layout
};

}  // namespace twinlink::workloads
