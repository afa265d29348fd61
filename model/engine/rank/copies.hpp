// What a simulated copy or put may reach, and what it costs. SimRank calls these when it starts one; the numbers are
// those of Topology::copy_cost(), over the speed of the rank's CPU.
#pragma once

#include "model/engine/rank/operation.hpp"
#include "model/engine/rank/sim_world.hpp"

namespace twinlink::model {

[[nodiscard]] inline End end_of(const Part& part, Engine engine, std::size_t own) {
  return seen_by(engine, own, part.end(), part.opening != nullptr);
}
/// A UsageError for device memory that the adapter should know and does not.
void require_registered(const Part& part);
/// A UsageError for a copy by a kernel that does not reach both its ends.
void require_reach(const Topology& topology, const Operation& copy);
/// Fills in what the platform says about a copy by the engine or a kernel; the part of its blocks comes on top. A
/// UsageError where it cannot be.
void take_copy_cost(SimWorld& world, Operation& operation);
/// From the end of a put that does not bring its signal until that is seen. An InputError where the platform does not
/// say it.
[[nodiscard]] Seconds until_signal(const SimWorld& world);
/// The library copies what has come for the GPU of `rank` into its own buffer, which is page-locked, and waits for
/// that.
[[nodiscard]] Seconds time_to_fetch(SimWorld& world, RankId rank, Bytes size);

}  // namespace twinlink::model
