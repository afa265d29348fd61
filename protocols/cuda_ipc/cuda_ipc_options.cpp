#include "protocols/cuda_ipc/cuda_ipc_options.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "protocols/core/options.hpp"

namespace twinlink {
namespace {

/// Is this rank late?
constexpr Choices kStarts{OptionChoice<bool>{"ready", false}, OptionChoice<bool>{"late", true}};
/// Does a rank see its own GPU alone?
constexpr Choices kVisible{OptionChoice<bool>{"all", false}, OptionChoice<bool>{"own", true}};

constexpr std::array kOptions{
    Option{"fidelity", handshake::kFidelityNames.names(), "design",
           "whose handshake; 'twinlink-sim handshake' prints them"},
    Option{"ipc", kSwitch.names(), "1", "may this rank ask for CUDA IPC?"},
    Option{"cache", "COUNT", "0", "opened buffers of the peer that are kept open; 0: all"},
    Option{"eviction", kEvictions.names(), "lru",
           "which one is closed when there are too many: unused for longest, or (as Open MPI does) released last"},
    Option{"eager", "SIZE", "256", "until IPC is on, messages up to this size travel with their header"},
    Option{"rget_from", "SIZE", "0", "with IPC on, messages of this size and more go by it, smaller ones staged"},
    Option{"start", kStarts.names(), "ready",
           "late: a rank uses CUDA only from its own first send on; Open MPI 5 has closed smcuda by then, for good"},
    Option{"visible", kVisible.names(), "all",
           "which GPUs a rank sees (CUDA_VISIBLE_DEVICES); own: every rank's GPU is its number 0, so smcuda takes both "
           "for one and never asks for peer access; where there is none it cannot run"},
};

constexpr std::array kAliases{
    Alias{"btl_smcuda_use_cuda_ipc", "ipc", "openmpi"},
    Alias{"btl_smcuda_cuda_max_send_size", "chunk", "openmpi"},
    Alias{"pml_ob1_send_pipeline_depth", "depth", "openmpi"},
};

Settings preset(std::string_view fidelity) {
  return {.chunk = kIpcFragment,
          .depth = kIpcFragmentsInFlight,
          .options = {{"fidelity", std::string(fidelity)}, {"eviction", "openmpi"}}};
}

}  // namespace

std::span<const Option> cuda_ipc_option_list() { return kOptions; }

std::span<const Alias> cuda_ipc_aliases() { return kAliases; }

std::span<const Preset> cuda_ipc_presets() {
  static const std::array presets{
      Preset{"openmpi-4.1", "smcuda as the code of Open MPI 4.1.4 has it", preset("openmpi-4.1")},
      Preset{"openmpi-5", "smcuda as the code of Open MPI 5.0.10 has it", preset("openmpi-5")},
  };
  return presets;
}

CudaIpcOptions read_cuda_ipc_options(const Protocol& protocol, const Settings& settings) {
  const OptionReader read(protocol, settings);
  const Bytes fragment = settings.chunk_or_whole() == Bytes{} ? kIpcFragment : settings.chunk_or_whole();
  if (fragment <= kIpcFragmentHeader) {
    throw UsageError("protocol 'cuda-ipc': a fragment (chunk) of " + format_size(fragment) +
                     " has no room beside its header of " + format_size(kIpcFragmentHeader));
  }
  CudaIpcOptions options{.fidelity = read.choice("fidelity", handshake::kFidelityNames),
                         .use_ipc = read.choice("ipc", kSwitch),
                         .cache = read.count("cache"),
                         .eviction = read.choice("eviction", kEvictions),
                         .rget_from = read.size("rget_from"),
                         .late = read.choice("start", kStarts),
                         .sees_own_alone = read.choice("visible", kVisible),
                         .payload = fragment - kIpcFragmentHeader,
                         .fragments = settings.depth_or_one()};
  options.closed = options.late && options.fidelity == handshake::Fidelity::openmpi_5;
  options.eager = std::min(read.size("eager"), options.payload);
  return options;
}

}  // namespace twinlink
