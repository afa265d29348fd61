#include "protocols/core/lane.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <memory_resource>
#include <string>

#include "protocols/core/tags.hpp"

namespace twinlink {
namespace {

class LaneState;

Outcome describe_step(const Lane& lane, std::size_t step, std::size_t piece, Outcome outcome) {
  outcome.reason = "step '" + std::string(lane.steps[step].words) + "' of piece " + std::to_string(piece) + " (" +
                   format_size(lane.pieces[piece].length) + "): " + outcome.reason;
  return outcome;
}

Outcome describe_status(const Lane& lane, std::size_t step, std::size_t piece, Status status) {
  return describe_step(lane, step, piece, {status, std::string(to_string(status))});
}

Outcome describe_timeout(const Lane& lane, std::size_t step, std::size_t piece) {
  return describe_step(lane, step, piece, {Status::timed_out, "the deadline passed"});
}

/// The operations in flight, by lane and slot, and whose they are. In whatever order they were started, the same ones
/// make the same list: a rank of which all orders are explored would otherwise tell them apart.
struct InFlight {
  struct Owner {
    LaneState* lane;  ///< of one array
    std::size_t slot;
    auto operator<=>(const Owner&) const = default;
  };

  InFlight(std::size_t most, std::pmr::memory_resource& memory) : ops(&memory), owners(&memory) {
    ops.reserve(most);
    owners.reserve(most);
  }
  void add(Op op, Owner owner) {
    const auto behind = std::ranges::upper_bound(owners, owner);
    ops.insert(ops.begin() + (behind - owners.begin()), op);
    owners.insert(behind, owner);
  }
  Owner remove(std::size_t index) {
    const auto at = static_cast<std::ptrdiff_t>(index);
    const Owner owner = owners[index];
    ops.erase(ops.begin() + at);
    owners.erase(owners.begin() + at);
    return owner;
  }

  std::pmr::vector<Op> ops;
  std::pmr::vector<Owner> owners;
};

/// Where the pieces of one lane are. Piece k lives in slot k % depth while it is under way.
class LaneState {
 public:
  LaneState(Rank& rank, const Lane& lane, InFlight& in_flight, std::pmr::memory_resource& memory)
      : rank_(rank), lane_(lane), in_flight_(in_flight), slots_(slots_of(lane), &memory) {}

  static std::size_t slots_of(const Lane& lane) { return std::min(lane.depth, lane.pieces.size()); }

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
    slots_[slot].waits = false;
    if (status != Status::delivered) return describe_status(lane_, slots_[slot].step, slots_[slot].piece, status);
    finish_step(slot);
    return {};
  }

  [[nodiscard]] Outcome time_out(std::size_t slot) const {
    return describe_timeout(lane_, slots_[slot].step, slots_[slot].piece);
  }

 private:
  struct Slot {
    bool occupied = false;
    bool waits = false;  ///< for an operation in flight
    std::size_t piece = 0;
    std::size_t step = 0;  ///< the one that runs, or that comes next
  };

  /// Each step is started for the pieces in order, so only one piece can be next at it.
  [[nodiscard]] bool may_start(std::size_t step) const {
    const std::size_t piece = started_[step];
    if (piece == lane_.pieces.size()) return false;
    const Slot& slot = slots_[piece % slots_.size()];
    if (step == 0) return !slot.occupied;
    return slot.occupied && slot.piece == piece && slot.step == step && !slot.waits;
  }

  Outcome start(std::size_t step) {
    const std::size_t piece = started_[step]++;
    const std::size_t index = piece % slots_.size();
    auto& slot = slots_[index];
    slot = {.occupied = true, .piece = piece, .step = step};
    rank_.step(lane_.steps[step].words);
    Started started = lane_.steps[step].start({lane_.pieces[piece], index, piece});
    if (const Op* op = std::get_if<Op>(&started)) {
      slot.waits = true;
      in_flight_.add(*op, {this, index});
      return {};
    }
    auto& outcome = std::get<Outcome>(started);
    if (!outcome.ok()) return describe_step(lane_, step, piece, std::move(outcome));
    finish_step(index);
    return {};
  }

  void finish_step(std::size_t slot) {
    if (++slots_[slot].step == lane_.steps.size()) slots_[slot] = {};
  }

  Rank& rank_;
  const Lane& lane_;
  InFlight& in_flight_;
  std::pmr::vector<Slot> slots_;
  std::array<std::size_t, kMostSteps> started_{};  ///< by step: the number of pieces that have started it
};

/// All lanes of one transfer.
class Traffic {
 public:
  Traffic(Rank& rank, std::span<const Lane> lanes, std::pmr::memory_resource& memory)
      : rank_(rank), in_flight_(slots_of(lanes), memory), lanes_(&memory) {
    lanes_.reserve(lanes.size());
    for (const Lane& lane : lanes) {
      if (!lane.pieces.empty()) lanes_.emplace_back(rank, lane, in_flight_, memory);
    }
  }

