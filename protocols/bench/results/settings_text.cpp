#include "protocols/bench/results/settings_text.hpp"

#include <string_view>

#include <fmt/format.h>

namespace twinlink::bench {
namespace {

constexpr std::string_view kNotSet = "not set";

}  // namespace

std::string chunk_text(const std::optional<Bytes>& chunk) {
  if (!chunk) return std::string(kNotSet);
  return *chunk == Bytes{} ? "whole message" : format_size(*chunk);
}

std::string depth_text(const std::optional<int>& depth) {
  return depth ? std::to_string(*depth) : std::string(kNotSet);
}

std::string settings_text(const Settings& settings, const RunFacts& facts) {
  std::string text = fmt::format("chunk {}, depth {}", chunk_text(settings.chunk), depth_text(settings.depth));
  for (const auto& options : {settings.options, named(facts)}) {
    for (const auto& [name, value] : options) text += fmt::format(", {}={}", name, value);
  }
  return text;
}

}  // namespace twinlink::bench
