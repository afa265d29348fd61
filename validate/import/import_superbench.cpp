// SuperBench's results-summary.jsonl: a line of JSON for each node, and in it a number for each figure, which is called
// BENCHMARK[:NAME]/FIGURE[:RANK]: "gpu-copy-bw:perf/cpu_to_gpu0_by_dma_under_numa0_bw", in GB/s of 10^9 bytes,
// "nccl-bw:nvlink/allreduce_8388608_time:0", in microseconds, and "..._algbw:0" and "..._busbw:0" beside it.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/results/json_statistics.hpp"
#include "validate/import/import_parts.hpp"
#include "validate/import/nccl_runs.hpp"

namespace twinlink::validate {
namespace {

/// Of gpu-copy-bw, unless its --size says another.
constexpr Bytes kSizeOfCopies = 64_MiB;

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kOperations{
    {{"allreduce", "all_reduce_perf"},
     {"allgather", "all_gather_perf"},
     {"broadcast", "broadcast_perf"},
     {"reduce", "reduce_perf"},
     {"reducescatter", "reduce_scatter_perf"},
     {"alltoall", "alltoall_perf"}}};

/// Takes `text`, or a number, from the front.
bool take(std::string_view& rest, std::string_view text) {
  if (!rest.starts_with(text)) return false;
  rest.remove_prefix(text.size());
  return true;
}
template <class Number>
bool take_number(std::string_view& rest, Number& value) {
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc{}) return false;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return true;
}

/// A copy of gpu-copy-bw (SuperBench's gpu_copy.cu): nvbandwidth's name of the same, and who copies.
struct Copy {
  std::string test{};
  std::size_t gpu = 0;
  std::optional<std::size_t> peer{};
  std::optional<int> domain{};  ///< of the host's memory
};

std::optional<Copy> copy_named(std::string_view figure) {
  Copy copy;
  std::size_t peer = 0;
  int domain = 0;
  if (take(figure, "cpu_to_gpu")) {
    copy.test = "host_to_device_memcpy";
    if (!take_number(figure, copy.gpu)) return std::nullopt;
  } else if (take(figure, "gpu") && take_number(figure, copy.gpu) && take(figure, "_to_cpu")) {
    copy.test = "device_to_host_memcpy";
  } else if (take(figure, "_to_gpu") && take_number(figure, peer) && peer != copy.gpu) {
    // From the first to the second, and whoever reads copies itself.
    copy.peer = peer;
    if (take(figure, "_read")) {
      copy.test = "device_to_device_memcpy_read";
      std::swap(copy.gpu, *copy.peer);
    } else if (take(figure, "_write")) {
      copy.test = "device_to_device_memcpy_write";
    }
  }
  if (copy.test.empty()) return std::nullopt;
  if (!take(figure, "_by_sm")) {
    if (!take(figure, "_by_dma")) return std::nullopt;
    copy.test += "_ce";
  } else {
    copy.test += "_sm";
  }
  if (!copy.peer && take(figure, "_under_numa") && take_number(figure, domain)) copy.domain = domain;
  constexpr std::size_t kMost = std::size_t{1} << 20U;  // far above what a table is made of
  if (copy.gpu > kMost || copy.peer.value_or(0) > kMost) return std::nullopt;
  return figure == "_bw" && copy.peer.has_value() != copy.domain.has_value() ? std::optional(copy) : std::nullopt;
}

/// Figures of a node: its copies, or one collective.
struct NodeTable {
  std::string name{};
  nlohmann::json facts = nlohmann::json::object();
  std::vector<std::pair<Copy, double>> copies{};
  std::string operation{};                  ///< of nccl-tests
  std::map<std::uint64_t, NcclRow> rows{};  ///< by size
};

class SuperbenchImport {
 public:
  SuperbenchImport(const std::string& text, const std::string& file, const ImportWishes& wishes)
      : file_(file), wishes_(wishes) {
    std::size_t number = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string line = text.substr(at, end - at);
      at = end + 1;
      ++number;
      if (line.find_first_not_of(" \r\t") == std::string::npos) continue;
      const nlohmann::json record = nlohmann::json::parse(line, nullptr, false);
      if (!record.is_object()) throw InputError(fmt::format("{}:{}: error: is no object of JSON", file_, number));
      read(record, number);
    }
  }

