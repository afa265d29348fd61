// SimRank's operations, for its own sources only.
#pragma once

#include <cmath>

#include "model/engine/sim_rank.hpp"

namespace twinlink::model {

/// Of an operation's number, for its place in the table; the rest makes it unique.
inline constexpr unsigned kPlaceBits = 24;

/// A cost with a share that grows with the size.
inline Seconds per_gib(Seconds base, Seconds share, Bytes size) {
  return base + share * (static_cast<double>(size.count()) / static_cast<double>((1_GiB).count()));
}

struct SimRank::Operation final : FlowListener, std::enable_shared_from_this<Operation> {
  enum class State {
    unmatched,  ///< a receive, or a send above the eager limit, whose partner has not come
    delayed,    ///< its latency runs until `due`
    queued,     ///< ready, but behind another flow of its queue
    flowing,
    ended
  };
  enum class Kind { copy, put, send, receive, send_control, recv_control };

  explicit Operation(SimRank& of) : rank(of) {}

  SimRank& rank;
  Op op{};
  Kind kind = Kind::copy;
  State state = State::unmatched;
  Status status = Status::delivered;
  bool abandoned = false;
  bool seen = false;  ///< the rank knows that it has ended

  Part from{};
  Part to{};
  Content snapshot{Bytes{}};           ///< of `from`, when the operation began to read it
  std::vector<Content> snapshots{};    ///< the same of each block, if there are blocks
  std::vector<Block> blocks{};         ///< of a copy of blocks
  Seconds unhidden{};                  ///< what blocks that lie apart and a kernel's signal add; zero once they have
  Seconds gap{};                       ///< after the copy before it in its stream; zero once it is over
  const Piecewise* written = nullptr;  ///< what it adds if a CPU has just written the source; null: nothing
  bool adds = false;                   ///< a copy that adds to what is there
  bool occupies_cpu = false;           ///< the calling CPU, until the copy has ended
  bool by_event = false;               ///< the rank learns of its end by an event, and not by a word in memory
  Bytes size{};                        ///< the bytes that flow
  std::optional<Signal> signal{};
  Seconds until_signal{};  ///< from the end of the flow until it is seen
  Seconds until_next{};    ///< from the end of the flow until its queue turns to the next operation
  Engine engine = Engine::dma;
  Queue* queue = nullptr;  ///< the stream of a copy, the wire of a send

  RankId peer{};
  Tag tag{};
  bool eager = false;
  bool acknowledged = false;              ///< the receiver of a send answers when it has begun to receive
  bool had_its_turn = false;              ///< in its queue
  OperationPtr partner{};                 ///< the receive of a send
  ControlMessage* into = nullptr;         ///< of a hear
  std::uint64_t* signal_value = nullptr;  ///< of an await_signal, which is a hear beside the others

  Seconds due{};
  Seconds flow_began{};
  Stages stages{};         ///< of its way, in turn; none of what has no flow
  Bytes lacking{};         ///< of its bytes, what the caches do not hold
  std::size_t stage = 0;   ///< where it is
  Bytes flowing{};         ///< on all of them together
  Seconds beside_bytes{};  ///< what the CPUs that copy the first one have to do on it beside its bytes

  OpReport report{};

  const OpReport& ended_report() {
    if (!is_copy()) {  // a put has told whom it signals
      report.peer = peer;
      report.tag = tag;
    }
    return report;
  }
  /// Whoever has the flow is in its queue until then, or under way.
  void flow_has_ended() override {
    if (state == State::flowing) rank.end_stage(shared_from_this());
  }
  [[nodiscard]] bool is_message() const { return kind == Kind::send || kind == Kind::receive; }
  /// Reads and writes memory that this rank has, its own or opened.
  [[nodiscard]] bool is_copy() const { return kind == Kind::copy || kind == Kind::put; }
  [[nodiscard]] Content content_of(const Block& block) const {
    return from.allocation->content.slice(from.offset + block.from, block.length);
  }
  /// The source is read now.
  void take_snapshot() {
    if (blocks.empty()) {
      snapshot = from.content();
      return;
    }
    snapshots.clear();
    for (const Block& block : blocks) snapshots.push_back(content_of(block));
  }
  /// The source must not have changed while it was read: then the hardware would have sent a mixture.
  void tear_what_has_changed() {
    if (blocks.empty()) {
      if (snapshot != from.content()) snapshot.tear();
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (snapshots[i] != content_of(blocks[i])) snapshots[i].tear();
    }
  }
  /// Puts what a copy has read where it belongs.
  void write() const {
    const auto put = [this](Bytes at, const Content& what) {
      to.allocation->content.write(at, what);
      to.allocation->was_written(at, what.size(), occupies_cpu);
    };
    if (adds) {
      Content sum = to.content();
      sum.add(snapshot);
      return put(to.offset, sum);
    }
    if (blocks.empty()) return put(to.offset, snapshot);
    for (std::size_t i = 0; i < blocks.size(); ++i) put(to.offset + blocks[i].to, snapshots[i]);
  }
  /// What it takes longer because its source was just written, which is at rest from now on.
  [[nodiscard]] Seconds time_of_written_source() const {
    WrittenBytes& source = from.allocation->written;
    Bytes amount{};
    if (blocks.empty()) amount = source.take(from.offset, from.length);
    for (const Block& b : blocks) amount += source.take(from.offset + b.from, b.length);
    return written == nullptr || amount == Bytes{} ? Seconds{} : written->at(amount);
  }
};

/// What flows at `rate` in that time.
inline Bytes flowing_in(Seconds time, Rate rate) {
  return Bytes{static_cast<std::uint64_t>(std::llround(time.value() * rate.bytes_per_second()))};
}

}  // namespace twinlink::model
