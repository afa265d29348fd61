#include "protocols/gpudirect_v2/gpudirect_v2_channel.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "protocols/core/lane.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/gpudirect_v2/gpudirect_v2_letters.hpp"
#include "protocols/parts/batches.hpp"
#include "protocols/parts/meeting.hpp"
#include "protocols/parts/shared_buffers.hpp"

namespace twinlink {
namespace {

constexpr Stream kPeerStream{0};
constexpr Tag kFlag = tags::kPushFlag;

/// What a resident kernel moves sooner than the copy engine: it is one block of threads, with the bandwidth of one, but
/// needs no launch. (H200 over NVLink: 5.6 us against 6.8 us at 64 KiB, 30 us against 9.3 us at 1 MiB.)
constexpr Bytes kMostResident = 64_KiB;

class PeerChannel final : public Channel {
 public:
  PeerChannel(Rank& rank, RankId peer, Settings settings, PeerMover mover, std::uint64_t batch, std::string path_taken)
      : rank_(rank),
        peer_(peer),
        settings_(std::move(settings)),
        mover_(mover),
        batch_(batch),
        path_taken_(std::move(path_taken)),
        shared_(rank, peer) {
    // Of flags that nobody has taken, one more must find room: the beginning of the next connection.
    const std::size_t most = flagged() ? kMostSignals - 1 : static_cast<std::size_t>(kMaxDepth);
    for (Lane& lane : lanes_) lane.depth = std::min(static_cast<std::size_t>(settings_.depth), most);
    lanes_[kIncoming].steps = pushes() ? stand_by(awaited_) : reach_steps(awaited_);
    lanes_[kOutgoing].steps = pushes() ? reach_steps(sent_) : stand_by(sent_);
    connected(meet_peer());
  }

  [[nodiscard]] std::string path_taken() const override { return path_taken_; }

 private:
  Outcome do_exchange(std::span<const View> outgoing, std::span<const View> incoming) override {
    awaited_.assign(incoming, settings_.chunk, batch_);
    sent_.assign(outgoing, settings_.chunk, batch_);
    lanes_[kIncoming].pieces = awaited_.pieces;
    lanes_[kOutgoing].pieces = sent_.pieces;
    const std::size_t most = std::max(awaited_.pieces.size(), sent_.pieces.size());
    make_room_for(std::min(static_cast<std::size_t>(settings_.depth), most));
    BatchCopies batches(rank_, kPeerStream, engine_of_batches());
    batches_ = &batches;
    deadline_ = rank_.now() + settings_.timeout;
    Outcome outcome = move(rank_, lanes_, deadline_);
    if (outcome.ok()) batches.settle(deadline_);
    return outcome;
  }

  /// What an earlier connection has left under way is thrown away, whatever its options were.
  Outcome meet_peer() {
    constexpr std::array kLetters{tags::kReady, tags::kDelivered, tags::kPlace};
    const Seconds deadline = rank_.now() + settings_.timeout;
    MeetingNumbers numbers;
    Outcome outcome = meet(rank_, peer_, kLetters, deadline, numbers);
    if (!outcome.ok() || !flagged()) return outcome;
    return meet_signals(rank_, peer_, kFlag, kPeerStream, numbers, deadline);
  }

  /// What was said in earlier exchanges is written over before anybody reads it.
  void make_room_for(std::size_t slots) {
    if (slots <= ready_.size()) return;
    ready_.resize(slots);
    delivered_.resize(slots);
    flags_.resize(slots);
  }

  using Steps = std::vector<Step>;
  [[nodiscard]] bool pushes() const { return mover_ != PeerMover::kernel_pull; }
  [[nodiscard]] bool flagged() const { return mover_ == PeerMover::kernel_push || mover_ == PeerMover::resident_push; }
  [[nodiscard]] Engine pusher_of(Bytes length) const {
    if (mover_ == PeerMover::kernel_push) return Engine::kernel;
    return length <= kMostResident ? Engine::resident : Engine::dma;
  }
  /// A resident kernel copies no blocks.
  [[nodiscard]] Engine engine_of_batches() const {
    return mover_ == PeerMover::kernel_push || mover_ == PeerMover::kernel_pull ? Engine::kernel : Engine::dma;
  }

