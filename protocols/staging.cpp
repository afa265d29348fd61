// Host staging: the way of a program that copies for itself, without GPUDirect.
//
//   sender                                     receiver
//   1. copy out: device -> pageable buffer     1. receive: network -> pageable buffer
//   2. send:     pageable buffer -> network    2. copy in: pageable buffer -> device
//
// The driver copies pageable memory through a page-locked buffer of its own, so both copies are slower than the bus
// and occupy the CPU. A message goes whole, as in the first GPU ping-pong that everybody writes; --chunk cuts it.
#include "protocols/builtin.hpp"
#include "protocols/parts/staged_channel.hpp"

namespace twinlink {
namespace {

class Staging final : public Protocol {
 public:
  [[nodiscard]] std::string_view name() const override { return "staging"; }
  [[nodiscard]] std::string_view description() const override {
    return "explicit copies through pageable host memory, then the network (no GPUDirect)";
  }
  [[nodiscard]] Memory message_memory() const override { return Memory::device; }
  [[nodiscard]] Settings defaults() const override { return {.chunk = Bytes{}, .depth = 2}; }
  [[nodiscard]] Support supports(const Path&) const override { return {}; }
  [[nodiscard]] std::unique_ptr<Channel> connect(Rank& rank, RankId peer, const Settings& settings) const override {
    check_settings(*this, settings);
    return std::make_unique<StagedChannel>(rank, peer, settings, StagedStyle{});
  }
};

}  // namespace

const Protocol& staging_protocol() {
  static const Staging protocol;
  return protocol;
}

}  // namespace twinlink
