// Host to host: no GPU at all, the reference curve that every GPU protocol is held against.
//
//   sender                                   receiver
//   1. send: host memory -> network          1. receive: network -> host memory
#include <array>

#include "protocols/builtin.hpp"
#include "protocols/lane.hpp"
#include "protocols/tags.hpp"

namespace twinlink {
namespace {

class HostChannel final : public Channel {
 public:
  HostChannel(Rank& rank, RankId peer, Settings settings) : rank_(rank), peer_(peer), settings_(std::move(settings)) {}

  Outcome exchange(std::span<const View> outgoing, std::span<const View> incoming) override {
    const auto depth = static_cast<std::size_t>(settings_.depth);
    const std::array lanes{
        Lane{.pieces = cut(incoming, settings_.chunk),
             .depth = depth,
             .steps = {{"receive", [&](const Piece& p) { return rank_.receive(peer_, tags::kData, p.bytes); }}}},
        Lane{.pieces = cut(outgoing, settings_.chunk),
             .depth = depth,
             .steps = {{"send", [&](const Piece& p) { return rank_.send(peer_, tags::kData, p.bytes); }}}}};
    return move(rank_, lanes, rank_.now() + settings_.timeout);
  }
  [[nodiscard]] std::string path_taken() const override { return "host memory to host memory"; }

 private:
  Rank& rank_;
  RankId peer_;
  Settings settings_;
};

class Host final : public Protocol {
 public:
  [[nodiscard]] std::string_view name() const override { return "host"; }
  [[nodiscard]] std::string_view description() const override { return "host memory to host memory, without a GPU"; }
  [[nodiscard]] Memory message_memory() const override { return Memory::pageable; }
  // As deep as the window of the OSU bandwidth test: nothing is staged, so depth costs nothing.
  [[nodiscard]] Settings defaults() const override { return {.chunk = Bytes{}, .depth = 64}; }
  [[nodiscard]] Support supports(const Path&) const override { return {}; }
  [[nodiscard]] std::unique_ptr<Channel> connect(Rank& rank, RankId peer, const Settings& settings) const override {
    check_settings(*this, settings);
    return std::make_unique<HostChannel>(rank, peer, settings);
  }
};

}  // namespace

const Protocol& host_protocol() {
  static const Host protocol;
  return protocol;
}

}  // namespace twinlink
