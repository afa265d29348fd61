// Jobs so small that one can list by hand what may happen in them.
#pragma once

#include <set>
#include <string>

#include "tests/explore/bodies.hpp"
#include "tests/explore/explorer/scenario.hpp"

namespace twinlink::explore {

inline constexpr Tag kA{64};
inline constexpr Tag kB{65};
inline constexpr Tag kSignal{3};

/// Sends `value`, and waits until that has ended.
void send_control(Rank& rank, int peer, Tag tag, int value = 0);
int recv_control(Rank& rank, int peer, Tag tag);
/// Waits for one of the two, says which came, then waits for the other.
void say_first(Rank& rank, Witness& witness, Op a, Op b);

/// Rank 0 sends two messages; rank 1 says which it received first.
Scenario messages_of_two_tags();
Scenario messages_of_one_tag();
/// Which of two copies ended first; `reversed` has the second first in the span.
Scenario two_copies(Stream first, Stream second, bool reversed);
/// Three ranks; the last receives the other two, and says in which order.
Scenario two_senders();
Scenario both_send_first(Bytes size, Bytes eager_limit);
/// Rank 1 overwrites its memory either after or while rank 0 reads it, as `waits` says.
Scenario overwrites_what_a_peer_reads(bool waits);
enum class Reuse { after_the_put, after_the_answer, at_once };
/// Rank 1 puts into rank 0's memory and raises a signal; rank 0 answers what it has got. Then rank 1 says whether a
/// look shows the put as ended, and overwrites what it put from.
Scenario put_and_answer(Reuse reuse);
/// Rank 1 copies and puts on one stream, and waits for both and for a message of rank 0; rank 0 waits for the signal
/// and another message.
Scenario put_behind_a_copy(bool put_first);

/// The different endings, and the different findings.
std::set<std::string> endings_of(const ExploreResult& result);
std::set<std::string> findings_of(const ExploreResult& result);

}  // namespace twinlink::explore
