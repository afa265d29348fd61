#include "protocols/parts/staged_channel.hpp"

#include <utility>

#include "protocols/core/tags.hpp"

namespace twinlink {
Started pipeline_copy(Rank& rank, View to, View from, Stream stream, bool synchronous, Seconds deadline) {
  const Op op = rank.copy(to, from, stream, Engine::dma);
  if (!synchronous) return op;
  const Status status = wait(rank, op, deadline);
  return Outcome{status, std::string(to_string(status))};
}

// Receives come first: a posted receive lets the peer's bytes flow while this rank copies out.
StagedChannel::StagedChannel(Rank& rank, RankId peer, Settings settings, const StagedStyle& style)
    : rank_(rank),
      peer_(peer),
      settings_(std::move(settings)),
      style_(style),
      in_{.buffers = StagingBuffers(rank, style.memory), .network = StagingBuffers(rank, style.memory)},
      out_{.buffers = StagingBuffers(rank, style.memory), .network = StagingBuffers(rank, style.memory)},
      lanes_{Lane{.pieces = {}, .steps = receiving_steps()}, Lane{.pieces = {}, .steps = sending_steps()}} {
  for (Lane& lane : lanes_) lane.depth = static_cast<std::size_t>(settings_.depth_or_one());
}

std::vector<Step> StagedChannel::sending_steps() {
  const auto copy_out = [this](const Piece& p) -> Started {
    if (lies_on_host(p)) return Outcome{};
    if (style_.engine == Engine::cpu) return rank_.copy(out_.buffers.at(p), p.bytes, kHostStream, style_.engine);
    return pipeline_copy(rank_, out_.buffers.at(p), p.bytes, kOutStream, style_.synchronous, deadline_);
  };
  const auto host_copy = [this](const Piece& p) -> Started {
    if (lies_on_host(p)) return Outcome{};
    return rank_.copy(out_.network.at(p), out_.buffers.at(p), kHostStream, Engine::dma);
  };
  // Only the first of the pieces that wait for one grant receives it: those behind it are sent after it.
  const auto recv_credit = [this](const Piece& p) -> Started {
    if (!out_.credits.sender_awaits_grant_before(p.number)) return Outcome{};
    return rank_.recv_control(peer_, tags::kCredit, credit_);
  };
  const auto send = [this](const Piece& p) {
    return send_as(rank_, style_.sending, peer_, data_tag(out_.wholes[p.number], settings_.chunk_or_whole()),
                   network_side(out_, p));
  };
  std::vector<Step> steps{{"copy out", copy_out}};
  if (!style_.shared) steps.push_back({"host copy", host_copy});
  if (style_.credits > 0) steps.push_back({"receive credit", recv_credit});
  steps.push_back({"send", send});
  return steps;
}

std::vector<Step> StagedChannel::receiving_steps() {
  const auto receive = [this](const Piece& p) {
    return rank_.receive(peer_, data_tag(in_.wholes[p.number], settings_.chunk_or_whole()), network_side(in_, p));
  };
  const auto host_copy = [this](const Piece& p) -> Started {
    if (lies_on_host(p)) return Outcome{};
    return rank_.copy(in_.buffers.at(p), in_.network.at(p), kHostStream, Engine::dma);
  };
  const auto copy_in = [this](const Piece& p) -> Started {
    if (lies_on_host(p)) return Outcome{};
    if (style_.engine == Engine::cpu) return rank_.copy(p.bytes, in_.buffers.at(p), kHostStream, style_.engine);
    return pipeline_copy(rank_, p.bytes, in_.buffers.at(p), kInStream, style_.synchronous, deadline_);
  };
  const auto grant_credit = [this](const Piece& p) -> Started {
    if (!in_.credits.receiver_grants_after(p.number)) return Outcome{};
    return rank_.send_control(peer_, tags::kCredit, credit_);
  };
  std::vector<Step> steps{{"receive", receive}};
  if (!style_.shared) steps.push_back({"host copy", host_copy});
  steps.push_back({"copy in", copy_in});
  if (style_.credits > 0) steps.push_back({"grant credit", grant_credit});
  return steps;
}

void StagedChannel::prepare(StagedFlow& flow, Lane& lane, std::span<const View> messages) {
  cut(messages, settings_.chunk_or_whole(), lane.pieces);
  whole_lengths(messages, settings_.chunk_or_whole(), flow.wholes);
  flow.credits = Credits(lane.pieces.size(), lane.depth, style_.credits);
  if (messages.empty()) return;
  on_host_ = messages.front().buffer.memory != Memory::device;
  if (on_host_) return;
  flow.buffers.reserve(lane.pieces, lane.depth);
  if (!style_.shared) flow.network.reserve(lane.pieces, lane.depth);
}

Outcome StagedChannel::do_exchange(std::span<const View> outgoing, std::span<const View> incoming) {
  deadline_ = rank_.now() + settings_.timeout;
  prepare(in_, lanes_[0], incoming);
  prepare(out_, lanes_[1], outgoing);
  return move(rank_, lanes_, deadline_);
}

std::string StagedChannel::path_taken() const {
  const bool peer_on_host = settings_.peer_memory.value_or(Memory::device) != Memory::device;
  const std::string wires = by_which_wires(rank_.path_to(peer_));
  if (on_host_ && peer_on_host) return "host memory to host memory" + wires;
  if (on_host_ || peer_on_host) {
    return "staged through " + std::string(to_string(style_.memory)) +
           " host memory at one end, in host memory at the other" + wires;
  }
  const std::string text = "staged through " + std::string(to_string(style_.memory)) + " host memory" +
                           (style_.engine == Engine::cpu ? " by the CPU's own copies" : "");
  return (style_.shared ? text : text + " that the adapter does not share") + wires;
}

}  // namespace twinlink
