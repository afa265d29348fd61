// Search: rings over what joins the GPUs of a node, as NCCL looks for them: as many of one speed side by side as the
// links have room for, in both directions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "protocols/core/path.hpp"
#include "protocols/gpu/ground.hpp"

namespace twinlink::nccl {

/// Ranks of an island by their numbers in it, each behind the one before and the first behind the last.
using Ring = std::vector<std::int32_t>;
Ring in_order(std::size_t members);
constexpr std::size_t index(std::int32_t number) { return static_cast<std::size_t>(number); }

/// How near the GPUs of an island are to each other, row by row.
struct Near {
  /// Of larger islands only the farthest is known, and whether a switch joins all.
  static constexpr std::size_t kMost = 8;
  template <class T>
  using Square = std::array<std::array<T, kMost>, kMost>;

  Square<std::uint8_t> links{};  ///< over which they reach each other's memory
  Square<Level> levels{};
  Level farthest = Level::loc;
  bool switched = false;  ///< all links lead to one switch
};

struct Found {
  std::vector<Ring> rings{};  ///< at least one
  gpu::Channels channels{};   ///< all of them, before they are doubled
  Rate ring{};                ///< what they carry together
  Rate links_of_gpu{};        ///< of a switch
  int pair_links = 0;         ///< that join any two, the fewest; 0: PCIe does, too
  Level within = Level::loc;  ///< how far apart neighbours are, the farthest

  /// Are all rings one?
  [[nodiscard]] bool one_order() const {
    return std::ranges::all_of(rings, [&](const Ring& each) { return each == rings.front(); });
  }
};

/// So many of `room` rings go from one to another.
using Room = Near::Square<int>;

/// Rings through all of `members` that share nothing: as many as fit, or nearly, for the search gives up in the end.
std::vector<Ring> disjoint_rings(std::size_t members, const Room& room);

/// Through the GPUs with these facts: by their links where there are rings of them, else the one ring that is widest
/// over all that joins them.
Found look_within(const gpu::Release& release, std::span<const DeviceFacts> members, const Near& near);

}  // namespace twinlink::nccl
