// GPUDirect v1: the GPU and the network adapter share one page-locked buffer.
//
//   sender                                   receiver
//   1. copy out: device -> pinned buffer     1. receive: network -> pinned buffer
//   2. send:     pinned buffer -> network    2. copy in: pinned buffer -> device
//
// Without the sharing, the CPU copied each message from the GPU's pinned buffer to the adapter's; that copy is gone.
// By default a message goes whole, as explicit code does it. With --chunk and --depth the copies out, the network and
// the copies in of successive chunks overlap: the pipeline of a CUDA-aware MPI library (MVAPICH2: MV2_CUDA_BLOCK_SIZE,
// eight blocks in flight).
#include <array>
#include <span>

#include "protocols/builtin.hpp"
#include "protocols/staged_channel.hpp"

namespace twinlink {
namespace {

// MVAPICH2's manual names the variable; the numbers are constants of its source, 2.3.7. Nobody can set its depth.
constexpr std::array kAliases{Alias{.name = "MV2_CUDA_BLOCK_SIZE", .target = "chunk"}};

std::span<const Preset> mvapich2() {
  static const std::array presets{Preset{.name = "mvapich2",
                                         .description = "the pipeline of MVAPICH2 2.3.7's source",
                                         .settings = {.chunk = 256_KiB, .depth = 8}}};
  return presets;
}

class GpuDirectV1 final : public Protocol {
 public:
  [[nodiscard]] std::string_view name() const override { return "gpudirect-v1"; }
  [[nodiscard]] std::string_view description() const override {
    return "copies through page-locked buffers that GPU and network share; --chunk and --depth make it a pipeline";
  }
  [[nodiscard]] Memory message_memory() const override { return Memory::device; }
  [[nodiscard]] Settings defaults() const override { return {.chunk = Bytes{}, .depth = 2}; }
  [[nodiscard]] std::span<const Alias> aliases() const override { return kAliases; }
  [[nodiscard]] std::span<const Preset> presets() const override { return mvapich2(); }
  [[nodiscard]] Support supports(const Path&) const override { return {}; }
  [[nodiscard]] std::unique_ptr<Channel> connect(Rank& rank, RankId peer, const Settings& settings) const override {
    check_settings(*this, settings);
    return std::make_unique<StagedChannel>(rank, peer, settings, Memory::pinned);
  }
};

}  // namespace

const Protocol& gpudirect_v1_protocol() {
  static const GpuDirectV1 protocol;
  return protocol;
}

}  // namespace twinlink
