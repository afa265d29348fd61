#include "protocols/bench/results/settings_text.hpp"

#include <fmt/format.h>

namespace twinlink::bench {

std::string settings_text(const Settings& settings) {
  const std::string chunk = settings.chunk == Bytes{} ? "whole message" : format_size(settings.chunk);
  std::string text = fmt::format("chunk {}, depth {}", chunk, settings.depth);
  for (const auto& [name, value] : settings.options) text += fmt::format(", {}={}", name, value);
  return text;
}

}  // namespace twinlink::bench
