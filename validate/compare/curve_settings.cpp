#include "validate/compare/curve_settings.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/measure/driver.hpp"
#include "protocols/bench/results/json_members.hpp"
#include "protocols/registry.hpp"

namespace twinlink::validate {
namespace {

using Options = std::vector<std::string>;

void add(Options& options, std::string name, std::string value) {
  options.push_back(std::move(name));
  options.push_back(std::move(value));
}

void add_protocol_options(Options& options, const bench::Series& series) {
  for (const auto& [name, value] : series.settings.options) {
    add(options, "--option", fmt::format("{}={}", name, value));
  }
  for (const auto& [name, value] : named(series.facts)) {
    options.push_back(name == "buffers-in-turn" ? "--buffers" : "--" + name);
    if (name != "one-process") options.push_back(value);
  }
}

void add_pieces(Options& options, const Settings& settings) {
  if (settings.chunk) add(options, "--chunk", format_size(*settings.chunk));
  if (settings.depth) add(options, "--depth", std::to_string(*settings.depth));
}

[[noreturn]] void refuse(const std::string& file, const bench::Series& series, std::string_view what) {
  throw InputError(fmt::format("{}: error: the curve '{}' {}, so no run can be the same", file, series.label, what));
}

/// The curve's own pair first, with the settings that the other options say.
std::string pairs_at_once(const bench::Series& series) {
  std::string text = fmt::format("{}-{}", series.from, series.to);
  for (const bench::OtherPair& pair : series.beside) text += "," + pair.where_and_what();
  return text;
}

/// The sizes of a sweep ascend by one factor.
void add_sizes(Options& options, const bench::Series& series, const std::string& file) {
  std::vector<Bytes> sizes;
  for (const bench::Point& point : series.points) sizes.push_back(point.size);
  if (sizes.empty() || sizes.front() == Bytes{}) refuse(file, series, "has no sizes of a sweep");
  const std::uint64_t factor = sizes.size() == 1 ? 2 : sizes[1].count() / sizes[0].count();
  constexpr std::uint64_t kLargestFactor = 1U << 20U;  // as run takes it
  if (factor < 2 || factor > kLargestFactor || sizes.front() > sizes.back() ||
      bench::size_sweep(sizes.front(), sizes.back(), static_cast<int>(factor)) != sizes) {
    refuse(file, series, "has no sizes of a sweep");
  }
  add(options, "--begin", format_size(sizes.front()));
  add(options, "--end", format_size(sizes.back()));
  add(options, "--factor", std::to_string(factor));
}

}  // namespace

std::vector<std::string> run_options(const bench::Series& series, const std::string& file) {
  if (!series.told.settings || !series.told.window || series.protocol.empty() || series.from.empty() ||
      series.to.empty()) {
    refuse(file, series, "does not tell all of its settings");
  }
  if (series.pattern == bench::Pattern::copy) refuse(file, series, "is of copies and not of a protocol");
  Options options;
  add(options, "--protocol", series.protocol);
  add_protocol_options(options, series);
  add_pieces(options, series.settings);
  add(options, "--pattern", std::string(to_string(series.pattern)));
  if (series.pattern != bench::Pattern::pingpong) add(options, "--window", std::to_string(series.window));
  if (series.beside.empty()) {
    add(options, "--from", series.from);
    add(options, "--to", series.to);
  } else {
    add(options, "--pairs", pairs_at_once(series));
  }
  add_sizes(options, series, file);
  return options;
}

void require_simulated_on(const platforms::Platform& platform, const bench::Result& result, const std::string& file) {
  if (result.world != "simulated") throw InputError(file + ": error: this result is not simulated");
  bench::Members environment(result.environment, file, "environment");
  const std::string name = environment.text("platform");
  // The folder may be another one, and be written in another way.
  const std::string own_file = std::filesystem::path(environment.text("platform_file")).filename().string();
  const std::string their_file = std::filesystem::path(platform.file).filename().string();
  if (name != platform.name || own_file != their_file) {
    throw InputError(fmt::format("{}: error: simulated on platform '{}' of {}, and not on '{}' of {}", file, name,
                                 own_file, platform.name, their_file));
  }
  if (!environment.text_list("overrides").empty() || environment.text("intra_node") != "shared-memory" ||
      environment.has("smp_copy_size_bytes") || environment.has("degraded") || environment.has("failed")) {
    throw InputError(
        fmt::format("{}: error: simulated with other values or ways within the node than {} has", file, their_file));
  }
}

std::string settings_label(const bench::Series& series) {
  if (series.protocol.empty() || !series.told.settings) return series.label;
  Options options;
  if (!series.preset.empty()) {
    add(options, "--preset", series.preset);
  } else {
    add_protocol_options(options, series);
    const auto protocols = all_protocols();
    const auto found = std::ranges::find(protocols, series.protocol, [](const Protocol* p) { return p->name(); });
    // A protocol that this program does not know has no defaults here.
    const Settings defaults = found == protocols.end() ? Settings{} : (*found)->defaults();
    Settings other = series.settings;
    if (other.chunk == defaults.chunk) other.chunk.reset();
    if (other.depth == defaults.depth) other.depth.reset();
    add_pieces(options, other);
  }
  std::string label = series.protocol;
  for (const std::string& option : options) label += " " + option;
  if (!series.beside.empty()) label += " --pairs " + pairs_at_once(series);
  return label;
}

}  // namespace twinlink::validate
