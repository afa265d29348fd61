// Lane: one direction of a transfer, written as the list of steps that every piece of it takes.
//
// A protocol declares its lanes; move() is the one blocking loop that drives them. Windows of messages, pipelining and
// both directions at once follow from it, so no protocol has a loop of its own:
//
//   piece 0:  copy out | send
//   piece 1:           | copy out | send         with depth 2, piece 2 starts when piece 0 has left its slot
//   piece 2:                      | copy out | send
//
// A protocol's sender, for example:
//
//   Lane out{.pieces = cut(messages, chunk), .depth = 2, .steps = {
//       {"copy out", [&](const Piece& p) { return rank.copy(buffers.at(p), p.bytes, stream, Engine::dma); }},
//       {"send", [&](const Piece& p) { return rank.send(peer, tag, buffers.at(p)); }}}};
//   return move(rank, {&out, 1}, deadline);
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "protocols/core/protocol.hpp"
#include "protocols/core/rank.hpp"

namespace twinlink {

/// A part of a message on its way: the bytes in the user's buffer, and the slot (0 to depth-1) whose staging buffer is
/// its own until it has taken its last step.
struct Piece {
  View bytes{};
  std::size_t slot = 0;
  std::size_t number = 0;  ///< its place among the lane's pieces
};

/// What starting a step gives: an operation to wait for, or an outcome at once. `delivered` means that there is nothing
/// to wait for, as with a step that only some pieces need; anything else ends the transfer.
using Started = std::variant<Op, Outcome>;

/// One step: the words that the protocol's scenario uses for it, and what starts it. Traces, errors and `explain` show
/// the words. `start` is called once for each piece; it must not wait for the peer.
struct Step {
  std::string_view words;
  std::function<Started(const Piece&)> start;
};

/// Of one lane. move() keeps its books in arrays of this size.
inline constexpr std::size_t kMostSteps = 8;

/// Pieces take the steps in order, and every step is started for the pieces in order. At most `depth` pieces are under
/// way at once. A lane may serve many transfers, with other pieces each time: then its steps are made only once.
struct Lane {
  std::vector<View> pieces;
  std::size_t depth = 1;
  std::vector<Step> steps;  ///< up to kMostSteps
};

/// Cuts messages into pieces of at most `chunk` bytes; zero cuts nothing. An empty message is one empty piece: it is
/// still sent.
std::vector<View> cut(std::span<const View> messages, Bytes chunk);
/// The same into `pieces`, whose room is used again.
void cut(std::span<const View> messages, Bytes chunk, std::vector<View>& pieces);
/// The pieces of one message, behind those that are there.
void add_pieces(const View& message, Bytes chunk, std::vector<View>& pieces);

/// By piece of cut(messages, chunk): the length of its whole message, into `lengths`, whose room is used again.
void whole_lengths(std::span<const View> messages, Bytes chunk, std::vector<Bytes>& lengths);

/// The tag that the data of a piece travel with, of a message of `whole` bytes. It says how many pieces the message
/// has, so that an end which expects fewer of them does not take the first ones for all: it waits, to its deadline. Of
/// as many pieces as expected, the last one shows a wrong size.
Tag data_tag(Bytes whole, Bytes chunk);

/// Drives all lanes to their end, or until the deadline or the first failure: the loop that every protocol waits in.
/// `deadline` is a point in time, by rank.now(). After a failure all operations in flight are abandoned, and the reason
/// names the step: "step 'send' of piece 3 (64K): the deadline passed".
Outcome move(Rank& rank, std::span<const Lane> lanes, Seconds deadline);

}  // namespace twinlink
