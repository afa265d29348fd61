// Host staging: the way of a program that copies for itself, without GPUDirect.
//
//   sender                                     receiver
//   1. copy out: device -> pageable buffer     1. receive: network -> pageable buffer
//   2. send:     pageable buffer -> network    2. copy in: pageable buffer -> device
//
// The driver copies pageable memory through a page-locked buffer of its own, so both copies are slower than the bus
// and occupy a CPU. A message goes whole, as in the first GPU ping-pong that everybody writes; --chunk cuts it. Then
// the rank's CPU would copy a piece and send one by turns; with copies=thread two threads beside it copy, one what
// goes out and one what comes in, each on a CPU of its own, while the rank sends and receives. Where the rank may use
// one CPU only, the first copy is refused.
#include <array>

#include "protocols/builtin.hpp"
#include "protocols/core/options.hpp"
#include "protocols/parts/staged_channel.hpp"

namespace twinlink {
namespace {

enum class Copies { rank, thread };

constexpr std::array kOptions{
    Option{"copies", "rank|thread", "rank",
           "rank: the CPU copies, and does nothing else meanwhile; thread: a thread beside the rank, on another CPU"}};

class Staging final : public Protocol {
 public:
  [[nodiscard]] std::string_view name() const override { return "staging"; }
  [[nodiscard]] std::string_view description() const override {
    return "explicit copies through pageable host memory, then the network (no GPUDirect)";
  }
  [[nodiscard]] Memory message_memory() const override { return Memory::device; }
  [[nodiscard]] Settings defaults() const override { return {.chunk = Bytes{}, .depth = 2}; }
  [[nodiscard]] std::span<const Option> options() const override { return kOptions; }
  [[nodiscard]] Support supports(const Path&) const override { return {}; }
  [[nodiscard]] std::unique_ptr<Channel> connect(Rank& rank, RankId peer, const Settings& settings) const override {
    check_settings(*this, settings);
    const bool by_thread = OptionReader(*this, settings).choice<Copies>("copies") == Copies::thread;
    const StagedStyle style{.engine = by_thread ? Engine::thread : Engine::dma};
    return std::make_unique<StagedChannel>(rank, peer, settings, style);
  }
};

}  // namespace

const Protocol& staging_protocol() {
  static const Staging protocol;
  return protocol;
}

}  // namespace twinlink
