#include "protocols/core/path.hpp"

#include <charconv>

namespace twinlink {

std::string_view to_string(Level level) {
  constexpr std::array<std::string_view, kLevels.size()> kNames{"LOC", "NVL", "C2C", "PIX", "PXB", "PHB", "SYS"};
  return kNames.at(static_cast<std::size_t>(level));
}

std::string_view to_string(Cpu cpu) {
  constexpr std::array<std::string_view, kCpus.size()> kNames{
      "unknown", "broadwell", "skylake", "sapphire-rapids", "emerald-rapids", "amd", "power", "arm"};
  return kNames.at(static_cast<std::size_t>(cpu));
}

std::string to_string(const Place& place) { return std::to_string(place.node) + "/" + std::to_string(place.gpu); }

Place parse_place(std::string_view text) {
  Place place;
  const char* const end = text.data() + text.size();
  const auto node = std::from_chars(text.data(), end, place.node);
  if (node.ec == std::errc{} && node.ptr != end && *node.ptr == '/') {
    const auto gpu = std::from_chars(node.ptr + 1, end, place.gpu);
    if (gpu.ec == std::errc{} && gpu.ptr == end && place.node >= 0 && place.gpu >= 0) return place;
  }
  throw UsageError("'" + std::string(text) + "' is no device; expected NODE/GPU, such as 0/1");
}

}  // namespace twinlink
