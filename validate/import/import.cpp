#include "validate/import/import.hpp"

#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/json_statistics.hpp"
#include "protocols/core/enum_table.hpp"
#include "validate/import/buffers.hpp"
#include "validate/import/import_parts.hpp"

namespace twinlink::validate {
namespace {

constexpr Words<Tool> kTools{"osu", "nvbandwidth", "nccl-tests", "superbench"};

const nlohmann::json& require_json(Tool tool, const Content& content, const std::string& file) {
  if (const auto* json = std::get_if<nlohmann::json>(&content)) return *json;
  throw InputError(fmt::format("{}: error: is no JSON, as {} writes it", file, to_string(tool)));
}

bool is_text(const Content& content) { return std::holds_alternative<std::string>(content); }

const std::string& require_text(Tool tool, const Content& content, const std::string& file) {
  if (const auto* text = std::get_if<std::string>(&content)) return *text;
  throw InputError(fmt::format("{}: error: is JSON; {} writes text", file, to_string(tool)));
}

/// One value that both the file and the user may tell.
void settle(std::string& told, const std::string& wish, std::string_view option, const std::string& file) {
  if (wish.empty() || told == wish) return;
  if (!told.empty()) throw UsageError(fmt::format("{} {}: {} says '{}'", option, wish, file, told));
  told = wish;
}

}  // namespace

std::string_view to_string(Tool tool) { return kTools[tool]; }

Tool find_tool(std::string_view name) { return value_named(kTools, name, "tool"); }

Content read_content(const std::filesystem::path& file) { return read_content(*bench::open_to_read(file), file); }

Content read_content(std::istream& stream, const std::filesystem::path& file) {
  // The mark that some editors put before UTF-8 is nobody's first word.
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  for (const char byte : kMark) {
    if (stream.peek() != static_cast<unsigned char>(byte)) break;
    stream.get();
  }
  std::string blanks;
  while (std::isspace(stream.peek()) != 0) blanks += static_cast<char>(stream.get());
  // Launchers begin their lines with '['. An empty file is broken JSON rather than text: result files are what is
  // mostly read.
  const int first = stream.peek();
  if (first == std::ifstream::traits_type::eof()) return bench::parse_json(stream, file);
  if (first == '{') {
    // Not by getline(), which keeps to itself what is wrong with a packed file.
    std::string text{std::istreambuf_iterator<char>(stream), {}};
    if (is_superbench(text)) return text;
    std::istringstream whole(std::move(text));
    return bench::parse_json(whole, file);
  }
  return blanks + bench::read_text(stream, file);
}

std::optional<Tool> recognise(const Content& content) {
  if (const auto* text = std::get_if<std::string>(&content)) {
    const auto has = [&](std::string_view words) { return text->find(words) != std::string::npos; };
    if (is_superbench(*text)) return Tool::superbench;
    if (has("OSU ") && has(" Test")) return Tool::osu;
    if (has("algbw") && has("busbw")) return Tool::nccl_tests;
    if (has("bandwidth (GB/s)") && (has("nvbandwidth") || has("Running "))) return Tool::nvbandwidth;
    return std::nullopt;
  }
  const auto& json = std::get<nlohmann::json>(content);
  if (!json.is_object()) return std::nullopt;
  if (json.contains("nvbandwidth")) return Tool::nvbandwidth;
  if (json.contains("start_time") && json.contains("args")) return Tool::nccl_tests;
  return std::nullopt;
}

Imported import_content(Tool tool, const Content& content, const std::string& file, const ImportWishes& wishes) {
  if (tool == Tool::superbench) return import_superbench(require_text(tool, content, file), file, wishes);
  const bool curve = tool != Tool::nvbandwidth;
  const bool nccl_text = tool == Tool::nccl_tests && is_text(content);
  if (!nccl_text && !wishes.test.empty()) throw UsageError(fmt::format("--test: {} names its test", file));
  if (curve && wishes.size) throw UsageError(fmt::format("--size: {} tells its sizes; nvbandwidth does not", file));
  if (!curve && wishes.table) throw UsageError(fmt::format("--table: all tests of {} are imported", file));
  if (!curve && wishes.ranks) throw UsageError(fmt::format("--ranks: {} holds no collective", file));
  if (!curve && (wishes.pattern || wishes.window || !wishes.protocol.empty() || !wishes.from.empty())) {
    throw UsageError(fmt::format("{} holds primitives: it has no protocol, pattern, window or places", file));
  }
  switch (tool) {
    case Tool::osu:
      return import_osu(require_text(tool, content, file), file, wishes);
    case Tool::nvbandwidth:
      return is_text(content)
                 ? import_nvbandwidth(read_nvbandwidth_text(require_text(tool, content, file), file), file, wishes)
                 : import_nvbandwidth(require_json(tool, content, file), file, wishes);
    case Tool::nccl_tests:
      if (nccl_text) return import_nccl_text(require_text(tool, content, file), file, wishes);
      return import_nccl_tests(require_json(tool, content, file), file, wishes);
    case Tool::superbench:
      break;
  }
  throw UsageError("unknown tool");
}

Imported import_file(const std::filesystem::path& file, std::optional<Tool> tool, const ImportWishes& wishes) {
  const Content content = read_content(file);
  if (!tool) tool = recognise(content);
  if (!tool) {
    throw InputError(fmt::format(
        "{}: error: is neither the text of an OSU micro-benchmark nor text or JSON of nvbandwidth or nccl-tests, nor "
        "results of SuperBench",
        file.string()));
  }
  return import_content(*tool, content, file.string(), wishes);
}

nlohmann::json make_origin(Tool tool, std::string_view program, const std::string& file) {
  return {{"tool", to_string(tool)},
          {"program", program},
          {"file", file},
          {"imported_by", "twinlink-validate " TWINLINK_VERSION}};
}

bench::Statistics single_figure(double time_us) { return {.median = time_us}; }

std::size_t choose_table(std::span<const std::string> tables, const ImportWishes& wishes, const std::string& file) {
  if (tables.size() == 1 && !wishes.table) return 0;
  std::string list;
  for (std::size_t i = 0; i < tables.size(); ++i) list += fmt::format("\n  {}: {}", i + 1, tables[i]);
  if (!wishes.table) {
    throw InputError(
        fmt::format("{}: error: holds {} tables, of which --table N imports one:{}", file, tables.size(), list));
  }
  if (*wishes.table < 1 || static_cast<std::size_t>(*wishes.table) > tables.size()) {
    throw UsageError(fmt::format("--table {}: {} holds {}:{}", *wishes.table, file, tables.size(), list));
  }
  return static_cast<std::size_t>(*wishes.table - 1);
}

double directions(bench::Pattern pattern) { return pattern == bench::Pattern::bidirectional ? 2 : 1; }

bench::Point point_of_time(Bytes size, bench::Statistics time_us, bench::Pattern pattern) {
  // Bytes per microsecond are MB/s.
  const double rate_MBps = directions(pattern) * static_cast<double>(size.count()) / time_us.median;
  return {.size = size, .time_us = time_us, .bandwidth_MBps = rate_MBps};
}

bench::Point point_of_rate(Bytes size, double megabytes_per_second, bench::Pattern pattern) {
  const double time_us = directions(pattern) * static_cast<double>(size.count()) / megabytes_per_second;
  return {.size = size, .time_us = single_figure(time_us), .bandwidth_MBps = megabytes_per_second};
}

bench::WorkloadPoint workload_point(Bytes size, bench::Statistics time_us, double bus_factor) {
  const double rate_MBps = static_cast<double>(size.count()) / time_us.median;
  return {.size = size,
          .algorithm = std::string(kUntoldAlgorithm),
          .time_us = time_us,
          .algorithm_MBps = rate_MBps,
          .bus_MBps = rate_MBps * bus_factor};
}

void require_workload_wishes(const ImportWishes& wishes, const std::string& file) {
  if (!wishes.window && wishes.from.empty() && !wishes.pattern) return;
  throw UsageError(fmt::format("{} holds a collective: it has no pattern, window or places", file));
}

void add_wishes(bench::Series& series, const ImportWishes& wishes, const std::string& file) {
  settle(series.protocol, wishes.protocol, "--protocol", file);
  settle(series.from, wishes.from, "--places", file);
  settle(series.to, wishes.to, "--places", file);
  if (!wishes.window) return;
  if (series.told.window && series.window != *wishes.window) {
    throw UsageError(fmt::format("--window {}: {} says {}", *wishes.window, file, series.window));
  }
  series.window = *wishes.window;
  series.told.window = true;
}

void check_protocol(bench::Result& result, const std::string& file) {
  BufferFinding found = check_buffers(result.environment, result.series.protocol);
  if (found.refused)
    throw UsageError(fmt::format("--protocol {}: {} was {}", result.series.protocol, file, found.text));
  if (!found.text.empty()) result.notes.push_back(std::move(found.text));
}

}  // namespace twinlink::validate
