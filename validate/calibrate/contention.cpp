#include "validate/calibrate/contention.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "protocols/bench/probe/probed.hpp"
#include "protocols/bench/results/statistics.hpp"
#include "validate/calibrate/calibration_groups.hpp"

namespace twinlink::validate {
namespace {

/// The line that tells one alone, for copies of several GPUs at once and messages both ways at once; nothing for
/// other lines, and for copies by an engine, whose links have limits of their own on a platform.
std::optional<std::string> alone_of(const std::string& name) {
  using bench::Probed;
  std::optional<Probed> probed = bench::probed_by(name);
  if (!probed || (probed->from != Memory::pageable && probed->to != Memory::pageable)) return std::nullopt;
  const bool copies = probed->what == Probed::What::copy && probed->gpus > 1;
  const bool messages = probed->what == Probed::What::message && probed->how == Probed::How::both_ways;
  if (!copies && !messages) return std::nullopt;
  probed->gpus = 1;
  probed->how = Probed::How::alone;
  return to_string(*probed);
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
