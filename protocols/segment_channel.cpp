#include "protocols/segment_channel.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <exception>

#include "protocols/credits.hpp"
#include "protocols/staged_channel.hpp"
#include "protocols/tags.hpp"

namespace twinlink {
namespace {

constexpr Stream kOutStream{0};
constexpr Stream kInStream{1};

/// What is told of a message before its first piece, and what is answered.
struct Header {
  std::uint64_t length = 0;  ///< of what this side has
  std::uint64_t chunk = 0;   ///< by which this side cuts it
};

/// Not delivered where the two ends do not have the same message, cut in the same way.
Outcome agree(const Header& mine, const Header& theirs) {
  if (mine.length != theirs.length) return wrong_size(mine.length, theirs.length);
  if (mine.chunk == theirs.chunk) return {};
  return {Status::wrong_size, "this side cuts messages into chunks of " + std::to_string(mine.chunk) +
                                  " B, the other of " + std::to_string(theirs.chunk) + " B (0: chosen by size)"};
}

/// Into chunks of that size; zero: of each message's own.
std::vector<View> cut_by(std::span<const View> messages, Bytes chunk) {
  if (chunk != Bytes{}) return cut(messages, chunk);
  std::vector<View> pieces;
  for (const View& message : messages) {
    const auto parts = cut({&message, 1}, automatic_chunk(message.length));
    pieces.insert(pieces.end(), parts.begin(), parts.end());
  }
  return pieces;
}

}  // namespace

Bytes automatic_chunk(Bytes message) {
  // 2^k is nearest where 2^(k - 1/2) <= sqrt(S g r) < 2^(k + 1/2), so 2^(2k - 1) <= S g r < 2^(2k + 1).
  static_assert(std::has_single_bit(kTurnaroundBytes.count()));
  const int exponent =
      static_cast<int>(std::bit_width(message.count())) - 1 + std::countr_zero(kTurnaroundBytes.count());
  const Bytes nearest{std::uint64_t{1} << ((exponent + 1) / 2)};
  return std::clamp(nearest, kLeastAutomaticChunk, kMostAutomaticChunk);
}

/// One direction of one exchange.
struct SegmentChannel::Transfer {
  Transfer(std::span<const View> messages, const Settings& settings, const SegmentStyle& style)
      : pieces(cut_by(messages, settings.chunk)),
        credits(pieces.size(), static_cast<std::size_t>(settings.depth), style.credits),
        heard(static_cast<std::size_t>(settings.depth)) {
    for (const View& message : messages) {
      headers.push_back({message.length.count(), settings.chunk.count()});
      const std::size_t count = cut_by({&message, 1}, settings.chunk).size();
      for (std::size_t i = 0; i < count; ++i) first_of.push_back(i == 0 ? headers.size() : 0);
    }
  }
  /// Of the message whose first piece is number `piece`; nothing for other pieces.
  [[nodiscard]] const Header* begins(std::size_t piece) const {
    return first_of[piece] == 0 ? nullptr : &headers[first_of[piece] - 1];
  }

