#include "protocols/parts/segment_channel.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <exception>

#include "protocols/core/tags.hpp"
#include "protocols/parts/connection.hpp"
#include "protocols/parts/staged_channel.hpp"

namespace twinlink {
namespace {

/// Not delivered where the two ends do not have the same message, cut in the same way.
Outcome agree(const SegmentHeader& mine, const SegmentHeader& theirs) {
  if (mine.length != theirs.length) return wrong_size(mine.length, theirs.length);
  if (mine.chunk == theirs.chunk) return {};
  return {Status::wrong_size, "this side cuts messages into chunks of " + std::to_string(mine.chunk) +
                                  " B, the other of " + std::to_string(theirs.chunk) + " B (0: chosen by size)"};
}

}  // namespace

Bytes automatic_chunk(Bytes message) {
  // 2^k is nearest where 2^(k - 1/2) <= sqrt(S g r) < 2^(k + 1/2), so 2^(2k - 1) <= S g r < 2^(2k + 1).
  static_assert(std::has_single_bit(kGapBytes.count()));
  const int exponent = static_cast<int>(std::bit_width(message.count())) - 1 + std::countr_zero(kGapBytes.count());
  const Bytes nearest{std::uint64_t{1} << ((exponent + 1) / 2)};
  return std::clamp(nearest, kLeastAutomaticChunk, kMostAutomaticChunk);
}

/// Other messages. What is kept of the exchange before is its room.
void SegmentChannel::prepare(SegmentFlow& flow, Lane& lane, std::span<const View> messages) const {
  lane.pieces.clear();
  flow.begins.clear();
  for (const View& message : messages) {
    const std::size_t first = lane.pieces.size();
    const Bytes chunk =
        settings_.chunk_or_whole() == Bytes{} ? automatic_chunk(message.length) : settings_.chunk_or_whole();
    add_pieces(message, chunk, lane.pieces);
    flow.begins.resize(lane.pieces.size());
    flow.begins[first] = SegmentHeader{message.length.count(), settings_.chunk_or_whole().count()};
  }
  flow.credits = Credits(lane.pieces.size(), lane.depth, style_.credits);
}

SegmentChannel::SegmentChannel(Rank& rank, RankId peer, const Settings& settings, const SegmentStyle& style)
    : rank_(rank),
      peer_(peer),
      settings_(settings),
      style_(style),
      mine_(rank.allocate(Memory::shared_pinned, slot_size() * static_cast<std::uint64_t>(settings.depth_or_one()))) {
  try {
    const auto depth = static_cast<std::size_t>(settings.depth_or_one());
    for (SegmentFlow* const flow : {&in_, &out_}) flow->received.resize(depth);
    lanes_ = {Lane{.pieces = {}, .depth = depth, .steps = receiving_steps()},
              Lane{.pieces = {}, .depth = depth, .steps = sending_steps()}};
    connected(connect_to_peer());
  } catch (...) {
    rank_.release(mine_);  // without a peer that uses it
    throw;
  }
}

static_assert(sizeof(SegmentHeader) != kConnectMessageSize);

/// Throws away what an earlier connection has left under way. Then sends the peer this segment, and opens the
/// peer's. Does not go on before the peer has opened this one, for it might be through with everything, and release it,
/// before.
Outcome SegmentChannel::connect_to_peer() {
  constexpr std::array kControlTags{tags::kHeader, tags::kReady, tags::kDelivered, tags::kCredit};
  const Seconds deadline = rank_.now() + settings_.timeout;
  Epoch numbers;
  if (Outcome outcome = connect_ends(rank_, peer_, kControlTags, deadline, numbers); !outcome.ok()) return outcome;
  ControlMessage received;
  if (Outcome outcome = swap("segment", ControlMessage(rank_.export_memory(mine_)), received, deadline);
      !outcome.ok()) {
    return outcome;
  }
  rank_.step("open segment");
  try {
    theirs_ = rank_.open_memory(peer_, received.as<IpcHandle>());
  } catch (const Error& error) {
    // A forged or stale handle is the peer's fault, and a refusal of the system nobody's.
    return {Status::peer_failed, std::string("step 'open segment': ") + error.what()};
  }
  return swap("opened", ControlMessage(), received, deadline);
}

/// Both ends send each other such a thing.
Outcome SegmentChannel::swap(const std::string& what, const ControlMessage& mine, ControlMessage& theirs,
                             Seconds deadline) {
  rank_.step("send " + what);
  const Op sent = rank_.send_control(peer_, tags::kHeader, mine);
  rank_.step("receive " + what);
  const Status received = wait(rank_, rank_.recv_control(peer_, tags::kHeader, theirs), deadline);
  // The peer may not have come to receive it yet; nothing is lost if it has not by the deadline.
  const Status taken = wait(rank_, sent, deadline);
  if (received != Status::delivered) return did_not_connect(received, "receive " + what);
  if (taken != Status::delivered) return did_not_connect(taken, "send " + what);
  return {};
}

SegmentChannel::~SegmentChannel() {
  // While an exception passes, copies may still use the segments; the rank frees them when it ends.
  if (std::uncaught_exceptions() > 0) return;
  if (theirs_) rank_.close_memory(*theirs_);
  rank_.release(mine_);
}

Bytes SegmentChannel::slot_size() const {
  return settings_.chunk_or_whole() == Bytes{} ? kMostAutomaticChunk : settings_.chunk_or_whole();
}

View SegmentChannel::slot(Buffer segment, const Piece& piece) const {
  return {segment, slot_size() * static_cast<std::uint64_t>(piece.slot), piece.bytes.length};
}

std::vector<Step> SegmentChannel::sending_steps() {
  const auto send_header = [this](const Piece& p) -> Started {
    if (!out_.begins[p.number]) return Outcome{};
    return rank_.send_control(peer_, tags::kHeader, ControlMessage(*out_.begins[p.number]));
  };
  const auto recv_answer = [this](const Piece& p) -> Started {
    if (!out_.begins[p.number]) return Outcome{};
    return rank_.recv_control(peer_, tags::kReady, out_.received[p.slot]);
  };
  const auto recv_credit = [this](const Piece& p) -> Started {
    if (const auto& mine = out_.begins[p.number]) {
      Outcome agreed = agree(*mine, out_.received[p.slot].as<SegmentHeader>());
      if (!agreed.ok()) return agreed;
    }
    if (!out_.credits.sender_awaits_grant_before(p.number)) return Outcome{};
    return rank_.recv_control(peer_, tags::kCredit, nothing_);
  };
  const auto copy_out = [this](const Piece& p) {
    return pipeline_copy(rank_, slot(mine_, p), p.bytes, kOutStream, style_.synchronous, deadline_);
  };
  const auto send_filled = [this](const Piece&) { return rank_.send_control(peer_, tags::kDelivered, nothing_); };
  return {{"send header", send_header},
          {"receive clear to send", recv_answer},
          {"receive credit", recv_credit},
          {"copy out", copy_out},
          {"send filled", send_filled}};
}

std::vector<Step> SegmentChannel::receiving_steps() {
  const auto recv_header = [this](const Piece& p) -> Started {
    if (!in_.begins[p.number]) return Outcome{};
    return rank_.recv_control(peer_, tags::kHeader, in_.received[p.slot]);
  };
  const auto answer = [this](const Piece& p) -> Started {
    const auto& mine = in_.begins[p.number];
    if (!mine) return Outcome{};
    const Op sent = rank_.send_control(peer_, tags::kReady, ControlMessage(*mine));
    Outcome agreed = agree(*mine, in_.received[p.slot].as<SegmentHeader>());
    if (agreed.ok()) return sent;
    static_cast<void>(wait(rank_, sent, deadline_));  // the exchange has failed, whatever the peer learns
    return agreed;
  };
  const auto recv_filled = [this](const Piece&) { return rank_.recv_control(peer_, tags::kDelivered, nothing_); };
  const auto copy_in = [this](const Piece& p) {
    return pipeline_copy(rank_, p.bytes, slot(*theirs_, p), kInStream, style_.synchronous, deadline_);
  };
  const auto grant_credit = [this](const Piece& p) -> Started {
    if (!in_.credits.receiver_grants_after(p.number)) return Outcome{};
    return rank_.send_control(peer_, tags::kCredit, nothing_);
  };
  return {{"receive header", recv_header},
          {"send clear to send", answer},
          {"receive filled", recv_filled},
          {"copy in", copy_in},
          {"grant credit", grant_credit}};
}

Outcome SegmentChannel::do_exchange(std::span<const View> outgoing, std::span<const View> incoming) {
  deadline_ = rank_.now() + settings_.timeout;
  prepare(in_, lanes_[0], incoming);
  prepare(out_, lanes_[1], outgoing);
  return move(rank_, lanes_, deadline_);
}

std::string SegmentChannel::path_taken() const {
  std::string way = "staged through one segment of shared pinned host memory";
  if (settings_.chunk_or_whole() == Bytes{}) way += ", chunks chosen by the size of the message";
  return way;
}

}  // namespace twinlink