  Outcome run(Seconds deadline) {
    for (LaneState& lane : lanes_) {
      if (Outcome outcome = lane.advance(); !outcome.ok()) return outcome;
    }
    while (!in_flight_.ops.empty()) {
      const auto completion = rank_.wait_any(in_flight_.ops, deadline);
      if (!completion) {
        const auto [lane, slot] = in_flight_.owners.front();
        return lane->time_out(slot);
      }
      const auto [lane, slot] = in_flight_.remove(completion->index);
      Outcome outcome = lane->complete(slot, completion->status);
      if (outcome.ok()) outcome = lane->advance();
      if (!outcome.ok()) return outcome;
    }
    return {};
  }

  void abandon() {
    for (const Op op : in_flight_.ops) rank_.abandon(op);
  }

 private:
  static std::size_t slots_of(std::span<const Lane> lanes) {
    std::size_t slots = 0;
    for (const Lane& lane : lanes) slots += LaneState::slots_of(lane);
    return slots;
  }

  Rank& rank_;
  InFlight in_flight_;
  std::pmr::vector<LaneState> lanes_;
};

[[maybe_unused]] bool can_be_moved(const Lane& lane) {
  return lane.pieces.empty() || (lane.depth >= 1 && !lane.steps.empty() && lane.steps.size() <= kMostSteps);
}

/// The lane of a transfer of a single piece; null if there are more pieces.
const Lane* only_lane(std::span<const Lane> lanes) {
  const Lane* only = nullptr;
  for (const Lane& lane : lanes) {
    if (lane.pieces.empty()) continue;
    if (only != nullptr || lane.pieces.size() > 1) return nullptr;
    only = &lane;
  }
  return only;
}

/// Waits for the operation of one step; if that fails it is abandoned.
Outcome await(Rank& rank, const Lane& lane, std::size_t step, Op op, Seconds deadline) {
  const Status status = wait(rank, op, deadline);
  if (status == Status::timed_out) return describe_timeout(lane, step, 0);
  return status == Status::delivered ? Outcome{} : describe_status(lane, step, 0, status);
}

/// What Traffic does with a single piece, which has nothing to overlap with: its steps follow each other. A small
/// message takes as long as its copy and the control messages for it, so that whatever is kept in order for it counts.
Outcome move_one(Rank& rank, const Lane& lane, Seconds deadline) {
  const Piece piece{lane.pieces.front()};
  for (std::size_t step = 0; step < lane.steps.size(); ++step) {
    rank.step(lane.steps[step].words);
    Started started = lane.steps[step].start(piece);
    if (const Op* op = std::get_if<Op>(&started)) {
      if (Outcome outcome = await(rank, lane, step, *op, deadline); !outcome.ok()) return outcome;
    } else if (auto& outcome = std::get<Outcome>(started); !outcome.ok()) {
      return describe_step(lane, step, 0, std::move(outcome));
    }
  }
  return {};
}

/// An empty message is one empty piece.
std::size_t pieces_of(Bytes whole, Bytes chunk) {
  if (chunk == Bytes{} || whole <= chunk) return 1;
  return (whole.count() - 1) / chunk.count() + 1;
}

}  // namespace

void add_pieces(const View& message, Bytes chunk, std::vector<View>& pieces) {
  const Bytes step = chunk == Bytes{} ? message.length : chunk;
  Bytes done{};
  do {
    const Bytes length = std::min(step, message.length - done);
    pieces.push_back(message.slice(done, length));
    done += length;
  } while (done < message.length);
}

void cut(std::span<const View> messages, Bytes chunk, std::vector<View>& pieces) {
  pieces.clear();
  for (const View& message : messages) add_pieces(message, chunk, pieces);
}

std::vector<View> cut(std::span<const View> messages, Bytes chunk) {
  std::vector<View> pieces;
  cut(messages, chunk, pieces);
  return pieces;
}

void whole_lengths(std::span<const View> messages, Bytes chunk, std::vector<Bytes>& lengths) {
  lengths.clear();
  for (const View& message : messages) lengths.insert(lengths.end(), pieces_of(message.length, chunk), message.length);
}

Tag data_tag(Bytes whole, Bytes chunk) {
  const std::size_t pieces = pieces_of(whole, chunk);
  return pieces == 1 ? tags::kData : Tag{tags::kPieces.value + static_cast<int>(pieces % tags::kMostPieces)};
}

Outcome move(Rank& rank, std::span<const Lane> lanes, Seconds deadline) {
  assert(std::ranges::all_of(lanes, &can_be_moved));
  if (const Lane* const lane = only_lane(lanes)) return move_one(rank, *lane, deadline);
  // A small transfer takes no memory from the heap: that would be a good part of what it costs beside its copy.
  std::array<std::byte, 4096> room;  // NOLINT(cppcoreguidelines-pro-type-member-init): written before it is read
  std::pmr::monotonic_buffer_resource memory(room.data(), room.size());
  Traffic traffic(rank, lanes, memory);
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
