#include "protocols/cuda_ipc_options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace twinlink {
namespace {

std::uint64_t number(std::string_view name, const std::string& text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec == std::errc{} && parsed.ptr == end && value >= least && value <= most) return value;
  throw UsageError(std::string(name) + "='" + text + "': expected a whole number from " + std::to_string(least) +
                   " to " + std::to_string(most));
}

bool one_of(std::string_view name, const std::string& text, std::string_view no, std::string_view yes) {
  if (text == yes) return true;
  if (text == no) return false;
  throw UsageError(std::string(name) + "='" + text + "': expected " + std::string(no) + " or " + std::string(yes));
}

constexpr std::uint64_t kMany = 1'000'000;

struct Setter {
  std::string_view name;
  void (*set)(CudaIpcOptions&, const std::string& text);
};

constexpr std::array kSetters{
    Setter{"fidelity",
           [](CudaIpcOptions& o, const std::string& text) { o.fidelity = handshake::parse_fidelity(text); }},
    Setter{"cache", [](CudaIpcOptions& o, const std::string& text) { o.cache = number("cache", text, 0, kMany); }},
    Setter{"eviction", [](CudaIpcOptions& o, const std::string& text) { o.eviction = parse_eviction(text); }},
    Setter{"eager", [](CudaIpcOptions& o, const std::string& text) { o.eager = parse_size(text); }},
    Setter{"start",
           [](CudaIpcOptions& o, const std::string& text) { o.late = one_of("start", text, "ready", "late"); }},
    Setter{"btl_smcuda_use_cuda_ipc",
           [](CudaIpcOptions& o, const std::string& text) {
             o.use_ipc = one_of("btl_smcuda_use_cuda_ipc", text, "0", "1");
           }},
    Setter{"btl_smcuda_cuda_max_send_size",
           [](CudaIpcOptions& o, const std::string& text) {
             const Bytes size = parse_size(text);
             if (size <= kFragmentHeader) {
               throw UsageError("btl_smcuda_cuda_max_send_size='" + text +
                                "': " + std::to_string(kFragmentHeader.count()) + " B of it are the header");
             }
             o.payload = size - kFragmentHeader;
           }},
    Setter{"pml_ob1_send_pipeline_depth",
           [](CudaIpcOptions& o, const std::string& text) {
             o.fragments = static_cast<int>(number("pml_ob1_send_pipeline_depth", text, 1, kMaxDepth));
           }},
};

}  // namespace

CudaIpcOptions cuda_ipc_options(const Settings& settings, const std::map<std::string, std::string>& named) {
  CudaIpcOptions options;
  if (settings.chunk > Bytes{}) options.payload = settings.chunk;
  options.fragments = settings.depth;
  for (const auto& [name, text] : named) {
    const Setter* found = nullptr;
    std::string all;
    for (const Setter& setter : kSetters) {
      if (setter.name == name) found = &setter;
      all += " " + std::string(setter.name);
    }
    if (found == nullptr) throw UsageError("protocol 'cuda-ipc' has no option '" + name + "' (there are:" + all + ")");
    found->set(options, text);
  }
  options.eager = std::min(options.eager, options.payload);
  return options;
}

}  // namespace twinlink
