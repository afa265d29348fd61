// SymmetricHeap: device memory of every rank, in which the same things lie at the same offsets everywhere, as in
// OpenSHMEM and NVSHMEM. Whoever knows an offset can put there, get from there and raise signals, without being told.
//
//   collective: make, allocate, free, barrier, close  agreed upon by all ranks (heap_agreement.hpp)
//   once for each peer                              1. send place: the handle of my heap, and where the slots for the
//                                                      peer's messages are
//                                                   2. receive place; open it
//                                                   3. begin the signals of the channel (connection.hpp)
//   then                                            put, get, raise, quiet: no message
//
// One mapping serves all that is ever allocated, and between nodes the adapter knows the whole heap from the start.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "protocols/core/rank.hpp"
#include "protocols/heap/heap_room.hpp"

namespace twinlink {

/// Something that was allocated: at this offset on every rank.
struct HeapBlock {
  Bytes offset{};
  Bytes size{};

  friend bool operator==(const HeapBlock&, const HeapBlock&) = default;
};

/// Slots that messages of a peer may be put into while this rank is not ready for them. They lie behind what is
/// allocated, at each rank where it likes.
struct HeapSlots {
  std::size_t peers = 0;  ///< so many have some, those that come first
  std::size_t each = 0;   ///< for each of these
  Bytes size{};           ///< of one

  [[nodiscard]] Bytes room() const { return size * (peers * each); }
};

/// Calls of several works of a ConcurrentRank may mix, but for the collective ones.
class SymmetricHeap {
 public:
  static constexpr Bytes kAlignment{256};
  /// Puts to a peer keep to one stream, so that its signals stay in order; peers have several, so as not to wait for
  /// each other.
  static Stream stream_of(RankId peer) { return {kFirstStream + peer.value % kPutStreams}; }
  /// Signals that channels raise behind no bytes.
  static constexpr Stream kReadyStream{1};
  /// What channels copy out of slots.
  static constexpr Stream kSlotStream{2};

  /// Collective. `size` is the same on all ranks, and what can be allocated. `rank` outlives this. A call that waits
  /// for others gives up after `timeout`.
  SymmetricHeap(Rank& rank, Bytes size, const HeapSlots& slots, Seconds timeout);
  /// Unmaps and frees; peers must have done so: after close(), which waits for that.
  ~SymmetricHeap();
  SymmetricHeap(const SymmetricHeap&) = delete;
  SymmetricHeap& operator=(const SymmetricHeap&) = delete;

  /// Collective: the same size and alignment on all ranks; else the same UsageError on all of them, as for an alignment
  /// that is no power of two, a size of zero, or where there is no room.
  HeapBlock allocate(Bytes size, Bytes alignment = kAlignment);
  /// Collective: the same block on all ranks, in whatever order they were allocated.
  void free(const HeapBlock& block);
  /// Collective: waits for what this rank has put, and for all others to have done so.
  void barrier();
  /// Collective: waits for what this rank has put, and for all others; then nobody uses this rank's heap any more.
  void close();

  /// Maps the heap of a peer, who does the same, unless it is mapped. An UnavailableError where the path allows no
  /// puts.
  void open(RankId id);

  [[nodiscard]] Rank& rank() const { return rank_; }
  [[nodiscard]] Bytes size() const { return room_.size(); }
  [[nodiscard]] View view(const HeapBlock& block) const { return {memory_, block.offset, block.size}; }
  /// A UsageError for a view that is not in what can be allocated: "allocate it in symmetric memory".
  void require_inside(const View& view) const;

  /// Bytes [from, from + length) of this rank's heap go to [to, ...) of the peer's, by `engine`; then the signal is
  /// raised. They are there when the signal is, and everything is after quiet(). Signals have tags from
  /// tags::kHeapFirstFree on. The peer is open.
  void put(RankId peer, Bytes to, Bytes from, Bytes length, Engine engine = Engine::dma,
           std::optional<Signal> signal = std::nullopt);
  /// The other way; what is got is there after quiet(). An UnavailableError for a peer on another node whose memory is
  /// not mapped: adapters here write and do not read.
  void get(RankId peer, Bytes to, Bytes from, Bytes length, Engine engine = Engine::dma);
  /// A signal alone, behind what was put to the peer before.
  void raise(RankId peer, const Signal& signal);
  /// Waits for the next signal of a peer with this tag: its value.
  std::uint64_t await(RankId peer, Tag tag);
  /// Waits for all puts and gets of this rank.
  void quiet();

  // For channels on the heap, who wait by themselves.
  /// The peer's heap, mapped.
  [[nodiscard]] View theirs(RankId peer, Bytes offset, Bytes length) const;
  [[nodiscard]] View mine_nothing() const { return {memory_, Bytes{}, Bytes{}}; }
  [[nodiscard]] View mine(Bytes offset, Bytes length) const { return {memory_, offset, length}; }
  /// Slot `number` of those at `peer` for my messages, and of those here for its messages; how many there are.
  [[nodiscard]] std::size_t slots_at(RankId peer) const;
  [[nodiscard]] std::size_t slots_for(RankId peer) const;
  [[nodiscard]] Bytes slot_size() const { return slots_.size; }
  [[nodiscard]] View slot_at(RankId peer, std::size_t number) const;
  [[nodiscard]] View slot_for(RankId peer, std::size_t number) const;
  /// Is the peer's memory mapped, so that copies reach it, and not puts alone?
  [[nodiscard]] bool is_mapped(RankId peer) const;

 private:
  static constexpr int kFirstStream = 4;
  static constexpr int kPutStreams = 8;
  struct Peer {
    Buffer buffer{};                  ///< its heap
    std::optional<Bytes> slots{};     ///< there, for me
    std::optional<Bytes> for_them{};  ///< here, for it
  };
  [[nodiscard]] Seconds deadline() const { return rank_.now() + timeout_; }
  [[nodiscard]] const Peer& at(RankId peer) const;
  void await_all(std::vector<Op>& ops);

  Rank& rank_;
  HeapRoom room_;
  HeapSlots slots_;
  Seconds timeout_;
  Buffer memory_{};
  bool registered_ = false;
  bool closed_ = false;
  std::size_t with_slots_ = 0;
  std::map<RankId, Peer> peers_;
  std::vector<Op> under_way_;
};

}  // namespace twinlink
