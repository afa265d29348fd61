#include "protocols/parts/plain_messages.hpp"

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

}  // namespace twinlink
