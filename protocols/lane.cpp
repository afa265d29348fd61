#include "protocols/lane.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <optional>
#include <string>

#include "protocols/tags.hpp"

namespace twinlink {
namespace {

/// Where the pieces of one lane are. Piece k lives in slot k % depth while it is under way.
class LaneState {
 public:
  LaneState(Rank& rank, const Lane& lane) : rank_(rank), lane_(lane), slots_(std::min(lane.depth, lane.pieces.size())) {
    assert(lane.depth >= 1 && !lane.steps.empty() && lane.steps.size() <= kMostSteps);
  }

  /// Starts every step that may start now, the last steps first: what is nearly through makes room for the rest. Looks
  /// again after each, for a step that takes its time, such as a copy that the CPU waits for, has made others possible.
  Outcome advance() {
    for (std::size_t step = lane_.steps.size(); step-- > 0;) {
      if (!may_start(step)) continue;
      if (Outcome outcome = start(step); !outcome.ok()) return outcome;
      step = lane_.steps.size();
    }
    return {};
  }

  /// The operation of `slot` has ended, and is used up.
  Outcome complete(std::size_t slot, Status status) {
    slots_[slot].op.reset();
    if (status != Status::delivered) return describe(slot, {status, std::string(to_string(status))});
    finish_step(slot);
    return {};
  }

  [[nodiscard]] std::size_t slots() const { return slots_.size(); }
  [[nodiscard]] std::optional<Op> op(std::size_t slot) const { return slots_[slot].op; }

  [[nodiscard]] Outcome describe(std::size_t slot, Outcome outcome) const {
    const Slot& s = slots_[slot];
    outcome.reason = "step '" + std::string(lane_.steps[s.step].words) + "' of piece " + std::to_string(s.piece) +
                     " (" + format_size(lane_.pieces[s.piece].length) + "): " + outcome.reason;
    return outcome;
  }

 private:
  struct Slot {
    bool occupied = false;
    std::size_t piece = 0;
    std::size_t step = 0;    ///< the one that runs, or that comes next
    std::optional<Op> op{};  ///< in flight
  };

  /// Each step is started for the pieces in order, so only one piece can be next at it.
  [[nodiscard]] bool may_start(std::size_t step) const {
    const std::size_t piece = started_[step];
    if (piece == lane_.pieces.size()) return false;
    const Slot& slot = slots_[piece % slots_.size()];
    if (step == 0) return !slot.occupied;
    return slot.occupied && slot.piece == piece && slot.step == step && !slot.op;
  }

  Outcome start(std::size_t step) {
    const std::size_t piece = started_[step]++;
    const std::size_t index = piece % slots_.size();
    auto& slot = slots_[index];
    slot = {.occupied = true, .piece = piece, .step = step};
    rank_.step(lane_.steps[step].words);
    Started started = lane_.steps[step].start({lane_.pieces[piece], index, piece});
    if (const Op* op = std::get_if<Op>(&started)) {
      slot.op = *op;
      return {};
    }
    auto& outcome = std::get<Outcome>(started);
    if (!outcome.ok()) return describe(index, std::move(outcome));
    finish_step(index);
    return {};
  }

  void finish_step(std::size_t slot) {
    if (++slots_[slot].step == lane_.steps.size()) slots_[slot] = {};
  }

  Rank& rank_;
  const Lane& lane_;
  std::vector<Slot> slots_;
  std::array<std::size_t, kMostSteps> started_{};  ///< by step: the number of pieces that have started it
};

/// All lanes of one transfer.
class Traffic {
 public:
  Traffic(Rank& rank, std::span<const Lane> lanes) : rank_(rank) {
    lanes_.reserve(lanes.size());
    for (const Lane& lane : lanes) {
      if (!lane.pieces.empty()) lanes_.emplace_back(rank, lane);
    }
  }

  Outcome run(Seconds deadline) {
    for (LaneState& lane : lanes_) {
      if (Outcome outcome = lane.advance(); !outcome.ok()) return outcome;
    }
    for (collect(); !ops_.empty(); collect()) {
      const auto completion = rank_.wait_any(ops_, deadline);
      if (!completion) return owners_[0].lane->describe(owners_[0].slot, {Status::timed_out, "the deadline passed"});
      const auto [lane, slot] = owners_[completion->index];
      Outcome outcome = lane->complete(slot, completion->status);
      if (outcome.ok()) outcome = lane->advance();
      if (!outcome.ok()) return outcome;
    }
    return {};
  }

  void abandon() {
    collect();
    for (const Op op : ops_) rank_.abandon(op);
  }

 private:
  struct Owner {
    LaneState* lane;
    std::size_t slot;
  };

  /// Lists what is in flight, and whose it is.
  void collect() {
    ops_.clear();
    owners_.clear();
    for (LaneState& lane : lanes_) {
      for (std::size_t slot = 0; slot < lane.slots(); ++slot) {
        if (const auto op = lane.op(slot)) {
          ops_.push_back(*op);
          owners_.push_back({&lane, slot});
        }
      }
    }
  }

  Rank& rank_;
  std::vector<LaneState> lanes_;
  std::vector<Op> ops_;
  std::vector<Owner> owners_;
};

/// An empty message is one empty piece.
std::size_t pieces_of(Bytes whole, Bytes chunk) {
  if (chunk == Bytes{} || whole <= chunk) return 1;
  return (whole.count() - 1) / chunk.count() + 1;
}

}  // namespace

std::vector<View> cut(std::span<const View> messages, Bytes chunk) {
  std::vector<View> pieces;
  for (const View& message : messages) {
    const Bytes step = chunk == Bytes{} ? message.length : chunk;
    Bytes done{};
    do {
      const Bytes length = std::min(step, message.length - done);
      pieces.push_back(message.slice(done, length));
      done += length;
    } while (done < message.length);
  }
  return pieces;
}

std::vector<Bytes> whole_lengths(std::span<const View> messages, Bytes chunk) {
  std::vector<Bytes> lengths;
  for (const View& message : messages) lengths.insert(lengths.end(), pieces_of(message.length, chunk), message.length);
  return lengths;
}

Tag data_tag(Bytes whole, Bytes chunk) {
  const std::size_t pieces = pieces_of(whole, chunk);
  return pieces == 1 ? tags::kData : Tag{tags::kPieces.value + static_cast<int>(pieces % tags::kMostPieces)};
}

Outcome move(Rank& rank, std::span<const Lane> lanes, Seconds deadline) {
  Traffic traffic(rank, lanes);
  try {
    Outcome outcome = traffic.run(deadline);
    if (!outcome.ok()) traffic.abandon();
    return outcome;
  } catch (...) {
    // The buffers of what is in flight are released while the exception passes on.
    traffic.abandon();
    throw;
  }
}

}  // namespace twinlink