  Imported take() {
    std::vector<std::string> names;
    for (const auto& [key, table] : tables_) {
      names.push_back(table.operation.empty() ? fmt::format("{}, {} copies", table.name, table.copies.size())
                                              : fmt::format("{}, {} size{}", table.name, table.rows.size(),
                                                            table.rows.size() == 1 ? "" : "s"));
    }
    if (names.empty()) {
      throw InputError(
          fmt::format("{}: error: holds nothing that can be imported: neither gpu-copy-bw nor nccl-bw", file_));
    }
    const NodeTable& table = std::next(tables_.begin(), std::ptrdiff_t(choose_table(names, wishes_, file_)))->second;
    if (!table.operation.empty()) return collective(table);
    if (wishes_.ranks || wishes_.window || wishes_.pattern || !wishes_.protocol.empty() || !wishes_.from.empty()) {
      throw UsageError(fmt::format("{} holds primitives: it has no protocol, pattern, window, ranks or places", file_));
    }
    return copies(table);
  }

 private:
  void read(const nlohmann::json& record, std::size_t line) {
    const std::string node = record.contains("node") && record["node"].is_string() ? record["node"].get<std::string>()
                                                                                   : fmt::format("line {}", line);
    for (const auto& [name, value] : record.items()) {
      const std::size_t slash = name.find('/');
      if (slash == std::string::npos || !value.is_number()) continue;
      std::string_view figure = std::string_view(name).substr(slash + 1);
      // Behind a colon the rank that tells it: the first one's counts.
      const std::size_t colon = figure.rfind(':');
      if (colon != std::string_view::npos && figure.substr(colon) != ":0") continue;
      figure = figure.substr(0, colon);
      const std::string benchmark = name.substr(0, slash);
      const double number = value.get<double>();
      const bool copies = benchmark == "gpu-copy-bw" || benchmark.starts_with("gpu-copy-bw:");
      const bool collectives = benchmark == "nccl-bw" || benchmark.starts_with("nccl-bw:") || benchmark == "rccl-bw" ||
                               benchmark.starts_with("rccl-bw:");
      if (copies) read_copy(node, benchmark, figure, number);
      if (collectives) read_collective(node, benchmark, figure, number, name);
      if (!copies && !collectives) left_out_.insert(benchmark.substr(0, benchmark.find(':')));
    }
  }

  NodeTable& table_of(const std::string& node, const std::string& benchmark, const std::string& what) {
    NodeTable& table = tables_[{node, benchmark, what}];
    table.name = fmt::format("{} of {}{}{}", benchmark, node, what.empty() ? "" : ": ", what);
    return table;
  }

  void read_copy(const std::string& node, const std::string& benchmark, std::string_view figure, double rate) {
    const auto copy = copy_named(figure);
    if (!copy) return static_cast<void>(left_out_.insert(fmt::format("{}/{}", benchmark, figure)));
    table_of(node, benchmark, "").copies.emplace_back(*copy, rate);
  }

  void read_collective(const std::string& node, const std::string& benchmark, std::string_view figure, double value,
                       const std::string& name) {
    const auto operation = std::ranges::find_if(kOperations, [&](const auto& each) {
      return figure.starts_with(each.first) && figure.substr(each.first.size()).starts_with('_');
    });
    std::uint64_t size = 0;
    if (operation != kOperations.end()) figure.remove_prefix(operation->first.size() + 1);
    if (operation == kOperations.end() || !take_number(figure, size) || size == 0) {
      return static_cast<void>(left_out_.insert(name));
    }
    NodeTable& table = table_of(node, benchmark, std::string(operation->first));
    table.operation = operation->second;
    NcclRow& row = table.rows[size];
    row.size = Bytes{size};
    row.where = fmt::format("'{}'", name);
    if (figure == "_time") row.time_us = value;
    if (figure == "_algbw") row.algbw_GBps = value;
    if (figure == "_busbw") row.busbw_GBps = value;
  }

  // ---- what becomes of it -----------------------------------------------------------------------------------------

  [[nodiscard]] std::vector<std::string> notes() const {
    if (left_out_.empty()) return {};
    return {fmt::format("left out, for no probe or workload measures it: {}", fmt::join(left_out_, ", "))};
  }

