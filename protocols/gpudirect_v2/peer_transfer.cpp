#include "protocols/gpudirect_v2/peer_transfer.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace twinlink {

void PeerTransfer::begin(std::span<const View> messages, Bytes chunk, std::uint64_t batch, std::size_t depth) {
  own_.assign(messages, chunk, batch);
  // What was said in earlier exchanges is written over before anybody reads it.
  const std::size_t slots = std::max(received_.size(), std::min(depth, own_.pieces.size()));
  received_.resize(slots);
  flags_.resize(slots);
}

// ---- ready ----------------------------------------------------------------------------------------------------------

Step PeerTransfer::send_ready() {
  return {"send ready", [this](const Piece& p) -> Started {
            if (own_.batched(p)) return announce(own_.batch(p));
            return end_.rank.send_control(end_.peer, tags::kReady,
                                          ready_message(end_.shared, p.bytes, p.bytes.length, own_.name(p)));
          }};
}

/// `ready` gives the place of a batch's first message and the distance to the next; where they lie irregularly, each of
/// the others has a control message of its own before it.
Started PeerTransfer::announce(std::span<const View> batch) {
  const auto distance = distance_of(batch);
  const std::uint64_t name = batch_name(batch);
  // Made first: it is what the mover reads first, and so it has the handle of a new buffer.
  const ControlMessage ready = ready_message(end_.shared, batch.front(), distance.value_or(Bytes{}), name);
  if (!distance) {
    for (const View& message : batch.subspan(1)) {
      const ControlMessage place = ready_message(end_.shared, message, message.length, name);
      const Status status = wait(end_.rank, end_.rank.send_control(end_.peer, tags::kPlace, place), end_.deadline);
      if (status != Status::delivered) return Outcome{status, "the places of a batch were not taken in time"};
    }
  }
  return end_.rank.send_control(end_.peer, tags::kReady, ready);
}

Step PeerTransfer::recv_ready() {
  return {"receive ready",
          [this](const Piece& p) { return end_.rank.recv_control(end_.peer, tags::kReady, received_[p.slot]); }};
}

/// Receives the places that `ready` does not give, into `places`, which are empty. Of a single message there are none.
Outcome PeerTransfer::recv_places(const Ready& ready, std::span<const View> mine, std::vector<ReceivedReady>& places) {
  const bool each = mine.size() > 1 && ready.length == 0;
  while (each && places.size() < mine.size() - 1) {
    ControlMessage place;
    const Status status = wait(end_.rank, end_.rank.recv_control(end_.peer, tags::kPlace, place), end_.deadline);
    if (status != Status::delivered) return {status, "the places of a batch were not received in time"};
    places.push_back(received_ready(place));
  }
  return {};
}

/// Where the peer's messages lie, into `theirs_`: of a piece what `first` names; of a batch as many as `mine`, of the
/// same length, of which `places` may name the others. A buffer that cannot be opened is a failure of the peer.
Outcome PeerTransfer::open(const ReceivedReady& first, std::span<const ReceivedReady> places,
                           std::span<const View> mine) {
  const auto add = [this](const ReceivedReady& place, Bytes length) {
    theirs_.emplace_back(end_.shared.open(place.name()), Bytes{place.offset}, length);
  };
  theirs_.clear();
  try {
    // `length` of a batch is the distance from one message to the next.
    add(first, mine.size() == 1 ? Bytes{first.length} : mine.front().length);
    for (const ReceivedReady& place : places) add(place, Bytes{place.length});
  } catch (const Error& error) {
    // A forged or stale handle is the peer's fault, and a refusal of the driver nobody's.
    return {Status::peer_failed, std::string("the peer's buffer cannot be opened: ") + error.what()};
  }
  while (theirs_.size() < mine.size()) {
    const View& last = theirs_.back();
    theirs_.emplace_back(last.buffer, last.offset + Bytes{first.length}, last.length);
  }
  return {};
}

// ---- movers whose copy has an end that they wait for
// ------------------------------------------------------------------

