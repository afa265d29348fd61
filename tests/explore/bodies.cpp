#include "tests/explore/bodies.hpp"

#include <vector>

#include "protocols/core/tags.hpp"
#include "protocols/registry.hpp"
#include "tests/support/finish.hpp"

namespace twinlink::explore {
namespace {

/// Both have come here: buffers that the other may have had open can go.
void connect_ends(Rank& rank, RankId peer) {
  ControlMessage received;
  const Op sent = rank.send_control(peer, kMeet, ControlMessage());
  finish(rank, rank.recv_control(peer, kMeet, received), kLong);
  finish(rank, sent, kLong);
}

std::vector<View> messages(const Exchange& exchange, Rank& rank, int count) {
  const Memory memory = find_protocol(exchange.protocol).message_memory();
  std::vector<View> views;
  Buffer buffer;
  for (int i = 0; i < count; ++i) {
    const auto place = static_cast<std::uint64_t>(exchange.together ? i : 0);
    if (place == 0) {
      buffer = rank.allocate(memory, exchange.size * static_cast<std::uint64_t>(exchange.together ? count : 1));
    }
    views.emplace_back(buffer, exchange.size * place, exchange.size);
  }
  return views;
}

void release(Rank& rank, const std::vector<View>& views) {
  for (const View& view : views) {
    if (view.offset == Bytes{}) rank.release(view.buffer);
  }
}

void exchange_once(const Exchange& exchange, MeasuredRank& rank, Witness& witness) {
  const int me = rank.id().value;
  const RankId peer{1 - me};
  const Protocol& protocol = find_protocol(exchange.protocol);
  const std::vector<View> outgoing = messages(exchange, rank, me == 0 ? exchange.forth : exchange.back);
  const std::vector<View> incoming = messages(exchange, rank, me == 0 ? exchange.back : exchange.forth);
  int number = 0;
  for (const View& view : outgoing) rank.fill(view, content(me, number++));
  for (const View& view : incoming) rank.fill(view, kSentinel);
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
  connect_ends(rank, peer);
  release(rank, outgoing);
  release(rank, incoming);
}

}  // namespace

Payload content(int from, int index) { return Payload{static_cast<std::uint64_t>(100 * from + index + 1)}; }

Scenario exchange_of(const Exchange& exchange) {
  const Body body = [exchange](MeasuredRank& rank, Witness& witness) { exchange_once(exchange, rank, witness); };
  return {.bodies = {body, body}};
}

}  // namespace twinlink::explore
