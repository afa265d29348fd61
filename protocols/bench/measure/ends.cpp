#include "protocols/bench/measure/ends.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "protocols/core/split.hpp"

namespace twinlink::bench {
namespace {

constexpr std::array<std::pair<std::string_view, Memory>, 3> kNames{
    {{"device", Memory::device}, {"host", Memory::pageable}, {"pinned", Memory::pinned}}};

Memory parse_memory(std::string_view text, std::string_view whole) {
  for (const auto& [name, memory] : kNames) {
    if (name == text) return memory;
  }
  throw UsageError(fmt::format("'{}' is no FIRST,SECOND, each of them device, host or pinned", whole));
}

std::string_view name_of(Memory memory) {
  return std::ranges::find(kNames, memory, &std::pair<std::string_view, Memory>::second)->first;
}

}  // namespace

std::string to_string(const Ends& ends) { return fmt::format("{},{}", name_of(ends.first), name_of(ends.second)); }

Ends parse_ends(std::string_view text) {
  const std::vector<std::string_view> names = split(text, ',');
  if (names.size() != 2) return {parse_memory("", text), {}};
  return {parse_memory(names[0], text), parse_memory(names[1], text)};
}

Memory message_memory(const Protocol& protocol, const Plan& plan, bool leading) {
  if (!plan.ends) return message_memory(protocol, plan.packing);
  return leading ? plan.ends->first : plan.ends->second;
}

Settings settings_of_end(const Protocol& protocol, const Plan& plan, bool leading) {
  Settings settings = plan.settings;
  if (plan.ends) settings.peer_memory = message_memory(protocol, plan, !leading);
  return settings;
}

void check_ends(const Protocol& protocol, const Plan& plan) {
  if (!plan.ends) return;
  if (plan.packing.needed()) throw UsageError("--ends: messages whose bytes lie apart lie in device memory");
  const bool any_on_host = plan.ends->first != Memory::device || plan.ends->second != Memory::device;
  const bool any_on_device = plan.ends->first == Memory::device || plan.ends->second == Memory::device;
  if (protocol.message_memory() != Memory::device && any_on_device) {
    throw UsageError(
        fmt::format("--ends {}: protocol '{}' moves host memory only", to_string(*plan.ends), protocol.name()));
  }
  if (!any_on_host) return;
  const Answer taken = protocol.takes_host_memory(plan.settings);
  if (taken) return;
  throw UsageError(fmt::format("--ends {}: protocol '{}' takes no messages in host memory: {}", to_string(*plan.ends),
                               protocol.name(), taken.reason));
}

}  // namespace twinlink::bench