/// Finds where the peer's bytes of a piece lie.
Outcome PeerTransfer::reach(const Piece& piece) {
  const ReceivedReady ready = received_ready(received_[piece.slot]);
  const std::uint64_t whole = own_.name(piece);
  if (ready.whole != whole) {
    refuse({whole, Delivered::Answer::wrong_size});
    return wrong_batch(whole, ready.whole);
  }
  std::vector<ReceivedReady> places;
  if (Outcome received = recv_places(ready, own_.views(piece), places); !received.ok()) return received;
  Outcome opened = open(ready, places, own_.views(piece));
  if (!opened.ok()) refuse({whole, Delivered::Answer::not_opened});
  return opened;
}

/// The transfer has failed, whether the peer learns of it or not.
void PeerTransfer::refuse(const Delivered& why) {
  const Op sent = end_.rank.send_control(end_.peer, tags::kDelivered, ControlMessage(why));
  static_cast<void>(wait(end_.rank, sent, end_.deadline));
}

Started PeerTransfer::copy_out(const Piece& piece) {
  if (Outcome reached = reach(piece); !reached.ok()) return reached;
  return end_.copies->start(theirs_, own_.views(piece));
}

Started PeerTransfer::copy_in(const Piece& piece) {
  if (Outcome reached = reach(piece); !reached.ok()) return reached;
  return end_.copies->start(own_.views(piece), theirs_);
}

Step PeerTransfer::send_delivered() {
  return {"send delivered", [this](const Piece& p) {
            return end_.rank.send_control(end_.peer, tags::kDelivered, ControlMessage(Delivered{own_.name(p)}));
          }};
}

Step PeerTransfer::recv_delivered() {
  return {"receive delivered",
          [this](const Piece& p) { return end_.rank.recv_control(end_.peer, tags::kDelivered, received_[p.slot]); }};
}

Step PeerTransfer::check_delivered() {
  return {"check delivered", [this](const Piece& p) -> Started {
            // A refusal may overtake the answers for pieces before it: it ends the transfer whatever its size says.
            const auto said = received_[p.slot].as<Delivered>();
            switch (said.answer) {
              case Delivered::Answer::wrong_size:
                return wrong_batch(own_.name(p), said.whole);
              case Delivered::Answer::not_opened:
                return Outcome{Status::peer_failed, "the peer could not open this rank's buffer"};
              case Delivered::Answer::done:
                return Outcome{};
            }
            return Outcome{};
          }};
}

// ---- movers that raise a flag behind the bytes
// ------------------------------------------------------------------------

Started PeerTransfer::push(const Piece& piece, Engine engine) {
  const ReceivedReady ready = received_ready(received_[piece.slot]);
  const Signal flag{kFlag, own_.name(piece)};
  // A put moves one block, so that of a batch moves none: it raises the flag behind the copies, by what copies.
  const auto raise = [&] {
    const View nothing = piece.bytes.slice(Bytes{}, Bytes{});
    const Engine by = own_.batched(piece) ? end_.copies->engine() : engine;
    return end_.rank.put(theirs_.front().slice(Bytes{}, Bytes{}), nothing, kPeerStream, by, flag);
  };
  if (ready.whole != flag.value) {
    if (Outcome opened = open(ready, {}, {&piece.bytes, 1}); !opened.ok()) return opened;
    static_cast<void>(wait(end_.rank, raise(), end_.deadline));  // the transfer has failed, whatever the peer learns
    return wrong_batch(flag.value, ready.whole);
  }
  const auto mine = own_.views(piece);
  std::vector<ReceivedReady> places;
  if (Outcome received = recv_places(ready, mine, places); !received.ok()) return received;
  if (Outcome opened = open(ready, places, mine); !opened.ok()) return opened;
  if (!own_.batched(piece)) return end_.rank.put(theirs_.front(), piece.bytes, kPeerStream, engine, flag);
  end_.copies->keep(end_.copies->start(theirs_, mine));
  return raise();
}

Step PeerTransfer::await_flag() {
  return {"await flag", [this](const Piece& p) { return end_.rank.await_signal(end_.peer, kFlag, flags_[p.slot]); }};
}

Step PeerTransfer::check_flag() {
  return {"check flag", [this](const Piece& p) -> Started {
            const std::uint64_t whole = own_.name(p);
            return flags_[p.slot] == whole ? Outcome{} : wrong_batch(whole, flags_[p.slot]);
          }};
}

}  // namespace twinlink
