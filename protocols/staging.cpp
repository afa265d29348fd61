// Host staging: the way of a program that copies for itself, without GPUDirect.
//
// Pageable memory (the option `memory`)
//   sender                                     receiver
//   1. copy out: device -> pageable buffer     1. receive: network -> pageable buffer
//   2. send:     pageable buffer -> network    2. copy in: pageable buffer -> device
//
// The driver copies pageable memory through a page-locked buffer of its own, so both copies are slower than the bus
// and occupy the CPU.
//
// Page-locked memory that the adapter's driver cannot lock as well, so that it has a buffer of its own
//   sender                                                  receiver
//   1. copy out:  device -> the GPU's buffer                1. receive:   network -> the adapter's buffer
//   2. host copy: the GPU's buffer -> the adapter's buffer  2. host copy: the adapter's buffer -> the GPU's buffer
//   3. send:      the adapter's buffer -> network           3. copy in:   the GPU's buffer -> device
//
// An end whose messages lie in host memory sends or receives them as they lie.
//
// The host copy is the CPU's, and is what GPUDirect v1 removes. A message goes whole, as in the first GPU ping-pong
// that everybody writes; --chunk cuts it.
#include <array>

#include "protocols/builtin.hpp"
#include "protocols/core/options.hpp"
#include "protocols/parts/staged_channel.hpp"

namespace twinlink {
namespace {

constexpr Choices kMemories{OptionChoice<Memory>{"pageable", Memory::pageable},
                            OptionChoice<Memory>{"pinned", Memory::pinned}};

constexpr std::array kOptions{
    kSendOption,
    Option{"memory", kMemories.names(), "pageable",
           "pinned: page-locked, but not shared with the adapter, so that a CPU copies between two host buffers"}};

class Staging final : public Protocol {
 public:
  [[nodiscard]] std::string_view name() const override { return "staging"; }
  [[nodiscard]] std::string_view description() const override {
    return "explicit copies through host memory that GPU and adapter do not share (no GPUDirect)";
  }
  [[nodiscard]] Memory message_memory() const override { return Memory::device; }
  [[nodiscard]] Answer takes_host_memory(const Settings&) const override { return Answer::granted(); }
  [[nodiscard]] Settings defaults() const override { return {.chunk = Bytes{}, .depth = 2}; }
  [[nodiscard]] std::span<const Option> options() const override { return kOptions; }
  [[nodiscard]] Support supports(const Path&) const override { return {}; }
  [[nodiscard]] std::unique_ptr<Channel> connect(Rank& rank, RankId peer, const Settings& settings) const override {
    check_settings(*this, settings);
    const OptionReader read(*this, settings);
    StagedStyle style{.sending = read.choice("send", kSendings)};
    if (read.choice("memory", kMemories) == Memory::pinned) {
      style.memory = Memory::pinned;
      style.shared = false;
    }
    return std::make_unique<StagedChannel>(rank, peer, settings, style);
  }
};

}  // namespace

const Protocol& staging_protocol() {
  static const Staging protocol;
  return protocol;
}

}  // namespace twinlink
