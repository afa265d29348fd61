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
//   7. tell mark: the place of a few bytes of mine
//   8. hear mark
//   9. raise beginning: a put of nothing to the peer's mark
//   10. await beginning
//
// A hello may be of an end that has given up and is gone, so each is answered, and only an end that has heard mine can
// say welcome to my number. Letters of one tag stay in order, and so do signals: what comes before the beginning is of
// an earlier connection, and is thrown away. What comes behind it is not, and so needs no number of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "protocols/rank.hpp"

namespace twinlink {

/// Other letters with the tags of a meeting must have another size.
inline constexpr std::size_t kMeetingLetter = 24;
/// Other signals with the tag of a meeting must be less.
inline constexpr std::uint64_t kBeginningSignal = std::uint64_t{3} << 46;
static_assert(kBeginningSignal < kMostSignal);

/// Meets the peer, which must do the same: afterwards all letters with one of `tags` are of this connection. Nobody
/// else may tell tags::kMeeting. A peer that does not come until the deadline is a failure, whose reason names the
/// step.
Outcome meet(Rank& rank, RankId peer, std::span<const Tag> tags, Seconds deadline);

/// The same for signals with `tag`, after meet(). Both ends raise them by puts in `stream`.
Outcome meet_signals(Rank& rank, RankId peer, Tag tag, Stream stream, Seconds deadline);

/// The next letter that is wanted, into `heard`; those before it are thrown away. Every hear is a step of these words.
Status hear_only(Rank& rank, RankId peer, Tag tag, std::string_view words,
                 const std::function<bool(const Message&)>& wanted, Message& heard, Seconds deadline);

}  // namespace twinlink
