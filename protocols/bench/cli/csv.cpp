#include "protocols/bench/cli/csv.hpp"

#include <fmt/format.h>

#include "protocols/bench/results/files.hpp"

namespace twinlink::bench {
namespace {

constexpr std::string_view kStatisticsColumns = "n,time_us,min_us,max_us,p5_us,p95_us,bandwidth_MBps";

// {} prints the shortest text that reads back as the same number.
std::string cells(const Statistics& time_us, double rate) {
  if (time_us.n == 0) return fmt::format(",{},,,,,{}", time_us.median, rate);
  return fmt::format("{},{},{},{},{},{},{}", time_us.n, time_us.median, time_us.min, time_us.max, time_us.p5,
                     time_us.p95, rate);
}

template <class T>
std::string cell_if(bool told, const T& value) {
  return told ? fmt::format("{}", value) : "";
}

/// "engine=kernel-push;order=user". How messages lie has columns of its own.
std::string options_cell(const Series& series) {
  RunFacts facts = series.facts;
  facts.packing = {};
  std::map<std::string, std::string> options = series.settings.options;
  options.merge(named(facts));
  std::string text;
  for (const auto& [name, value] : options) text += fmt::format("{}{}={}", text.empty() ? "" : ";", name, value);
  return csv_cell(text);
}

/// "0/2-0/3:staging:chunk=0:depth=2;0/4-0/5:...", for more pairs than two.
std::string beside_cell(const std::vector<OtherPair>& pairs) {
  std::string text;
  for (const OtherPair& pair : pairs) text += (text.empty() ? "" : ";") + pair.where_and_what();
  return csv_cell(text);
}

/// The columns that came later stand at the end, for readers that count columns.
constexpr std::string_view kContextColumns = "preset,options,layout,pack,clock,program,beside,cpu_us";

std::string context_cells(const Result& result) {
  const Series& series = result.series;
  const Packing& packing = series.facts.packing;
  const std::string layout = packing.needed() ? to_string(packing.layout) : "";
  const std::string_view pack = packing.needed() ? to_string(packing.method) : "";
  return fmt::format("{},{},{},{},{},{},{}", csv_cell(series.preset), options_cell(series), csv_cell(layout), pack,
                     csv_cell(series.clock), csv_cell(result.program), beside_cell(series.beside));
}

}  // namespace

std::string csv_cell(std::string_view text) {
  // A spreadsheet would run it.
  constexpr std::string_view kFormulas = "=+-@\t\r";
  if (!text.empty() && kFormulas.find(text.front()) != std::string_view::npos) {
    return csv_cell("'" + std::string(text));
  }
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

std::string to_csv(const Result& result) {
  const Series& series = result.series;
  const Told& told = series.told;
  const Settings& settings = series.settings;
  const std::string curve =
      fmt::format("{},{},{},{},{},{},{},{},{},{}", csv_cell(heading_world(result.world, result.environment)),
                  csv_cell(series.label), csv_cell(series.protocol), to_string(series.pattern), csv_cell(series.from),
                  csv_cell(series.to), cell_if(told.settings && settings.chunk, settings.chunk_or_whole().count()),
                  cell_if(told.settings && settings.depth, settings.depth_or_one()),
                  cell_if(told.window, series.window), cell_if(told.cold_us, series.cold_us));
  const std::string context = context_cells(result);
  std::string csv =
      fmt::format("world,label,protocol,pattern,from,to,chunk_bytes,depth,window,cold_us,bytes,{},path,verified,{}\n",
                  kStatisticsColumns, kContextColumns);
  for (const Point& point : series.points) {
    csv += fmt::format("{},{},{},{},{},{},{}\n", curve, point.size.count(), cells(point.time_us, point.bandwidth_MBps),
                       csv_cell(point.path), point.verified, context,
                       cell_if(point.cpu_us.has_value(), point.cpu_us.value_or(0)));
  }
  return csv;
}

void write_csv(const Result& result, const std::filesystem::path& file) { write_file(file, to_csv(result)); }

std::string to_csv(std::span<const Result> results) {
  std::string csv;
  for (const Result& result : results) {
    const std::string rows = to_csv(result);
    csv += csv.empty() ? rows : rows.substr(rows.find('\n') + 1);
  }
  return csv;
}

std::string to_csv(const PairFile& file) { return to_csv(results_of(file)); }

std::string to_csv(const ProbeFile& probes) {
  std::string csv = fmt::format("world,name,gpu,peer,bytes,{}\n", kStatisticsColumns);
  const std::string world = heading_world(probes.world, probes.environment);
  for (const ProbeLine& line : probes.findings.lines) {
    csv += fmt::format("{},{},{},{},{},{}\n", csv_cell(world), csv_cell(line.name), csv_cell(line.gpu),
                       csv_cell(line.peer), line.size.count(), cells(line.time_us, line.bandwidth_MBps));
  }
  return csv;
}

void write_csv(const ProbeFile& probes, const std::filesystem::path& file) { write_file(file, to_csv(probes)); }

}  // namespace twinlink::bench
