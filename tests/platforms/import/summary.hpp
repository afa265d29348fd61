// A sketched platform as a short text: what of it follows from the facts, and not the costs that are assumed.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "platforms/import/node_sketch.hpp"

namespace twinlink::platforms::testing {

inline std::string told(const Sourced<Rate>& rate, int count = 1) {
  return fmt::format("{}{:.5g} GB/s {}", count == 1 ? "" : fmt::format("{} x ", count),
                     rate.value.bytes_per_second() / 1e9 / count, to_string(rate.source.quality));
}

/// A line for each part of the node, in the order of the file.
inline std::string summary(const SketchedPlatform& sketch) {
  const Platform& platform = sketch.platform;
  const Node& node = platform.node;
  std::string text = platform.description + "\n";
  const auto add = [&](const std::string& name, const std::string& what) {
    text += name + (what.empty() ? "" : ": " + what) + "\n";
  };
  const auto passing = [](const Passing& what) {
    return fmt::format("{}{}", to_string(what.forwards),
                       what.peer_read && what.peer_write && what.peer_read == what.peer_write
                           ? ", peers " + told(*what.peer_read)
                           : "");
  };
  for (const GpuType& type : platform.gpu_types) {
    add(type.name, fmt::format("{} {}.{}, {} {}", type.model, type.capability_major, type.capability_minor,
                               format_bytes(type.memory.value), to_string(type.memory.source.quality)));
  }
  for (const HostMemory& memory : node.memories) add(memory.name, passing(memory.passing));
  for (const Hub& hub : node.hubs) add(hub.name, passing(hub.passing));
  for (const Nic& nic : node.nics) add(nic.name, nic.link ? told(*nic.link) : "");
  for (const Gpu& gpu : node.gpus) {
    add(gpu.name, fmt::format("{} at {}{}{}", gpu.type, gpu.memory_near, gpu.nic.empty() ? "" : ", ", gpu.nic));
  }
  for (const Link& link : node.links) {
    add(link.name, fmt::format("{} - {}, {}{}{}", link.from, link.to, told(link.forward, link.count),
                               link.latency ? ", " + format_seconds(link.latency->value) : "",
                               link.forward == link.backward ? "" : " and another rate back"));
  }
  for (const auto& [a, b] : node.peers.value_or(std::vector<std::pair<std::string, std::string>>{})) {
    add("peers", a + " " + b);
  }
  if (platform.fabric) add("fabric", told(platform.fabric->link) + (platform.fabric->rdma ? ", RDMA" : ""));
  return text;
}

/// The heading without the line that all have.
inline std::string heading(const SketchedPlatform& sketch) {
  std::string text;
  for (const std::string& line : sketch.heading) {
    if (!line.starts_with("Rates of links are nominal")) text += line + "\n";
  }
  return text;
}

}  // namespace twinlink::platforms::testing
