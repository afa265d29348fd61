// Batches of gpudirect-v2: small messages of one exchange that go as one operation, for a copy takes longer to start
// than to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protocols/core/lane.hpp"
#include "protocols/core/protocol.hpp"
#include "protocols/core/rank.hpp"

namespace twinlink {

/// Longer messages go by themselves. On two H200 copies that are started one by one follow each other every 2 us, a
/// time in which PCIe of the fifth generation (55 GB/s measured) moves 110 KB: beyond that a queue of copies is as fast
/// as one operation, and a batch would hold its first message back until its last has arrived.
inline constexpr Bytes kLongestInBatch = 64_KiB;
/// A limit, so that batch_name() has room for the number.
inline constexpr std::uint64_t kMostInBatch = 1024;

/// The first of `messages`, of which there is one, with those behind it that go with it: up to `most` of one length
/// make a batch; an empty view and one that is longer than kLongestInBatch, or than `chunk` (zero: any length), is
/// alone. So it depends on lengths only, which both ends of an exchange share, and not on where the messages lie.
std::span<const View> first_batch(std::span<const View> messages, Bytes chunk, std::uint64_t most);

/// One number for what a batch is, to compare what both ends have: of a message that is alone its length, else one that
/// no length has. Less than kEpochSignal, so that a signal carries it.
std::uint64_t batch_name(std::span<const View> batch);
/// "4096 B", "64 messages of 4096 B at once".
std::string describe_batch(std::uint64_t name);
/// wrong_size() for batches, by their names.
Outcome wrong_batch(std::uint64_t mine, std::uint64_t theirs);

/// The pieces of one side's messages: each a batch, a whole message or a part of one.
struct BatchedPieces {
  /// Other messages, which must live as long as this or until the next call. Batches are those of first_batch(), one
  /// after the other.
  void assign(std::span<const View> messages, Bytes chunk, std::uint64_t most);
  /// The messages of a batch; else the one that the piece is a part of.
  [[nodiscard]] std::span<const View> batch(const Piece& piece) const { return belongs[piece.number]; }
  /// What the piece moves: the messages of its batch, or its own bytes.
  [[nodiscard]] std::span<const View> views(const Piece& piece) const {
    return batched(piece) ? batch(piece) : std::span(&pieces[piece.number], 1);
  }
  [[nodiscard]] bool batched(const Piece& piece) const { return batch(piece).size() > 1; }
  /// Name of the whole message or batch.
  [[nodiscard]] std::uint64_t name(const Piece& piece) const { return batch_name(batch(piece)); }

  std::vector<View> pieces;                    ///< of a batch its first message
  std::vector<std::span<const View>> belongs;  ///< by piece
};

/// From the start of one view to that of the next, if all lie in one buffer at one distance, in ascending order and
/// without overlap. Nothing for a single view.
std::optional<Bytes> distance_of(std::span<const View> batch);

/// Part of a batch whose views lie at one distance at either end: a copy of blocks.
struct BatchRun {
  std::size_t first = 0;  ///< of its messages in the batch
  std::size_t count = 0;
};
/// The batch as few runs as there can be from its first message on. Both ends have as many views, of equal lengths.
std::vector<BatchRun> runs_of(std::span<const View> to, std::span<const View> from);

/// The copies of the batches of one exchange. They run in one stream, so the last of a batch ends after all others,
/// which are kept here meanwhile.
class BatchCopies {
 public:
  /// `rank` must outlive this.
  BatchCopies(Rank& rank, Stream stream, Engine engine) : rank_(rank), stream_(stream), engine_(engine) {}
  /// Abandons what has not been settled: the exchange has failed.
  ~BatchCopies();
  BatchCopies(const BatchCopies&) = delete;
  BatchCopies& operator=(const BatchCopies&) = delete;

  [[nodiscard]] Engine engine() const { return engine_; }
  /// Starts to copy a batch of at least one message; the last copy is the caller's. Errors are those of copy().
  Op start(std::span<const View> to, std::span<const View> from);
  /// Keeps an operation that ends before one that the caller has.
  void keep(Op op) { kept_.push_back(op); }
  /// Takes back what is kept; what comes behind it has ended. The outcome is that of the first that was not delivered.
  [[nodiscard]] Outcome settle(Seconds deadline);

 private:
  Op start(std::span<const View> to, std::span<const View> from, const BatchRun& run);

  Rank& rank_;
  Stream stream_;
  Engine engine_;
  std::vector<Op> kept_;
};

}  // namespace twinlink
