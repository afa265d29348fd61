#include "validate/calibrate/contention.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "protocols/bench/results/statistics.hpp"
#include "validate/calibrate/calibration_groups.hpp"

namespace twinlink::validate {
namespace {

/// Of "copy host-to-host of 4 GPUs" and "message pageable same-node both-ways" the line that tells one alone; nothing
/// for other lines, and for copies by an engine, whose links have limits of their own on a platform.
std::optional<std::string> alone_of(const std::string& name) {
  const bool by_cpu = name.starts_with("copy host-to-host") || name.find("pageable") != std::string::npos;
  for (const std::string_view crowd : {" of ", " both-ways"}) {
    const std::size_t end = name.find(crowd);
    if (by_cpu && end != std::string::npos) return name.substr(0, end);
  }
  return std::nullopt;
}

const Probe* find_alone(const ProbeSet& probes, const Probe& crowd, const std::string& name) {
  const auto found = std::ranges::find_if(probes.probes, [&](const Probe& probe) {
    const bench::ProbeLine& line = probe.line;
    return probe.file == crowd.file && line.name == name && line.gpu == crowd.line.gpu &&
           line.peer == crowd.line.peer && line.size == crowd.line.size;
  });
  return found == probes.probes.end() ? nullptr : &*found;
}

/// At the largest size of a line: what share of its own speed each keeps, one entry for each GPU and file.
struct Shares {
  Bytes size{};
  std::vector<double> kept{};
};

}  // namespace

std::vector<std::string> contention_notes(const ProbeSet& probes) {
  constexpr double kFree = 0.95;
  std::map<std::string, Shares> by_name;
  for (const Probe& probe : probes.probes) {
    const auto name = alone_of(probe.line.name);
    const Probe* const alone = name ? find_alone(probes, probe, *name) : nullptr;
    if (alone == nullptr) continue;
    Shares& shares = by_name[probe.line.name];
    if (probe.line.size > shares.size) shares = {.size = probe.line.size};
    if (probe.line.size == shares.size) shares.kept.push_back(alone->line.time_us.median / probe.line.time_us.median);
  }
  std::vector<std::string> notes;
  for (const auto& [name, shares] : by_name) {
    if (const double kept = bench::upper_median(shares.kept); kept < kFree) {
      notes.push_back(fmt::format("{}: at {} each gets {:.0f} % of what one gets alone; no number is fitted to it",
                                  name, format_size(shares.size), kept * 100));
    }
  }
  return notes;
}

}  // namespace twinlink::validate
