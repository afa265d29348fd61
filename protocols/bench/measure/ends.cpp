#include "protocols/bench/measure/ends.hpp"

#include <fmt/format.h>

namespace twinlink::bench {

Memory message_memory(const Protocol& protocol, const Plan& plan, bool leading) {
  if (!plan.facts.ends) return message_memory(protocol, plan.facts.packing);
  return leading ? plan.facts.ends->first : plan.facts.ends->second;
}

Settings settings_of_end(const Protocol& protocol, const Plan& plan, bool leading) {
  Settings settings = plan.settings;
  if (plan.facts.ends) settings.peer_memory = message_memory(protocol, plan, !leading);
  return settings;
}

void check_ends(const Protocol& protocol, const Plan& plan) {
  if (!plan.facts.ends) return;
  if (plan.facts.packing.needed()) throw UsageError("--ends: messages whose bytes lie apart lie in device memory");
  const bool any_on_host = plan.facts.ends->first != Memory::device || plan.facts.ends->second != Memory::device;
  const bool any_on_device = plan.facts.ends->first == Memory::device || plan.facts.ends->second == Memory::device;
  if (protocol.message_memory() != Memory::device && any_on_device) {
    throw UsageError(
        fmt::format("--ends {}: protocol '{}' moves host memory only", to_string(*plan.facts.ends), protocol.name()));
  }
  if (!any_on_host) return;
  const Answer taken = protocol.takes_host_memory(plan.settings);
  if (taken) return;
  throw UsageError(fmt::format("--ends {}: protocol '{}' takes no messages in host memory: {}",
                               to_string(*plan.facts.ends), protocol.name(), taken.reason));
}

}  // namespace twinlink::bench
