// What control messages take that go both ways, bench::kQueuedCopies each way: by themselves, as steps of a lane, and
// beside copies. All times are the share of one.
#pragma once

#include <optional>

#include "model/platform.hpp"
#include "protocols/units.hpp"
#include "validate/copy_times.hpp"

namespace twinlink::validate {

/// Each CPU tells all, and then hears all, each as a step of a protocol. The answer that ends a round lets the peer
/// begin the next one before the rank that it goes to, so that nobody waits, unless messages take longer than steps:
/// the last one there, and the answer. One of them is busy to answer meanwhile, and the other to hear it.
Seconds predict_steps(const model::NetworkCosts& network, Seconds step);
/// The step that predict_steps() makes `time` of.
Seconds step_of(const model::NetworkCosts& network, Seconds time);
/// Where there are no steps: what the CPU does to await a control message and take it in. Zero where the way of the
/// messages decides.
Seconds hearing_of(const model::NetworkCosts& network, Seconds time);

/// What predict_steps_beside() needs.
struct StepsBesideCopies {
  const model::NetworkCosts& network;
  CopyTimes copy;
  Seconds look{};
  Seconds step{};
  Seconds beside{};  ///< the same while the rank knows of copies under way
};

/// As predict_steps(), where each is told when a copy has ended. The CPU starts all copies, awaits all messages, and
/// then learns again and again of the copies that have ended meanwhile, looks in vain at the next one, and tells the
/// peer of each.
Seconds predict_steps_beside(const StepsBesideCopies& costs);
/// The `beside` that predict_steps_beside() makes `time` of; nothing where steps as short as ever take as long.
std::optional<Seconds> step_beside_of(StepsBesideCopies costs, Seconds time);

}  // namespace twinlink::validate
