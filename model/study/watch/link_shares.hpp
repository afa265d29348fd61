// Which links flows have crossed, and which of them held them up.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "model/engine/flows/machine.hpp"

namespace twinlink::model {

/// One direction of a link, or what a part lets devices have, in some time.
struct LinkShare {
  std::string name{};      ///< as LinkUse has it
  double bytes = 0;        ///< that have begun to cross it
  double utilisation = 0;  ///< these over what it could have carried meanwhile
  Seconds bottleneck{};    ///< so long it held up at least one flow
};

/// What held up each flow, by its number: of its links the one that was busiest while it flowed. A flow that has
/// reached the rate of its own engine, and one whose links were all idle half of the time, are held up by none.
using Bottlenecks = std::unordered_map<std::uint64_t, const SharedLink*>;
Bottlenecks bottlenecks_of(const std::vector<FlowRecord>& flows);

/// All links of `use` that anything has crossed between `began` and `ended`, the busiest first, and of those alike
/// the one that held somebody up longest. `before`: what had crossed them at `began`.
/// `held_by`: bottlenecks_of() the flows.
std::vector<LinkShare> link_shares(const std::vector<LinkUse>& before, const std::vector<LinkUse>& use,
                                   const std::vector<FlowRecord>& flows, const Bottlenecks& held_by, Seconds began,
                                   Seconds ended);

/// Links that are alike in all nodes, or at all switches of a level.
struct LinkLevel {
  std::string name{};  ///< with stars for numbers: "leaf * up *", "gpu*-switch forward"
  std::size_t links = 0;
  double bytes = 0;        ///< of all together
  double utilisation = 0;  ///< of all together, as far as they were crossed
  double busiest = 0;      ///< of the busiest one
  Seconds bottleneck{};    ///< of the one that held somebody up longest
};
/// The levels of links, the one with the busiest link first.
std::vector<LinkLevel> levels_of(const std::vector<LinkShare>& links);

}  // namespace twinlink::model