  /// Of the side whose memory is reached into.
  Steps stand_by(const BatchedPieces& parts) {
    Steps steps{{"tell ready", [this, &parts](const Piece& p) -> Started {
                   if (parts.batched(p)) return tell_batch(parts.batch(p));
                   return rank_.tell(peer_, tags::kReady,
                                     ready_message(shared_, p.bytes, p.bytes.length, parts.name(p)));
                 }}};
    if (flagged()) {
      steps.push_back(
          {"await flag", [this](const Piece& p) { return rank_.await_signal(peer_, kFlag, flags_[p.slot]); }});
      steps.push_back({"check flag", [this, &parts](const Piece& p) -> Started {
                         const std::uint64_t whole = parts.name(p);
                         return flags_[p.slot] == whole ? Outcome{} : wrong_batch(whole, flags_[p.slot]);
                       }});
      return steps;
    }
    steps.push_back(
        {"hear delivered", [this](const Piece& p) { return rank_.hear(peer_, tags::kDelivered, delivered_[p.slot]); }});
    steps.push_back({"check delivered", [this, &parts](const Piece& p) -> Started {
                       // A refusal may overtake the answers for pieces before it: it ends the transfer whatever its
                       // size says.
                       const auto said = delivered_[p.slot].as<Delivered>();
                       switch (said.answer) {
                         case Delivered::Answer::wrong_size:
                           return wrong_batch(parts.name(p), said.whole);
                         case Delivered::Answer::not_opened:
                           return Outcome{Status::peer_failed, "the peer could not open this rank's buffer"};
                         case Delivered::Answer::done:
                           return Outcome{};
                       }
                       return Outcome{};
                     }});
    return steps;
  }

  /// Of the side that reaches into the other's memory: it writes what it sends, or reads what it awaits.
  Steps reach_steps(const BatchedPieces& parts) {
    if (flagged()) return {hear_ready(), {"push", [this](const Piece& p) { return push_with_flag(p); }}};
    const std::string_view words = pushes() ? "peer copy" : "pull";
    return {
        hear_ready(), {words, [this, &parts](const Piece& p) { return reach_piece(parts, p); }}, tell_delivered(parts)};
  }

  Started reach_piece(const BatchedPieces& parts, const Piece& p) {
    const HeardReady ready = heard_ready(ready_[p.slot]);
    if (parts.batched(p)) {
      const auto mine = parts.batch(p);
      return reach_batch(mine, ready, [&](const Views& theirs) {
        return pushes() ? batches_->start(theirs, mine) : batches_->start(mine, theirs);
      });
    }
    return reach(parts.name(p), ready, [&](View theirs) {
      return pushes() ? rank_.copy(theirs, p.bytes, kPeerStream, Engine::dma)
                      : rank_.copy(p.bytes, theirs, kPeerStream, Engine::kernel);
    });
  }

  Step hear_ready() {
    return {"hear ready", [this](const Piece& p) { return rank_.hear(peer_, tags::kReady, ready_[p.slot]); }};
  }
  Step tell_delivered(const BatchedPieces& parts) {
    return {"tell delivered", [this, &parts](const Piece& p) {
              return rank_.tell(peer_, tags::kDelivered, Message(Delivered{parts.name(p)}));
            }};
  }
  Started push_with_flag(const Piece& p) {
    const HeardReady ready = heard_ready(ready_[p.slot]);
    if (sent_.batched(p)) return push_batch(sent_.batch(p), ready);
    return push_flagged(p.bytes, sent_.name(p), ready, pusher_of(p.bytes.length));
  }

  /// Starts `copy` with the peer's bytes, unless its message has another size or its buffer cannot be opened.
  template <class Copy>
  Started reach(std::uint64_t whole, const HeardReady& theirs, Copy copy) {
    return reach(
        whole, theirs, [&] { return view(theirs); }, copy);
  }
  /// The same for a batch, with where all its messages lie. What is told one by one was told before `theirs`.
  template <class Copy>
  Started reach_batch(std::span<const View> mine, const HeardReady& theirs, Copy copy) {
    const std::uint64_t whole = batch_name(mine);
    std::vector<HeardReady> others(theirs.whole == whole && theirs.length == 0 ? mine.size() - 1 : 0);
    for (HeardReady& other : others) {
      Message place;
      const Status status = wait(rank_, rank_.hear(peer_, tags::kPlace, place), deadline_);
      if (status != Status::delivered) return Outcome{status, "the places of a batch were not told in time"};
      other = heard_ready(place);
    }
    return reach(
        whole, theirs, [&] { return views(theirs, others, mine); }, copy);
  }
  template <class Open, class Copy>
  Started reach(std::uint64_t whole, const HeardReady& theirs, Open open, Copy copy) {
    if (theirs.whole != whole) {
      refuse({whole, Delivered::Answer::wrong_size});
      return wrong_batch(whole, theirs.whole);
    }
    decltype(open()) bytes;
    try {
      bytes = open();
    } catch (const Error& error) {
      refuse({whole, Delivered::Answer::not_opened});
      return cannot_open(error);
    }
    return copy(bytes);
  }
  /// A forged or stale handle is the peer's fault, and a refusal of the driver nobody's.
  static Outcome cannot_open(const Error& error) {
    return {Status::peer_failed, std::string("the peer's buffer cannot be opened: ") + error.what()};
  }