  std::vector<View> pieces;
  Credits credits;
  std::vector<Header> headers;        ///< of the messages
  std::vector<std::size_t> first_of;  ///< by piece: 1 + the message that it begins, or 0
  std::vector<Message> heard;         ///< by slot: the header, or its answer
};

SegmentChannel::SegmentChannel(Rank& rank, RankId peer, const Settings& settings, const SegmentStyle& style)
    : rank_(rank),
      peer_(peer),
      settings_(settings),
      style_(style),
      mine_(rank.allocate(Memory::shared_pinned, slot_size() * static_cast<std::uint64_t>(settings.depth))) {
  try {
    theirs_ = share();
  } catch (...) {
    rank_.release(mine_);  // without a peer that uses it
    throw;
  }
}

/// Tells the peer of this segment, and opens the peer's.
Buffer SegmentChannel::share() {
  const Seconds deadline = rank_.now() + settings_.timeout;
  const Op told = rank_.tell(peer_, tags::kHeader, Message(rank_.export_memory(mine_)));
  Message handle;
  const Status heard = wait(rank_, rank_.hear(peer_, tags::kHeader, handle), deadline);
  // The peer may not have come to hear it yet; nothing is lost if it has not by the deadline.
  if (wait(rank_, told, deadline) != Status::delivered || heard != Status::delivered) {
    throw EnvironmentError("connect", "rank " + std::to_string(peer_.value) + " did not share its segment in time");
  }
  return rank_.open_memory(peer_, handle.as<IpcHandle>());
}

SegmentChannel::~SegmentChannel() {
  // While an exception passes, copies may still use the segments; the rank frees them when it ends.
  if (std::uncaught_exceptions() > 0) return;
  rank_.close_memory(theirs_);
  rank_.release(mine_);
}

Bytes SegmentChannel::slot_size() const { return settings_.chunk == Bytes{} ? kMostAutomaticChunk : settings_.chunk; }

View SegmentChannel::slot(Buffer segment, const Piece& piece) const {
  return {segment, slot_size() * static_cast<std::uint64_t>(piece.slot), piece.bytes.length};
}

std::vector<Step> SegmentChannel::sending_steps(Transfer& t) {
  const auto tell_header = [this, &t, index = std::size_t{0}](const Piece&) mutable -> Started {
    const Header* const mine = t.begins(index++);
    if (mine == nullptr) return Outcome{};
    return rank_.tell(peer_, tags::kHeader, Message(*mine));
  };
  const auto hear_answer = [this, &t, index = std::size_t{0}](const Piece& p) mutable -> Started {
    if (t.begins(index++) == nullptr) return Outcome{};
    return rank_.hear(peer_, tags::kReady, t.heard[p.slot]);
  };
  const auto hear_credit = [this, &t, index = std::size_t{0}](const Piece& p) mutable -> Started {
    const std::size_t piece = index++;
    if (const Header* const mine = t.begins(piece)) {
      Outcome agreed = agree(*mine, t.heard[p.slot].as<Header>());
      if (!agreed.ok()) return agreed;
    }
    if (!t.credits.sender_hears_before(piece)) return Outcome{};
    return rank_.hear(peer_, tags::kCredit, nothing_);
  };
  const auto copy_out = [this](const Piece& p) {
    return pipeline_copy(rank_, slot(mine_, p), p.bytes, kOutStream, style_.synchronous, deadline_);
  };
  const auto tell_filled = [this](const Piece&) { return rank_.tell(peer_, tags::kDelivered, nothing_); };
  return {{"tell header", tell_header},
          {"hear clear to send", hear_answer},
          {"hear credit", hear_credit},
          {"copy out", copy_out},
          {"tell filled", tell_filled}};
}

std::vector<Step> SegmentChannel::receiving_steps(Transfer& t) {
  const auto hear_header = [this, &t, index = std::size_t{0}](const Piece& p) mutable -> Started {
    if (t.begins(index++) == nullptr) return Outcome{};
    return rank_.hear(peer_, tags::kHeader, t.heard[p.slot]);
  };
  const auto answer = [this, &t, index = std::size_t{0}](const Piece& p) mutable -> Started {
    const Header* const mine = t.begins(index++);
    if (mine == nullptr) return Outcome{};
    const Op told = rank_.tell(peer_, tags::kReady, Message(*mine));
    Outcome agreed = agree(*mine, t.heard[p.slot].as<Header>());
    if (agreed.ok()) return told;
    wait(rank_, told, deadline_);
    return agreed;
  };
  const auto hear_filled = [this](const Piece&) { return rank_.hear(peer_, tags::kDelivered, nothing_); };
  const auto copy_in = [this](const Piece& p) {
    return pipeline_copy(rank_, p.bytes, slot(theirs_, p), kInStream, style_.synchronous, deadline_);
  };
  const auto grant_credit = [this, &t, index = std::size_t{0}](const Piece&) mutable -> Started {
    if (!t.credits.receiver_grants_after(index++)) return Outcome{};
    return rank_.tell(peer_, tags::kCredit, nothing_);
  };
  return {{"hear header", hear_header},
          {"tell clear to send", answer},
          {"hear filled", hear_filled},
          {"copy in", copy_in},
          {"grant credit", grant_credit}};
}

Outcome SegmentChannel::do_exchange(std::span<const View> outgoing, std::span<const View> incoming) {
  deadline_ = rank_.now() + settings_.timeout;
  Transfer in(incoming, settings_, style_);
  Transfer out(outgoing, settings_, style_);
  const auto depth = static_cast<std::size_t>(settings_.depth);
  const std::array lanes{Lane{.pieces = in.pieces, .depth = depth, .steps = receiving_steps(in)},
                         Lane{.pieces = out.pieces, .depth = depth, .steps = sending_steps(out)}};
  return move(rank_, lanes, deadline_);
}

std::string SegmentChannel::path_taken() const {
  std::string way = "staged through one segment of shared pinned host memory";
  if (settings_.chunk == Bytes{}) way += ", chunks chosen by the size of the message";
  return way;
}

}  // namespace twinlink
