#include "protocols/staged_channel.hpp"

#include <array>

#include "protocols/lane.hpp"
#include "protocols/tags.hpp"

namespace twinlink {
namespace {

// One stream per direction, so that copies out and copies in use both copy engines at once.
constexpr Stream kOutStream{0};
constexpr Stream kInStream{1};

}  // namespace

StagedChannel::StagedChannel(Rank& rank, RankId peer, const Settings& settings, Memory memory)
    : rank_(rank), peer_(peer), settings_(settings), memory_(memory), out_(rank, memory), in_(rank, memory) {}

Outcome StagedChannel::exchange(std::span<const View> outgoing, std::span<const View> incoming) {
  const auto depth = static_cast<std::size_t>(settings_.depth);
  const Lane out{
      .pieces = cut(outgoing, settings_.chunk),
      .depth = depth,
      .steps = {
          {"copy out", [&](const Piece& p) { return rank_.copy(out_.at(p), p.bytes, kOutStream, Engine::dma); }},
          {"send", [&](const Piece& p) { return rank_.send(peer_, tags::kData, out_.at(p)); }},
      }};
  const Lane in{.pieces = cut(incoming, settings_.chunk),
                .depth = depth,
                .steps = {
                    {"receive", [&](const Piece& p) { return rank_.receive(peer_, tags::kData, in_.at(p)); }},
                    {"copy in", [&](const Piece& p) { return rank_.copy(p.bytes, in_.at(p), kInStream, Engine::dma); }},
                }};
  out_.reserve(out.pieces, depth);
  in_.reserve(in.pieces, depth);
  // Receives come first: a posted receive lets the peer's bytes flow while this rank copies out.
  const std::array lanes{in, out};
  return move(rank_, lanes, rank_.now() + settings_.timeout);
}

std::string StagedChannel::path_taken() const {
  return "staged through " + std::string(to_string(memory_)) + " host memory";
}

}  // namespace twinlink
