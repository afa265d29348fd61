#include "validate/calibrate/calibration_groups.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "platforms/machine/platform_numbers.hpp"
#include "protocols/bench/results/statistics.hpp"

namespace twinlink::validate {
namespace {

using platforms::CopyKind;

/// Copies that are started, and follow each other, alike: the same engine makes them. No probe tells the first of a
/// pair apart.
struct Alike {
  CopyKind copy{};
  CopyKind probed{};
};
constexpr std::array kAlike{Alike{CopyKind::device_to_device, CopyKind::peer},
                            Alike{CopyKind::peer_read, CopyKind::peer},
                            Alike{CopyKind::kernel_pull, CopyKind::kernel_push},
                            Alike{CopyKind::kernel_local, CopyKind::kernel_push},
                            Alike{CopyKind::kernel_to_pinned, CopyKind::kernel_push},
                            Alike{CopyKind::kernel_from_pinned, CopyKind::kernel_push}};

std::string percent(double fraction) { return fmt::format("{:.1f} %", fraction * 100); }

}  // namespace

Seconds Group::shortest() const { return std::ranges::min(lines, {}, &GroupedProbe::time).time(); }

const Group* find_group(const std::vector<Group>& groups, std::string_view path) {
  const auto found = std::ranges::find(groups, path, &Group::path);
  return found == groups.end() ? nullptr : &*found;
}

std::vector<std::string> check_machine(const ProbeSet& probes, const platforms::Platform& base, bool force) {
  std::set<std::string> findings;
  const platforms::Topology topology(base);
  const std::vector<Place> places = topology.places();
  for (const ProbeOrigin& origin : probes.files) {
    if (!origin.platform.empty() && origin.platform != base.name) {
      findings.insert(fmt::format("{}: error: probes of platform '{}', but the base is '{}'", origin.file,
                                  origin.platform, base.name));
    }
    for (const auto& [name, model] : origin.devices) {
      const Place place = parse_place(name);
      if (std::ranges::find(places, place) == places.end()) continue;
      const std::string& known = topology.type_of(topology.gpu_of(place)).model;
      if (known == model) continue;
      findings.insert(fmt::format("{}: error: probes of a '{}', but GPU {} of the base is a '{}'", origin.file, model,
                                  place.gpu, known));
    }
  }
  if (!findings.empty() && !force) throw InputError(fmt::format("{}", fmt::join(findings, "\n")));
  std::vector<std::string> notes;
  for (const std::string& finding : findings) notes.push_back("--force: " + finding);
  return notes;
}

Observation observation_of(const GroupedProbe& grouped) {
  // The 5th and 95th percentile of a normal distribution are this many standard deviations apart.
  constexpr double kDeviations = 3.29;
  const bench::Statistics& time_us = grouped.probe->line.time_us;
  return {.size = grouped.size(),
          .time = grouped.time(),
          .spread = (time_us.p95 - time_us.p5) / kDeviations / time_us.median};
}

std::vector<Observation> observations_of(const Group& group) {
  std::vector<Observation> observations;
  for (const GroupedProbe& grouped : group.lines) observations.push_back(observation_of(grouped));
  return observations;
}

std::optional<std::string> path_alike(std::string_view path) {
  const std::string_view kind = path.substr(path.rfind('.') + 1);
  const auto* const found = std::ranges::find(kAlike, kind, [](const Alike& pair) { return to_string(pair.copy); });
  if (found == kAlike.end() || path.find(".copies.") == std::string_view::npos) return std::nullopt;
  return std::string(path.substr(0, path.size() - kind.size())) + std::string(to_string(found->probed));
}

std::vector<std::string> copy_paths(const platforms::Platform& platform) {
  std::vector<std::string> paths;
  const auto add = [&](const std::string& owner, const platforms::CopyCosts& copies) {
    for (const auto& [kind, cost] : copies) paths.push_back(fmt::format("{}.copies.{}", owner, to_string(kind)));
  };
  for (const platforms::GpuType& type : platform.gpu_types) add("gpu_types." + type.name, type.copies);
  add("driver", platform.copies);
  return paths;
}

std::string source_name(std::string_view path) {
  if (const std::size_t copies = path.find("copies."); copies != std::string_view::npos) path.remove_prefix(copies);
  for (const std::string_view prefix : {"driver.", "mpi.", "copies.", "runtime."}) {
    if (path.starts_with(prefix)) path.remove_prefix(prefix.size());
  }
  std::string name(kSourcePrefix);
  for (const char c : path) name += c == '.' || c == '_' ? '-' : c;
  return name;
}

std::string source_text(const Group& group, const ProbeSet& probes, const ErrorSummary& errors) {
  std::vector<std::string> names;
  std::set<std::size_t> files;
  std::vector<double> below;
  std::vector<double> above;
  Bytes least = group.lines.front().size();
  Bytes most = least;
  for (const GroupedProbe& grouped : group.lines) {
    const bench::ProbeLine& line = grouped.probe->line;
    if (std::ranges::find(names, line.name) == names.end()) names.push_back(line.name);
    files.insert(grouped.probe->file);
    if (line.time_us.n > 0) {  // other tools tell a single figure
      below.push_back(line.time_us.p5 / line.time_us.median - 1);
      above.push_back(line.time_us.p95 / line.time_us.median - 1);
    }
    least = std::min(least, line.size);
    most = std::max(most, line.size);
  }
  constexpr std::size_t kMostNames = 3;
  if (names.size() > kMostNames) {
    names[1] = fmt::format("and {} more of the kind", names.size() - 1);
    names.resize(2);
  }
  std::set<std::string> origins;
  for (const std::size_t file : files) origins.insert(describe(probes.files[file]));
  const std::string sizes =
      least == most ? platforms::format_bytes(least)
                    : fmt::format("{} to {}", platforms::format_bytes(least), platforms::format_bytes(most));
  const std::string spread = below.empty()
                                 ? "spread of the rounds not told"
                                 : fmt::format("spread of the rounds {:+.1f} % to {:+.1f} % (p5, p95)",
                                               bench::upper_median(below) * 100, bench::upper_median(above) * 100);
  return fmt::format("{}: {}; {}, {} median{}; {}; fit within {} (geometric mean), {} (worst)",
                     fmt::join(origins, " and "), fmt::join(names, ", "), sizes, group.lines.size(),
                     group.lines.size() == 1 ? "" : "s", spread, percent(errors.geometric_mean), percent(errors.max));
}

std::string describe(const ProbeOrigin& origin) {
  return fmt::format("{}{}{}{}", origin.date.empty() ? "" : origin.date + ", ", origin.program,
                     origin.machine.empty() ? "" : " on ", origin.machine);
}

}  // namespace twinlink::validate
