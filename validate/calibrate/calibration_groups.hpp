// The lines of probes, sorted by the number of the platform that stands for them. All lines of copies from device to
// page-locked memory are one group, "gpu_types.m2090.copies.device-to-pinned", whatever their sizes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "validate/calibrate/platform_edit.hpp"
#include "validate/calibrate/probe_set.hpp"
#include "validate/compare/error_metrics.hpp"
#include "validate/primitives/cost_fit.hpp"
#include "validate/primitives/primitive.hpp"

namespace twinlink::validate {

/// A line that a number of the platform stands for.
struct GroupedProbe {
  const Probe* probe = nullptr;  ///< owned by the probe set
  Primitive primitive{};

  [[nodiscard]] Bytes size() const { return probe->line.size; }
  [[nodiscard]] Seconds time() const { return Seconds{probe->line.time_us.median * 1e-6}; }
};

/// All lines that the simulation would charge with the same numbers; not empty.
struct Group {
  std::string path{};
  std::vector<GroupedProbe> lines{};

  [[nodiscard]] const Primitive& first() const { return lines.front().primitive; }
  [[nodiscard]] Seconds shortest() const;
};

/// From here on the bytes of a message are all that counts.
inline constexpr Bytes kBytesDecide = 256_KiB;

/// The group of this path; null if there is none.
const Group* find_group(const std::vector<Group>& groups, std::string_view path);

Observation observation_of(const GroupedProbe& grouped);
std::vector<Observation> observations_of(const Group& group);

/// An InputError unless the probes were made on the machine that `base` describes: on a platform of its name, by GPUs
/// of its models. With `force`, notes instead.
std::vector<std::string> check_machine(const ProbeSet& probes, const platforms::Platform& base, bool force);

/// Where a platform keeps its copies: "driver.copies.host-to-host", "gpu_types.m2090.copies.peer".
std::vector<std::string> copy_paths(const platforms::Platform& platform);
/// Where it keeps those that the same engine starts and makes follow each other as the copies at `path`, and that have
/// probes of it where those at `path` have none. Nothing: there are none.
std::optional<std::string> path_alike(std::string_view path);

/// The name of a fit among the sources: "driver.copies.peer" -> "fit-peer".
std::string source_name(std::string_view path);
/// Its text: the probes, their spread, and how far the finished platform is from them.
std::string source_text(const Group& group, const ProbeSet& probes, const ErrorSummary& errors);
/// Sets what was fitted to a group, which is all that its source says until source_text() is known.
template <class Value>
void set_fit(PlatformEdit& edit, const std::string& path, const Value& value, const Group& group,
             const ProbeSet& probes) {
  edit.set(path, value, probes.simulated ? platforms::Quality::derived : platforms::Quality::measured,
           source_name(group.path));
  edit.set_source(source_name(group.path), "a fit of probes");  // a reader wants one
}
/// "2026-11-21, twinlink-real 0.1.0 on 2 x NVIDIA H200"
std::string describe(const ProbeOrigin& origin);

}  // namespace twinlink::validate
