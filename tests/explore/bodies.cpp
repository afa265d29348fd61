#include "tests/explore/bodies.hpp"

#include <vector>

#include "protocols/registry.hpp"
#include "protocols/tags.hpp"

namespace twinlink::explore {
namespace {

constexpr Seconds kLong{1000};
constexpr Tag kMeet{tags::kFirstFree.value};

/// Both have come here: buffers that the other may have had open can go.
void meet(Rank& rank, RankId peer) {
  Message heard;
  const Op told = rank.tell(peer, kMeet, Message());
  wait(rank, rank.hear(peer, kMeet, heard), kLong);
  wait(rank, told, kLong);
}

void exchange_once(const Exchange& exchange, Rank& rank, Witness& witness) {
  const int me = rank.id().value;
  const RankId peer{1 - me};
  const Protocol& protocol = find_protocol(exchange.protocol);
  std::vector<View> outgoing;
  std::vector<View> incoming;
  for (int i = 0; i < (me == 0 ? exchange.forth : exchange.back); ++i) {
    outgoing.emplace_back(rank.allocate(protocol.message_memory(), exchange.size));
    rank.fill(outgoing.back(), content(me, i));
  }
  for (int i = 0; i < (me == 0 ? exchange.back : exchange.forth); ++i) {
    incoming.emplace_back(rank.allocate(protocol.message_memory(), exchange.size));
    rank.fill(incoming.back(), kSentinel);
  }
  {
    const auto channel = protocol.connect(rank, peer, exchange.settings);
    const Outcome outcome = channel->exchange(outgoing, incoming);
    witness.ending(to_string(outcome.status));
    int index = 0;
    for (const View& view : incoming) {
      const Verdict verdict = rank.check(view, content(peer.value, index++));
      witness.require(verdict.intact(), "a message is " + to_string(verdict));
    }
    index = 0;
    for (const View& view : outgoing) {
      witness.require(rank.check(view, content(me, index++)).intact(), "a message changed at its sender");
    }
  }
  meet(rank, peer);
  for (const View& view : outgoing) rank.release(view.buffer);
  for (const View& view : incoming) rank.release(view.buffer);
}

}  // namespace

Pattern content(int from, int index) { return Pattern{static_cast<std::uint64_t>(100 * from + index + 1)}; }

Scenario exchange_of(const Exchange& exchange) {
  const Body body = [exchange](Rank& rank, Witness& witness) { exchange_once(exchange, rank, witness); };
  return {.bodies = {body, body}};
}

}  // namespace twinlink::explore
