// What messages take, alone and in windows, by the numbers of a platform; and which of these a window tells.
// All times of windows are the share of one message.
#pragma once

#include <optional>

#include "platforms/topology/topology.hpp"
#include "validate/primitives/primitive.hpp"

namespace twinlink::validate {

/// How much of one host memory a round of messages of `size` goes through: of one each way, or of a window. Both ends
/// may lie in the same memory.
Bytes memory_of_round(const Primitive& primitive, Bytes size);
/// Is that more than the caches hold? Then they hold nothing of it when its turn comes again.
bool lacks_in_caches(const Primitive& primitive, Bytes size, const platforms::Topology& topology);
/// What the bytes of a message take once they flow, all of them at once.
Seconds flow_of_message(const Primitive& primitive, Bytes size, const platforms::Topology& topology);

/// One message on an idle machine.
Seconds predict_message(const Primitive& primitive, Bytes size, const platforms::Topology& topology);
/// Time of a window of messages beside the intervals between them: one message, and the answer.
Seconds beside_gaps(const Primitive& primitive, Bytes size, const platforms::Topology& topology);
/// From one message of a window to the next, but for the gap: the bytes; where the sender's CPU copies them in pieces
/// all that this CPU does for one.
Seconds interval_beside_gap(const Primitive& primitive, Bytes size, const platforms::Topology& topology);
/// Messages one way follow each other at the sender's CPU or on the wire, whichever takes longer, or at both where that
/// CPU copies their bytes in pieces; or one CPU takes longer for all it has to do. Of pieces it is near, up to 6 % off:
/// which of them overlap depends on how the CPUs are shared.
Seconds predict_window(const Primitive& primitive, Bytes size, const platforms::Topology& topology);
/// Each CPU posts all its receives and sends, and then takes in what comes and learns of what has gone. Bytes that go
/// both ways, as those of a window one way do, take no longer. Nothing without a `completion`.
std::optional<Seconds> predict_both_ways(const Primitive& primitive, Bytes size, const platforms::Topology& topology);

/// What probes say of eager messages of one size.
struct EagerTimes {
  Seconds alone{};      ///< one of them, at the least
  Seconds one_way{};    ///< the share of one of a window
  Seconds both_ways{};  ///< the same with as many the other way
  Seconds flow{};       ///< of the bytes of one
};
/// What the CPU is busy for to take one of `size` in, beside the other `costs`. Zero if the CPUs are not what the
/// messages wait for.
Seconds completion_of(const platforms::NetworkCosts& costs, Bytes size, const EagerTimes& times);
/// What windows `both_ways` take longer than all else that a CPU does then; one way a sender has the time for it. Not
/// positive where that explains all.
Seconds send_completion_of(const platforms::NetworkCosts& costs, Bytes size, Seconds both_ways);

// Control messages, bench::kQueuedCopies each way.

/// Each CPU sends all, and then awaits all. The answer that ends a round lets the peer begin the next one before the
/// rank that it goes to, so that nobody waits, unless messages take longer than CPUs: the last one there, and the
/// answer. One of them is busy to answer meanwhile, and the other to take it in.
Seconds predict_controls(const platforms::NetworkCosts& network);
/// What the CPU does to await a control message and take it in, of which predict_controls() makes `time`. Zero where
/// the way of the messages decides.
Seconds receiving_control_of(const platforms::NetworkCosts& network, Seconds time);

}  // namespace twinlink::validate
