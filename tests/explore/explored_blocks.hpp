// Thread blocks of a program through all interleavings: the same code that GPUs run, one block for each rank.
//
// What a block stores into a peer's memory is seen at any later time and in any order, but for three things: what is
// stored together (8 B of LL, a line of LL128) is seen at once, stores to one place are seen in their order, and what
// is stored behind a fence is seen behind all that was stored before it. A block reads one thing at a time.
#pragma once

#include <cstdint>
#include <string>

#include "protocols/gpu/program.hpp"

namespace twinlink::explore {

/// Slips that a block may have, and how a tree grows.
struct Slips {
  bool no_fence = false;     ///< Simple: nothing between a slot's bytes and its counter
  bool torn_lines = false;   ///< LL128: a line is not seen whole
  bool torn_halves = false;  ///< LL: nor are its halves
  bool free_credit = false;  ///< a slot is filled again without asking
  bool same_place = false;   ///< of puts: the second message overwrites the first one, and nobody has been asked
  bool fan = false;          ///< no slip: all ranks are below rank 0; else one below the other
};

struct BlocksResult {
  bool complete = false;
  std::uint64_t states = 0;      ///< that differ
  std::uint64_t executions = 0;  ///< that came to an end
  std::string finding{};         ///< the first one, with what led to it; empty: none

  [[nodiscard]] bool clean() const { return complete && finding.empty() && executions > 0; }
};

/// Every rank has the program with its own number and, of an exchange or a put, its own lengths: rank 0 sends `bytes`,
/// and rank 1 `received`. A put is launched twice, and its messages lie behind each other; who receives reads each one
/// when its launch has ended. So are blocks to experts `launches` times, to the same places. At most so many states.
BlocksResult explore_blocks(gpu::Program program, const Slips& slips = {}, int launches = 1,
                            std::uint64_t most_states = 2'000'000);

}  // namespace twinlink::explore