  Imported copies(const NodeTable& table) {
    std::size_t gpus = 0;
    std::map<std::pair<std::string, std::size_t>, std::set<int>> domains;
    for (const auto& [copy, rate] : table.copies) {
      gpus = std::max({gpus, copy.gpu + 1, copy.peer.value_or(0) + 1});
      if (copy.domain) domains[{copy.test, copy.gpu}].insert(*copy.domain);
    }
    constexpr std::size_t kMostGpus = 1024;
    if (gpus > kMostGpus) throw InputError(fmt::format("{}: error: names GPU {}", file_, gpus - 1));
    std::map<std::string, nlohmann::json> matrices;
    for (const auto& [copy, rate] : table.copies) {
      nlohmann::json& matrix = matrices[copy.test];
      if (matrix.is_null()) matrix = nlohmann::json(copy.peer ? gpus : 1, nlohmann::json(gpus, nlohmann::json("N/A")));
      nlohmann::json& cell = copy.peer ? matrix[copy.gpu][*copy.peer] : matrix[0][copy.gpu];
      // Of several domains the nearest is the fastest.
      if (cell == "N/A" || rate > cell.get<double>()) cell = rate;
    }
    nlohmann::json tests = nlohmann::json::array();
    for (const auto& [name, matrix] : matrices) {
      tests.push_back({{"name", name}, {"status", "Passed"}, {"bandwidth_matrix", matrix}});
    }
    auto origin = make_origin(Tool::superbench, table.name, file_);
    origin["figure"] = "rate of copies that follow each other, without their launch";
    origin["bytes"] = wishes_.size ? "told by the user" : "gpu-copy-bw's default";
    bench::ProbeFile probes{.world = "measured",
                            .program = table.name,
                            .environment = nlohmann::json{{bench::kOriginMember, std::move(origin)}},
                            .findings = read_copies(tests, file_, wishes_.size.value_or(kSizeOfCopies))};
    for (std::string& note : notes()) probes.findings.notes.push_back(std::move(note));
    if (std::ranges::any_of(domains, [](const auto& each) { return each.second.size() > 1; })) {
      probes.findings.notes.emplace_back(
          "copies with memory of several NUMA domains: the fastest of each GPU is taken to be the near one's");
    }
    if (!wishes_.size) {
      probes.findings.notes.push_back(fmt::format(
          "SuperBench does not tell how large its copies were: {}, unless its --size was given; --size says so",
          format_size(kSizeOfCopies)));
    }
    probes.findings.notes.emplace_back("rates of copies that follow each other: the times lack their launch");
    return probes;
  }

  /// How many there are tells what the bus carries of a byte, where both rates have digits enough. 0: they do not.
  static int ranks_told_by(const NodeTable& table, const NcclTest& test) {
    const NcclRow* best = nullptr;
    for (const auto& [size, row] : table.rows) {
      if (row.algbw_GBps > 0 && row.busbw_GBps > 0 && (best == nullptr || row.busbw_GBps > best->busbw_GBps))
        best = &row;
    }
    if (best == nullptr) return 0;
    const double factor = best->busbw_GBps / best->algbw_GBps;
    // Both are rounded to two decimals.
    const double unsure = factor * (0.005 / best->algbw_GBps + 0.005 / best->busbw_GBps) + 1e-9;
    constexpr int kMostRanks = 4096;
    int found = 0;
    for (int ranks = 2; ranks <= kMostRanks; ++ranks) {
      if (std::abs(test.bus_factor(ranks) - factor) > unsure) continue;
      if (found != 0) return 0;
      found = ranks;
    }
    return found;
  }

  Imported collective(const NodeTable& table) {
    const NcclTest* const test = nccl_test_named(table.operation);
    NcclRun run{.test = test, .notes = notes()};
    run.ranks = wishes_.ranks ? 0 : ranks_told_by(table, *test);
    const int ranks = wishes_.ranks.value_or(run.ranks);
    std::size_t without = 0;
    for (const auto& [size, told] : table.rows) {
      NcclRow row = told;
      const double rate = row.algbw_GBps > 0                ? row.algbw_GBps
                          : row.busbw_GBps > 0 && ranks > 0 ? row.busbw_GBps / test->bus_factor(ranks)
                                                            : 0;
      constexpr double kPerMicrosecond = 1e3;
      if (!(row.time_us > 0) && rate > 0) row.time_us = static_cast<double>(size) / (rate * kPerMicrosecond);
      if (row.time_us > 0) {
        run.rows.push_back(std::move(row));
      } else {
        ++without;
      }
    }
    if (without > 0) {
      run.notes.push_back(fmt::format("left out: {} sizes with neither a time nor a rate to make one of", without));
    }
    run.facts["superbench"] = table.name;
    ImportWishes wishes = wishes_;
    wishes.table.reset();
    wishes.size.reset();
    return import_runs({run}, file_, wishes);
  }

  const std::string& file_;
  const ImportWishes& wishes_;
  std::map<std::array<std::string, 3>, NodeTable> tables_{};
  std::set<std::string> left_out_{};
};

}  // namespace

bool is_superbench(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const std::string_view line =
      first == std::string_view::npos ? "" : text.substr(first, text.find('\n', first) - first);
  if (!line.starts_with('{') || line.find("\"node\"") == std::string_view::npos) return false;
  return std::ranges::any_of(
      std::array<std::string_view, 4>{"\"nccl-bw", "\"rccl-bw", "\"gpu-copy-bw", "\"ib-loopback"},
      [&](std::string_view name) { return line.find(name) != std::string_view::npos; });
}

Imported import_superbench(const std::string& text, const std::string& file, const ImportWishes& wishes) {
  if (!wishes.test.empty()) throw UsageError(fmt::format("--test: {} names its test", file));
  return SuperbenchImport(text, file, wishes).take();
}

}  // namespace twinlink::validate
