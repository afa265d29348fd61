// A meeting: how a connection begins whose ends tell each other something, so that neither takes for its own what an
// earlier connection of the same two ranks has left under way.
//
//   at both ends
//   1. tell hello: my number
//   2. hear hello; its hear is started first, and has that number
//   3. tell welcome: to that number, with mine
//   4. hear welcome
//   and, for each tag of letters
//   5. tell beginning: to the peer's number
//   6. hear beginning
//   and, for signals, if the protocol has any
//   7. raise beginning: a put of nothing to memory of the peer, which it has told a place of
//   8. await beginning
//
// A hello may be of an end that has given up and is gone, so each is answered, and only an end that has heard mine can
// say welcome to my number. Letters of one tag stay in order, and so do signals: what comes before the beginning is of
// an earlier connection, and is thrown away. What comes behind it is not, and so needs no number of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "protocols/core/rank.hpp"

namespace twinlink {

/// Other letters with the tags of a meeting must have another size.
inline constexpr std::size_t kMeetingLetter = 40;
static_assert(sizeof(IpcHandle) != kMeetingLetter, "protocols tell handles as they are");
/// Other signals with the tag of a meeting must be less.
inline constexpr std::uint64_t kBeginningSignal = std::uint64_t{3} << 46;
static_assert(kBeginningSignal < kMostSignal);

/// What the two ends of a connection call themselves: no other connection of either rank has its number.
struct MeetingNumbers {
  std::uint64_t mine = 0;
  std::uint64_t theirs = 0;
};

/// Meets the peer, which must do the same: afterwards all letters with one of `tags` are of this connection. Nobody
/// else may tell tags::kMeeting. A peer that does not come until the deadline is a failure, whose reason names the
/// step.
Outcome meet(Rank& rank, RankId peer, std::span<const Tag> tags, Seconds deadline, MeetingNumbers& numbers);

/// Begins the signals with `tag` that this end raises by puts in `stream`. `there`, of the peer's memory, and `nothing`
/// are empty.
Outcome raise_beginning(Rank& rank, View there, View nothing, Stream stream, Tag tag, const MeetingNumbers& numbers,
                        Seconds deadline);
/// Afterwards all signals of the peer with `tag` are of this connection. Once, and behind meet().
Outcome await_beginning(Rank& rank, RankId peer, Tag tag, const MeetingNumbers& numbers, Seconds deadline);

/// Both of them at both ends, where the protocol itself has no memory for that yet: behind meet(), within a node. The
/// two ends tell each other the place of a few bytes (`tell mark`, `hear mark`).
Outcome meet_signals(Rank& rank, RankId peer, Tag tag, Stream stream, const MeetingNumbers& numbers, Seconds deadline);

/// Why a connection was not made: the peer did not come to the step of these words.
Outcome did_not_connect(Status status, std::string_view words);

}  // namespace twinlink
