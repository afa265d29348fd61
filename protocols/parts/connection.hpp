// The handshake with which a connection begins whose ends send each other control messages or signals, so that neither
// takes for its own what an earlier connection of the same two ranks has left under way.
//
//   at both ends
//   1. send connect request: my number
//   2. receive connect request; its recv_control() is started first
//   3. send connect reply: to that number, with mine
//   4. receive connect reply
//   and, for each tag of control messages
//   5. send epoch: to the peer's number
//   6. receive epoch
//   and, for signals, if the protocol has any
//   7. raise epoch: a put of nothing to memory of the peer, whose place it has sent
//   8. await epoch
//
// So connect gpudirect-v2, symmetric-put, cuda-ipc, nccl, gpudirect-v1 with shared buffers, and the symmetric heap.
//
// A request may be of an end that has given up and is gone, so each is answered, and only an end that has received mine
// can reply to my number. Control messages of one tag stay in order, and so do signals: what comes before the epoch is
// of an earlier connection, and is thrown away. What comes behind it is not, and so needs no number of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "protocols/core/rank.hpp"

namespace twinlink {

/// Other control messages with the tags of a connection handshake must have another size.
inline constexpr std::size_t kConnectMessageSize = 40;
static_assert(sizeof(IpcHandle) != kConnectMessageSize, "protocols send handles as they are");
/// Other signals with the tag of a connection handshake must be less.
inline constexpr std::uint64_t kEpochSignal = std::uint64_t{3} << 46;
static_assert(kEpochSignal < kMostSignal);

/// What the two ends of a connection call themselves: no other connection of either rank has its number.
struct Epoch {
  std::uint64_t mine = 0;
  std::uint64_t theirs = 0;
};

/// Connects to the peer, which must do the same: afterwards all control messages with one of `tags` are of this
/// connection. Nobody else may use tags::kConnect. A peer that does not come until the deadline is a failure, whose
/// reason names the step.
Outcome connect_ends(Rank& rank, RankId peer, std::span<const Tag> tags, Seconds deadline, Epoch& epoch);

/// Begins the signals with `tag` that this end raises by puts in `stream`. `there`, of the peer's memory, and `nothing`
/// are empty.
Outcome raise_epoch(Rank& rank, View there, View nothing, Stream stream, Tag tag, const Epoch& epoch, Seconds deadline);
/// Afterwards all signals of the peer with `tag` are of this connection. Once, and behind connect_ends().
Outcome await_epoch(Rank& rank, RankId peer, Tag tag, const Epoch& epoch, Seconds deadline);

/// Both of them at both ends, where the protocol itself has no memory for that yet: behind connect_ends(), where device
/// memory is mapped. The two ends send each other the place of a few bytes (`send mark`, `receive mark`).
Outcome connect_signals(Rank& rank, RankId peer, Tag tag, Stream stream, const Epoch& epoch, Seconds deadline);

/// Why a connection was not made: the peer did not come to the step of these words.
Outcome did_not_connect(Status status, std::string_view words);

}  // namespace twinlink
