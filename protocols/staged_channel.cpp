#include "protocols/staged_channel.hpp"

#include <array>
#include <utility>

#include "protocols/tags.hpp"

namespace twinlink {
namespace {

// One stream per direction, so that copies out and copies in use both copy engines at once.
constexpr Stream kOutStream{0};
constexpr Stream kInStream{1};

}  // namespace

Started pipeline_copy(Rank& rank, View to, View from, Stream stream, bool synchronous, Seconds deadline) {
  const Op op = rank.copy(to, from, stream, Engine::dma);
  if (!synchronous) return op;
  const Status status = wait(rank, op, deadline);
  return Outcome{status, std::string(to_string(status))};
}

StagedChannel::StagedChannel(Rank& rank, RankId peer, Settings settings, const StagedStyle& style)
    : rank_(rank),
      peer_(peer),
      settings_(std::move(settings)),
      style_(style),
      out_(rank, style.memory),
      in_(rank, style.memory) {}

std::vector<Step> StagedChannel::sending_steps(const Credits& credits, std::vector<Bytes> wholes) {
  const auto copy_out = [this](const Piece& p) {
    return pipeline_copy(rank_, out_.at(p), p.bytes, kOutStream, style_.synchronous, deadline_);
  };
  // Of the pieces that wait for one grant only the first hears it: those behind it are sent after it.
  const auto hear_credit = [this, credits, index = std::size_t{0}](const Piece&) mutable -> Started {
    if (!credits.sender_hears_before(index++)) return Outcome{};
    return rank_.hear(peer_, tags::kCredit, credit_);
  };
  const auto send = [this, wholes = std::move(wholes)](const Piece& p) {
    return rank_.send(peer_, data_tag(wholes[p.number], settings_.chunk), out_.at(p));
  };
  if (style_.credits == 0) return {{"copy out", copy_out}, {"send", send}};
  return {{"copy out", copy_out}, {"hear credit", hear_credit}, {"send", send}};
}

std::vector<Step> StagedChannel::receiving_steps(const Credits& credits, std::vector<Bytes> wholes) {
  const auto receive = [this, wholes = std::move(wholes)](const Piece& p) {
    return rank_.receive(peer_, data_tag(wholes[p.number], settings_.chunk), in_.at(p));
  };
  const auto copy_in = [this](const Piece& p) {
    return pipeline_copy(rank_, p.bytes, in_.at(p), kInStream, style_.synchronous, deadline_);
  };
  const auto grant_credit = [this, credits, index = std::size_t{0}](const Piece&) mutable -> Started {
    if (!credits.receiver_grants_after(index++)) return Outcome{};
    return rank_.tell(peer_, tags::kCredit, credit_);
  };
  if (style_.credits == 0) return {{"receive", receive}, {"copy in", copy_in}};
  return {{"receive", receive}, {"copy in", copy_in}, {"grant credit", grant_credit}};
}

Outcome StagedChannel::do_exchange(std::span<const View> outgoing, std::span<const View> incoming) {
  deadline_ = rank_.now() + settings_.timeout;
  const auto depth = static_cast<std::size_t>(settings_.depth);
  const auto lane = [&](std::span<const View> messages, auto steps_of) {
    std::vector<View> pieces = cut(messages, settings_.chunk);
    const Credits credits(pieces.size(), depth, style_.credits);
    return Lane{.pieces = std::move(pieces),
                .depth = depth,
                .steps = (this->*steps_of)(credits, whole_lengths(messages, settings_.chunk))};
  };
  // Receives come first: a posted receive lets the peer's bytes flow while this rank copies out.
  const std::array lanes{lane(incoming, &StagedChannel::receiving_steps),
                         lane(outgoing, &StagedChannel::sending_steps)};
  in_.reserve(lanes[0].pieces, depth);
  out_.reserve(lanes[1].pieces, depth);
  return move(rank_, lanes, deadline_);
}

std::string StagedChannel::path_taken() const {
  return "staged through " + std::string(to_string(style_.memory)) + " host memory";
}

}  // namespace twinlink
