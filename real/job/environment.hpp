// The environment block: what a measured result was measured on.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "protocols/bench/results/gpu_health.hpp"
#include "real/device/device_runtime.hpp"
#include "real/rank/neighbours.hpp"
#include "real/system/mpi.hpp"
#include "real/system/numa.hpp"

namespace twinlink::real {

/// With a replacement character for whatever is not UTF-8, as command lines and variables may hold: JSON has no other.
nlohmann::json as_utf8(const nlohmann::json& facts);
/// The versions, hosts, devices, CPU bindings and the peer matrix of the whole job, the same on all ranks. Collective.
nlohmann::json describe_environment(const Mpi& mpi, const DeviceRuntime& runtime, const Neighbours& neighbours,
                                    const Numa& numa, const std::string& command_line);

/// Adds to the ranks of `environment` how well the GPU of each is, at the `start` and now, where a rank knows the one;
/// and says on rank 0 what the user should know of it. Collective.
void note_health(const Mpi& mpi, const bench::GpuHealth& start, const std::string& bus_id, nlohmann::json& environment);

/// The model name of the CPU, from the text of /proc/cpuinfo; "unknown" if it gives none.
std::string cpu_model(const std::string& cpuinfo);
/// Seconds since 1970 as UTC in ISO 8601: "2025-01-31T12:00:00Z".
std::string iso_8601(std::int64_t seconds);

}  // namespace twinlink::real
