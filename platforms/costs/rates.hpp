// What the bytes of one copy or message get on an idle machine, beside their own rates: nothing where nothing on their
// way limits them. And how long messages between nodes are under way.
#pragma once

#include <optional>
#include <span>

#include "platforms/costs/copy_costs.hpp"

namespace twinlink::model {

/// A copy between locations that are not interleaved, which costs `copy`: the least of links, DRAM, what hubs and
/// memories let peers have, and what copies to and from host memory get there.
std::optional<Rate> narrowest(const Topology& topology, const End& from, const End& to, const CopyCost& copy);
/// A message from one CPU to another of a node.
std::optional<Rate> narrowest(const Topology& topology, Location from, Location to);
/// A message between nodes, in equal parts over `adapters`: the slowest part is the last.
std::optional<Rate> narrowest(const Topology& topology, Location from, std::span<const Adapters> adapters, Location to);

/// Latency of the way of such a message, the switches of the fabric and an adapter's reaching into device memory
/// included: of the part that comes last.
Seconds latency(const Topology& topology, int from_node, Location from, std::span<const Adapters> adapters, int to_node,
                Location to);

}  // namespace twinlink::model
