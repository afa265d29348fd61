#include "protocols/gpudirect_v2/by_flag.hpp"

#include "protocols/gpudirect_v2/batch_places.hpp"
#include "protocols/gpudirect_v2/peer_messages.hpp"

namespace twinlink {
namespace {

/// A put that only raises its flag.
Op raise(PeerEnd& end, const View& there, const View& here, Engine engine, const Signal& flag) {
  return end.rank.put(there.slice(Bytes{}, Bytes{}), here.slice(Bytes{}, Bytes{}), kPeerStream, engine, flag);
}

}  // namespace

Started push(PeerEnd& end, const BatchedPieces& sent, const Piece& piece, Engine engine) {
  const ReceivedReady ready = received_ready(end.ready[piece.slot]);
  const Signal flag{kFlag, sent.name(piece)};
  if (ready.whole != flag.value) {
    if (Outcome opened = end.open(ready, {}, {&piece.bytes, 1}); !opened.ok()) return opened;
    const Op raised = raise(end, end.theirs.front(), piece.bytes, engine, flag);
    static_cast<void>(wait(end.rank, raised, end.deadline));  // the transfer has failed, whatever the peer learns
    return wrong_batch(flag.value, ready.whole);
  }
  const auto mine = sent.views(piece);
  std::vector<ReceivedReady> places;
  if (Outcome received = recv_places(end, ready, mine, places); !received.ok()) return received;
  if (Outcome opened = end.open(ready, places, mine); !opened.ok()) return opened;
  if (!sent.batched(piece)) return end.rank.put(end.theirs.front(), piece.bytes, kPeerStream, engine, flag);
  // A put moves one block, so that of a batch moves none: it raises the flag behind the copies.
  end.copies->keep(end.copies->start(end.theirs, mine));
  return raise(end, end.theirs.front(), piece.bytes, engine, flag);
}

Step await_flag(PeerEnd& end) {
  return {"await flag", [&end](const Piece& p) { return end.rank.await_signal(end.peer, kFlag, end.flags[p.slot]); }};
}

Step check_flag(PeerEnd& end, const BatchedPieces& awaited) {
  return {"check flag", [&end, &awaited](const Piece& p) -> Started {
            const std::uint64_t whole = awaited.name(p);
            return end.flags[p.slot] == whole ? Outcome{} : wrong_batch(whole, end.flags[p.slot]);
          }};
}

}  // namespace twinlink
