// HeapChannel: messages between two ranks on a symmetric heap, ordered by signals alone.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protocols/core/lane.hpp"
#include "protocols/core/protocol.hpp"
#include "protocols/heap/symmetric_heap.hpp"

namespace twinlink {

class HeapChannel final : public Channel {
 public:
  /// Opens the heap of the peer, who does the same. `heap` outlives this. Messages are cut into chunks, and those on
  /// one node are put by `engine`.
  HeapChannel(SymmetricHeap& heap, RankId peer, Settings settings, Engine engine);
  ~HeapChannel() override;
  HeapChannel(const HeapChannel&) = delete;
  HeapChannel& operator=(const HeapChannel&) = delete;

  [[nodiscard]] std::string path_taken() const override;
  /// "puts into slots": of messages whose receiver was not ready.
  [[nodiscard]] std::vector<Counter> counters() const override;

  /// May exchange_blocks() be called? Where copies of any blocks reach the peer's memory.
  [[nodiscard]] bool takes_blocks() const { return heap_.is_mapped(peer_) && rank_.path_to(peer_).peer_access; }
  /// An exchange of one message each way whose bytes lie apart at both ends, and go from place to place by one copy:
  /// `to` counts from `there`, a place of the peer's heap, and `from` from the start of `here`. The peer waits for as
  /// many bytes, `incoming`, anywhere in `into`. No blocks, or an empty `into`: nothing goes that way. By the copy
  /// engine where the blocks are rows, else by a kernel.
  Outcome exchange_blocks(std::span<const Block> blocks, const View& here, const View& into, Bytes incoming);

 private:
  Outcome do_exchange(std::span<const View> outgoing, std::span<const View> incoming) override;
  Outcome run(Seconds deadline);
  Outcome finish_puts(Seconds deadline);
  Op say_ready(const Piece& piece);
  Started check_and_take(const Piece& piece);
  Started decide(const Piece& piece);
  Started await_ready(const Piece& piece);
  Started put(const Piece& piece);
  std::vector<Step> sender_steps();
  /// Takes what the peer has said so far, without waiting: is it ready for message `number`?
  bool is_ready(std::uint64_t number);
  void take_said();
  [[nodiscard]] std::optional<std::size_t> free_slot(const Piece& piece) const;

  SymmetricHeap& heap_;
  Rank& rank_;
  RankId peer_;
  Settings settings_;
  Engine engine_;

  /// What goes out now lies apart; `here` and the bytes of its one piece.
  std::span<const Block> blocks_{};
  std::optional<Bytes> incoming_bytes_{};  ///< of the one piece that comes in blocks
  Bytes outgoing_bytes_{};

  // Messages are counted from the start of the connection, as are exchanges.
  std::uint64_t sent_ = 0;       ///< before this round
  std::uint64_t ready_for_ = 0;  ///< so many the peer has said that it is ready for
  std::uint64_t value_ = 0;      ///< what it says next,
  std::optional<Op> pending_{};  ///< which this waits for,
  bool handed_over_ = false;     ///< or the lane
  /// By message of this round that is ready: where it goes, there.
  std::vector<std::uint64_t> places_;
  struct SlotUse {
    std::uint64_t message = 0;  ///< the first message of the round behind it: once that is ready, the slot is free
    bool used = false;
  };
  std::vector<SlotUse> slots_;
  std::uint64_t into_slots_ = 0;

  static constexpr std::size_t kDepth = 16;
  std::array<std::uint64_t, kDepth> signals_{};  ///< by place in the lane: what the peer has written
  std::optional<std::size_t> slot_{};            ///< of the message that goes now
  std::vector<Op> puts_;                         ///< of this round
  std::array<Lane, 3> lanes_;
};

/// The channel of a protocol that wants_same_places(), by its options.
std::unique_ptr<HeapChannel> connect_on(SymmetricHeap& heap, RankId peer, const Protocol& protocol,
                                        const Settings& settings);

}  // namespace twinlink