  /// The other side must learn it too; without this message it would wait until its deadline. So it does where it
  /// awaits a flag, which nobody can raise without its buffer.
  void refuse(const Delivered& why) {
    if (flagged()) return;
    wait(rank_, rank_.tell(peer_, tags::kDelivered, Message(why)), deadline_);
  }

  /// The flag says how long the message is; of one that does not fit, nothing but the flag is written.
  Started push_flagged(const View& from, std::uint64_t whole, const HeardReady& to, Engine engine) {
    const Signal flag{kFlag, whole};
    View place;
    try {
      place = view(to);
    } catch (const Error& error) {
      return cannot_open(error);
    }
    if (to.whole == whole) return rank_.put(place, from, kPeerStream, engine, flag);
    const View nothing = place.slice(Bytes{}, Bytes{});
    const Op refusal = rank_.put(nothing, from.slice(Bytes{}, Bytes{}), kPeerStream, engine, flag);
    wait(rank_, refusal, deadline_);
    return wrong_batch(whole, to.whole);
  }

  // ---- batches ------------------------------------------------------------------------------------------------------

  using Views = std::vector<View>;

  /// The places of messages that lie irregularly go first, so that the mover has them all once it hears `ready`.
  Started tell_batch(std::span<const View> batch) {
    const auto distance = distance_of(batch);
    const std::uint64_t name = batch_name(batch);
    // Made first: it is what the mover reads first, and so it has the handle of a new buffer.
    const Message first = ready_message(shared_, batch.front(), distance.value_or(Bytes{}), name);
    if (!distance) {
      for (const View& message : batch.subspan(1)) {
        const Op told = rank_.tell(peer_, tags::kPlace, ready_message(shared_, message, message.length, name));
        if (const Status status = wait(rank_, told, deadline_); status != Status::delivered) {
          return Outcome{status, "the places of a batch were not taken in time"};
        }
      }
    }
    return rank_.tell(peer_, tags::kReady, first);
  }

  /// Where the messages of the peer's batch lie; it has as many, of the same length.
  Views views(const HeardReady& first, std::span<const HeardReady> others, std::span<const View> mine) {
    const Bytes length = mine.front().length;
    Views all{{shared_.open(first.name()), Bytes{first.offset}, length}};
    for (const HeardReady& other : others) all.push_back(view(other));
    while (all.size() < mine.size()) {
      all.emplace_back(all.back().buffer, all.back().offset + Bytes{first.length}, length);
    }
    return all;
  }

  /// A put moves one block, so that of a batch moves none: it raises the flag behind the copies.
  Started push_batch(std::span<const View> batch, const HeardReady& to) {
    const auto raise = [&] {
      HeardReady nowhere = to;
      nowhere.length = 0;
      return push_flagged(batch.front().slice(Bytes{}, Bytes{}), batch_name(batch), nowhere, engine_of_batches());
    };
    if (to.whole != batch_name(batch)) return raise();
    return reach_batch(batch, to, [&](const Views& places) {
      batches_->keep(batches_->start(places, batch));
      return raise();
    });
  }

  View view(const HeardReady& theirs) {
    return {shared_.open(theirs.name()), Bytes{theirs.offset}, Bytes{theirs.length}};
  }

  Rank& rank_;
  RankId peer_;
  Settings settings_;
  PeerMover mover_;
  std::uint64_t batch_;
  std::string path_taken_;
  SharedBuffers shared_;

  // Of the exchange under way. Kept, with the lanes' steps, for the next one: what a small message costs beside its
  // copy is for a good part the making of such things.
  Seconds deadline_{};
  BatchCopies* batches_ = nullptr;
  BatchedPieces awaited_;
  BatchedPieces sent_;
  std::vector<Message> ready_;        ///< by slot: what the peer says about pieces that this side moves
  std::vector<Message> delivered_;    ///< and about those that it moves itself
  std::vector<std::uint64_t> flags_;  ///< by slot
  static constexpr std::size_t kIncoming = 0;
  static constexpr std::size_t kOutgoing = 1;
  std::array<Lane, 2> lanes_;
};

}  // namespace

std::unique_ptr<Channel> connect_peers(Rank& rank, RankId peer, const PeerCopies& copies, const Settings& settings,
                                       std::string path_taken) {
  return std::make_unique<PeerChannel>(rank, peer, settings, copies.mover, copies.batch, std::move(path_taken));
}

}  // namespace twinlink
