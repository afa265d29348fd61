// ExpertPuts: tokens to the experts of all ranks, and back, by thread blocks that store them into slots which each rank
// keeps on the symmetric heap (protocols/gpu/experts.hpp).
//
//   with the first blocks, and whenever they are longer than the slots: collective
//   1. allocate slots on the heap, clear: none is filled
//   2. barrier: all have
//   with every dispatch or combine
//   3. launch: blocks that send, and blocks that receive
//   4. wait: they have ended; no CPU has told another one anything
#pragma once

#include <memory>

#include "protocols/core/protocol.hpp"
#include "protocols/heap/symmetric_heap.hpp"

namespace twinlink {

/// Does the protocol do this one on a symmetric heap, with these settings?
bool puts_to_experts(Collective what, const Protocol& protocol, const Settings& settings);
/// What the slots take of the heap.
Bytes room_for_experts(const Protocol& protocol, const Settings& settings, int ranks, const Portions& portions);

/// The communicator of a protocol that puts_to_experts(). Collective; `heap` outlives it. An UnavailableError where
/// blocks do not reach the memory of all peers.
std::unique_ptr<Communicator> join_on(SymmetricHeap& heap, const Protocol& protocol, const Settings& settings);

}  // namespace twinlink
