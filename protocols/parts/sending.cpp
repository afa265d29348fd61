#include "protocols/parts/sending.hpp"

#include <exception>
#include <string>
#include <utility>

namespace twinlink {

PlainMessages::PlainMessages(Rank& rank, RankId peer, const Settings& settings, Sending how)
    : rank_(rank), chunk_(settings.chunk_or_whole()), timeout_(settings.timeout) {
  const auto tag_of = [this](std::size_t lane, const Piece& p) { return data_tag(wholes_[lane][p.number], chunk_); };
  // Receives come first: a posted receive lets the peer's bytes flow.
  lanes_[kIncoming].steps = {
      {"receive", [this, peer, tag_of](const Piece& p) { return rank_.receive(peer, tag_of(kIncoming, p), p.bytes); }}};
  lanes_[kOutgoing].steps = {{"send", [this, peer, how, tag_of](const Piece& p) {
                                return send_as(rank_, how, peer, tag_of(kOutgoing, p), p.bytes);
                              }}};
  for (Lane& lane : lanes_) lane.depth = static_cast<std::size_t>(settings.depth_or_one());
}

Outcome PlainMessages::exchange(std::span<const View> outgoing, std::span<const View> incoming) {
  for (const auto& [lane, messages] : {std::pair{kIncoming, incoming}, std::pair{kOutgoing, outgoing}}) {
    cut(messages, chunk_, lanes_[lane].pieces);
    whole_lengths(messages, chunk_, wholes_[lane]);
  }
  return move(rank_, lanes_, rank_.now() + timeout_);
}

AttachedBuffer::~AttachedBuffer() {
  // While an exception passes, operations may still use the memory; the rank frees it when it ends.
  if (memory_.id != 0 && std::uncaught_exceptions() == 0) rank_.release(memory_);
}

Outcome AttachedBuffer::take(std::span<const View> messages) {
  make_room(messages);
  messages_.clear();
  rank_.step("copy to attached");
  Bytes at{};
  for (const View& message : messages) {
    messages_.emplace_back(memory_, at, message.length);
    at += message.length;
    const Op copied = rank_.copy(messages_.back(), message, Stream{0}, Engine::dma);
    const Status status = wait(rank_, copied, rank_.now() + timeout_);
    if (status != Status::delivered) return {status, "step 'copy to attached': " + std::string(to_string(status))};
  }
  return {};
}

void AttachedBuffer::make_room(std::span<const View> messages) {
  Bytes needed{};
  for (const View& message : messages) needed += message.length;
  if (memory_.id != 0 && memory_.size >= needed) return;
  if (memory_.id != 0) rank_.release(memory_);
  memory_ = rank_.allocate(Memory::pageable, needed);
}

}  // namespace twinlink
