#include "protocols/gpudirect_v2/by_delivered.hpp"

#include "protocols/core/tags.hpp"
#include "protocols/gpudirect_v2/batch_places.hpp"
#include "protocols/gpudirect_v2/peer_messages.hpp"

namespace twinlink {
namespace {

/// The transfer has failed, whether the peer learns of it or not.
void refuse(PeerEnd& end, const Delivered& why) {
  const Op sent = end.rank.send_control(end.peer, tags::kDelivered, ControlMessage(why));
  static_cast<void>(wait(end.rank, sent, end.deadline));
}

}  // namespace

Outcome reach(PeerEnd& end, const BatchedPieces& mine, const Piece& piece) {
  const ReceivedReady ready = received_ready(end.ready[piece.slot]);
  const std::uint64_t whole = mine.name(piece);
  if (ready.whole != whole) {
    refuse(end, {whole, Delivered::Answer::wrong_size});
    return wrong_batch(whole, ready.whole);
  }
  std::vector<ReceivedReady> places;
  if (Outcome received = recv_places(end, ready, mine.views(piece), places); !received.ok()) return received;
  Outcome opened = end.open(ready, places, mine.views(piece));
  if (!opened.ok()) refuse(end, {whole, Delivered::Answer::not_opened});
  return opened;
}

Step send_delivered(PeerEnd& end, const BatchedPieces& moved) {
  return {"send delivered", [&end, &moved](const Piece& p) {
            return end.rank.send_control(end.peer, tags::kDelivered, ControlMessage(Delivered{moved.name(p)}));
          }};
}

Step recv_delivered(PeerEnd& end) {
  return {"receive delivered",
          [&end](const Piece& p) { return end.rank.recv_control(end.peer, tags::kDelivered, end.delivered[p.slot]); }};
}

Step check_delivered(PeerEnd& end, const BatchedPieces& mine) {
  return {"check delivered", [&end, &mine](const Piece& p) -> Started {
            // A refusal may overtake the answers for pieces before it: it ends the transfer whatever its size says.
            const auto said = end.delivered[p.slot].as<Delivered>();
            switch (said.answer) {
              case Delivered::Answer::wrong_size:
                return wrong_batch(mine.name(p), said.whole);
              case Delivered::Answer::not_opened:
                return Outcome{Status::peer_failed, "the peer could not open this rank's buffer"};
              case Delivered::Answer::done:
                return Outcome{};
            }
            return Outcome{};
          }};
}

}  // namespace twinlink
