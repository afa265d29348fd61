#include "protocols/plain_messages.hpp"

#include <array>
#include <vector>

#include "protocols/lane.hpp"

namespace twinlink {

Outcome exchange_plain_messages(Rank& rank, RankId peer, const Settings& settings, std::span<const View> outgoing,
                                std::span<const View> incoming) {
  const auto lane = [&](std::span<const View> messages, std::string_view words, auto start) {
    const auto step = [start, chunk = settings.chunk, wholes = whole_lengths(messages, settings.chunk)](
                          const Piece& p) -> Started { return start(data_tag(wholes[p.number], chunk), p.bytes); };
    return Lane{.pieces = cut(messages, settings.chunk),
                .depth = static_cast<std::size_t>(settings.depth),
                .steps = {{words, step}}};
  };
  // Receives come first: a posted receive lets the peer's bytes flow.
  const std::array lanes{lane(incoming, "receive", [&](Tag tag, View to) { return rank.receive(peer, tag, to); }),
                         lane(outgoing, "send", [&](Tag tag, View from) { return rank.send(peer, tag, from); })};
  return move(rank, lanes, rank.now() + settings.timeout);
}

}  // namespace twinlink
