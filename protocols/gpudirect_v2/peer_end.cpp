#include "protocols/gpudirect_v2/peer_end.hpp"

#include <string>

#include "protocols/core/tags.hpp"
#include "protocols/gpudirect_v2/batch_places.hpp"

namespace twinlink {

void PeerEnd::make_room_for(std::size_t slots) {
  if (slots <= ready.size()) return;
  ready.resize(slots);
  delivered.resize(slots);
  flags.resize(slots);
}

Outcome PeerEnd::open(const ReceivedReady& first, std::span<const ReceivedReady> places, std::span<const View> mine) {
  const auto add = [this](const ReceivedReady& place, Bytes length) {
    theirs.emplace_back(shared.open(place.name()), Bytes{place.offset}, length);
  };
  theirs.clear();
  try {
    // Of a batch, `length` is the distance from one message to the next.
    add(first, mine.size() == 1 ? Bytes{first.length} : mine.front().length);
    for (const ReceivedReady& place : places) add(place, Bytes{place.length});
  } catch (const Error& error) {
    // A forged or stale handle is the peer's fault, and a refusal of the driver nobody's.
    return {Status::peer_failed, std::string("the peer's buffer cannot be opened: ") + error.what()};
  }
  while (theirs.size() < mine.size()) {
    const View& last = theirs.back();
    theirs.emplace_back(last.buffer, last.offset + Bytes{first.length}, last.length);
  }
  return {};
}

Step send_ready(PeerEnd& end, const BatchedPieces& mine) {
  return {"send ready", [&end, &mine](const Piece& p) -> Started {
            if (mine.batched(p)) return send_batch(end, mine.batch(p));
            return end.rank.send_control(end.peer, tags::kReady,
                                         ready_message(end.shared, p.bytes, p.bytes.length, mine.name(p)));
          }};
}

Step recv_ready(PeerEnd& end) {
  return {"receive ready",
          [&end](const Piece& p) { return end.rank.recv_control(end.peer, tags::kReady, end.ready[p.slot]); }};
}

}  // namespace twinlink
