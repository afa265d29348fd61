#include "protocols/bench/results/osu_form.hpp"

#include <algorithm>
#include <ostream>
#include <regex>
#include <span>

#include <fmt/format.h>

#include "protocols/registry.hpp"

namespace twinlink::bench {
namespace {

constexpr int kSizeWidth = 10;
constexpr int kValueWidth = 18;

/// Messages in device memory make it the benchmark's CUDA variant.
std::string_view accelerator(const Result& result) {
  const Series& series = result.series;
  const std::string world = heading_world(result.world, result.environment);
  if (world == "emulated" || world == "paced") return "";
  return message_memory_of(series.protocol) == Memory::device ? "-CUDA" : "";
}

std::string signature(const Result& result) {
  const Series& series = result.series;
  return fmt::format("# {}: {} {}, {} to {}, window {}, medians in the form of the OSU micro-benchmarks",
                     result.program, heading_world(result.world, result.environment), series.protocol, series.from,
                     series.to, series.window);
}

}  // namespace

std::optional<Memory> message_memory_of(std::string_view protocol) {
  const auto protocols = all_protocols();
  const auto known = std::ranges::find(protocols, protocol, [](const Protocol* each) { return each->name(); });
  return known == protocols.end() ? std::nullopt : std::optional((*known)->message_memory());
}

std::string_view osu_test(Pattern pattern) {
  switch (pattern) {
    case Pattern::bandwidth:
      return "Bandwidth";
    case Pattern::bidirectional:
      return "Bi-Directional Bandwidth";
    default:
      return "Latency";
  }
}

void print_osu(const Result& result, std::ostream& out, std::size_t printed) {
  const Series& series = result.series;
  const bool latency = osu_test(series.pattern) == osu_test(Pattern::pingpong);
  if (printed == 0) {
    out << fmt::format("{}\n\n# OSU MPI{} {} Test v{}\n# Datatype: MPI_CHAR.\n", signature(result), accelerator(result),
                       osu_test(series.pattern), kOsuRelease);
    out << fmt::format("{:<{}}{:>{}}\n", "# Size", kSizeWidth, latency ? "Avg Latency(us)" : "Bandwidth (MB/s)",
                       kValueWidth);
  }
  for (const Point& point : std::span(series.points).subspan(printed)) {
    out << fmt::format("{:<{}}{:>{}.2f}\n", point.size.count(), kSizeWidth,
                       latency ? point.time_us.median : point.bandwidth_MBps, kValueWidth);
  }
}

std::optional<OsuSignature> read_osu_signature(const std::string& line) {
  static const std::regex form(
      R"(# (twinlink-\S+ \S+): (simulated|measured|emulated|paced) (.+), (\S+) to (.+), window (\d{1,4}), medians in the form of .*)");
  std::smatch parts;
  if (!std::regex_match(line, parts, form)) return std::nullopt;
  return OsuSignature{.program = parts[1],
                      .world = parts[2],
                      .protocol = parts[3],
                      .from = parts[4],
                      .to = parts[5],
                      .window = std::stoi(parts[6])};
}

}  // namespace twinlink::bench
