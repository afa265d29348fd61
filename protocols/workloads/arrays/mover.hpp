// Mover: does a reshape on a rank, over channels to its peers.
//
//   1. pack: what does not lie in one stretch, all pieces at once; meanwhile what stays is moved
//   2. exchange with all peers at the same time; with many, with a few at a time
//   3. unpack: into its rows
//
// As it lies nothing is packed: each stretch is a message of its own or, on a symmetric heap, all of them are one copy
// into the peer's memory.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "protocols/core/measured_rank.hpp"
#include "protocols/workloads/arrays/reshape.hpp"
#include "protocols/workloads/concurrent_rank.hpp"
#include "protocols/workloads/connections.hpp"

namespace twinlink::workloads {

enum class RowPacking {
  kernel,  ///< one kernel for all pieces
  copies,  ///< by the copy engine, rows of one distance at a time
  none     ///< as it lies
};
/// "kernel", "copies", "none".
std::string_view to_string(RowPacking packing);
RowPacking find_row_packing(std::string_view name);

/// Where a reshape begins and ends, and its packed pieces.
struct ReshapeMemory {
  View from{};
  View to{};  ///< the same as `from`: in place
  View packed_out{};
  View packed_in{};
};

/// How long the parts of a reshape took on this rank.
struct ReshapeTimes {
  Seconds packing{};  ///< and unpacking
  Seconds exchange{};
};

class Mover {
 public:
  /// All outlive it. Packs in streams of its own, so that transforms may go on beside.
  Mover(ConcurrentRank& rank, Connections& connections, Seconds timeout)
      : rank_(rank), connections_(connections), timeout_(timeout) {}

  /// The Outcome of what has failed, with its peer. A UsageError for a plan in place that is not packed.
  Outcome run(const ReshapePlan& plan, RowPacking packing, const ReshapeMemory& memory, ReshapeTimes& times);

 private:
  Outcome pack(const ReshapePlan& plan, RowPacking packing, const ReshapeMemory& memory);
  Outcome unpack(const ReshapePlan& plan, RowPacking packing, const ReshapeMemory& memory);
  Outcome exchange_with(int peer, const Share* out, const Share* in, const ReshapePlan& plan, RowPacking packing,
                        const ReshapeMemory& memory);
  Outcome exchange(const ReshapePlan& plan, RowPacking packing, const ReshapeMemory& memory);
  /// One kernel, or a copy by the engine for each run of rows at one distance.
  void start(std::vector<Op>& ops, const View& to, const View& from, const std::vector<Block>& blocks,
             RowPacking packing);
  Outcome finish(std::vector<Op>& ops, std::string_view words);

  ConcurrentRank& rank_;
  Connections& connections_;
  Seconds timeout_;
};

/// How many messages rows as they lie are, at the most: more would take all of a rank's time and memory.
inline constexpr std::uint64_t kMostRows = 1U << 16U;

}  // namespace twinlink::workloads
