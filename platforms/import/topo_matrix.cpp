// nvidia-smi topo -m: a matrix of how each two devices are joined, and the NUMA domain of each GPU.
#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "platforms/import/assumed_costs.hpp"
#include "platforms/import/node_sketch.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::model {
namespace {

constexpr const char* kNvswitch = "nvswitch";
constexpr int kMostNvlinks = 18;  ///< of one GPU

/// A row of the matrix: a GPU or an adapter.
struct Row {
  std::string name{};
  int line = 0;
  std::vector<std::string> cells{};
  std::string cpus{};           ///< what the row says of CPUs; empty: nothing
  std::optional<int> domain{};  ///< and of its NUMA domain

  [[nodiscard]] bool is_gpu() const { return name.starts_with("GPU"); }
};

/// Sets that are joined step by step.
class Groups {
 public:
  explicit Groups(std::size_t size) : parents_(size) { std::iota(parents_.begin(), parents_.end(), 0U); }
  [[nodiscard]] std::size_t of(std::size_t member) const {
    while (parents_[member] != member) member = parents_[member];
    return member;
  }
  void join(std::size_t a, std::size_t b) { parents_[std::max(of(a), of(b))] = std::min(of(a), of(b)); }

 private:
  std::vector<std::size_t> parents_;
};

/// Without the colours and underlines of a terminal.
std::string plain(const std::string& line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      if (line[i] != '\r') text += line[i];
      continue;
    }
    while (i < line.size() && line[i] != 'm') ++i;
  }
  return text;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= 0 ? std::optional(value) : std::nullopt;
}

/// "NV12" joins by twelve NVLinks; 0: by none.
int nvlinks(std::string_view cell) {
  if (!cell.starts_with("NV")) return 0;
  return whole_number(cell.substr(2)).value_or(0);
}

class MatrixImport {
 public:
  MatrixImport(const std::string& text, const std::string& file) : file_(file), sketch_("nvidia-smi topo -m", file) {
    std::istringstream lines(text);
    int number = 0;
    for (std::string line; std::getline(lines, line);) read_line(plain(line), ++number);
    if (columns_.empty()) {
      throw InputError(file + ": error: this is neither the matrix of nvidia-smi topo -m nor XML of NCCL or hwloc");
    }
    check();
  }

  ImportedPlatform run(const std::string& name) {
    place_in_domains();
    for (Row& row : rows_) {
      parts_.push_back(row.is_gpu() ? sketch_.add_gpu({}, row.name)
                                    : sketch_.add_adapter(adapter_name(row.name), std::nullopt, row.name));
    }
    add_switches();
    add_nvlinks();
    return sketch_.finish(name);
  }

 private:
  [[noreturn]] void fail(int line, const std::string& message) const {
    throw InputError(fmt::format("{}:{}: error: {}", file_, line, message));
  }

  // ---- reading ----------------------------------------------------------------------------------------------------

  enum class Part { before, matrix, legend, nic_legend };

  void read_line(const std::string& line, int number) {
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) return;
    if (line.starts_with("NIC Legend")) {
      part_ = Part::nic_legend;
    } else if (line.starts_with("Legend")) {
      part_ = Part::legend;
    } else if (part_ == Part::before) {
      read_header(words, line, number);
    } else if (part_ == Part::matrix) {
      read_row(words, number);
    } else if (part_ == Part::legend) {
      if (words.size() < 2 || words[1] != "=") fail(number, "'" + line + "' is no line of the legend, as 'X = Self'");
    } else {
      read_nic(words, line, number);
    }
  }

  /// A prompt and the command may stand above.
  void read_header(const std::vector<std::string>& words, const std::string& line, int number) {
    if (line.find("nvidia-smi") != std::string::npos) return;
    if (words.front() != "GPU0") fail(number, "'" + line + "' is not the matrix's first line, which begins with GPU0");
    for (const std::string& word : words) {
      if (word == "CPU" || word == "NUMA") break;
      columns_.push_back(word);
    }
    part_ = Part::matrix;
  }

  void read_row(const std::vector<std::string>& words, int number) {
    Row row{.name = words.front(), .line = number};
    if (rows_.size() == columns_.size() || row.name != columns_[rows_.size()]) {
      const std::string wanted = rows_.size() == columns_.size() ? "the legend" : columns_[rows_.size()];
      fail(number, fmt::format("a line of '{}' where that of {} is expected", row.name, wanted));
    }
    if (words.size() < columns_.size() + 1) {
      fail(number,
           fmt::format("{} has {} cells, and there are {} devices", row.name, words.size() - 1, columns_.size()));
    }
    const auto cells = words.begin() + 1;
    const auto rest = cells + std::ssize(columns_);
    row.cells.assign(cells, rest);
    for (const std::string& cell : row.cells) {
      const std::set<std::string> known{"X", "SYS", "SOC", "NODE", "PHB", "PXB", "PIX", "PSB"};
      if (nvlinks(cell) == 0 && !known.contains(cell)) {
        fail(number,
             fmt::format("{} has a cell '{}', which is none of X, SYS, NODE, PHB, PXB, PIX, NV#", row.name, cell));
      }
    }
    if (rest != words.end() && *rest != "N/A") row.cpus = *rest;
    if (std::distance(rest, words.end()) > 1) row.domain = whole_number(rest[1]);
    rows_.push_back(std::move(row));
  }

  void read_nic(const std::vector<std::string>& words, const std::string& line, int number) {
    if (words.size() != 2 || !words[0].ends_with(':')) {
      fail(number, "'" + line + "' is no line of the adapters' legend, as 'NIC0: mlx5_0'");
    }
    legend_[words[0].substr(0, words[0].size() - 1)] = words[1];
  }

  void check() const {
    if (rows_.size() != columns_.size()) {
      throw InputError(
          fmt::format("{}: error: the matrix has {} columns and {} lines", file_, columns_.size(), rows_.size()));
    }
    for (std::size_t a = 0; a < rows_.size(); ++a) {
      if (rows_[a].cells[a] != "X") fail(rows_[a].line, rows_[a].name + " is not 'X' to itself");
      for (std::size_t b = 0; b < a; ++b) {
        if (rows_[a].cells[b] == rows_[b].cells[a] && rows_[a].cells[b] != "X") continue;
        fail(rows_[a].line, fmt::format("{} says {} of {}, which says {} of it", rows_[a].name, rows_[a].cells[b],
                                        rows_[b].name, rows_[b].cells[a]));
      }
    }
  }

  [[nodiscard]] std::string adapter_name(const std::string& column) const {
    const auto found = legend_.find(column);
    return found == legend_.end() ? column : found->second;
  }

  // ---- wiring -----------------------------------------------------------------------------------------------------

  [[nodiscard]] bool are(std::size_t a, std::size_t b, std::initializer_list<std::string_view> relations) const {
    return std::ranges::find(relations, rows_[a].cells[b]) != relations.end();
  }

  /// GPUs say their domain, or their CPUs, which differ from domain to domain. What is nearer to them than SYS is in
  /// theirs.
  void place_in_domains() {
    std::map<std::string, int> by_cpus;
    const bool told = std::ranges::all_of(rows_, [](const Row& row) { return !row.is_gpu() || row.domain; });
    for (Row& row : rows_) {
      if (told || !row.is_gpu() || row.cpus.empty()) continue;
      row.domain = by_cpus.try_emplace(row.cpus, static_cast<int>(by_cpus.size())).first->second;
    }
    if (!told && !by_cpus.empty()) sketch_.assume("GPUs with the same CPUs are in one NUMA domain");
    Groups near(rows_.size());
    for (std::size_t a = 0; a < rows_.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (are(a, b, {"NODE", "PHB", "PXB", "PIX", "PSB"})) near.join(a, b);
      }
    }
    std::map<std::size_t, int> of_group;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].domain) of_group.try_emplace(near.of(i), *rows_[i].domain);
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].domain) continue;
      if (const auto found = of_group.find(near.of(i)); found != of_group.end()) {
        rows_[i].domain = found->second;
      } else {
        rows_[i].domain = rows_[i].is_gpu() ? 0 : rows_.front().domain.value_or(0);
        sketch_.assume(
            fmt::format("{} is in NUMA domain {}, for its line names none", rows_[i].name, *rows_[i].domain));
      }
    }
    std::set<int> domains;
    for (const Row& row : rows_) domains.insert(*row.domain);
    for (const int domain : domains) sketch_.add_domain(domain);
  }

  /// By the most NVLinks of a pair: those of a Hopper are on PCIe Gen5.
  [[nodiscard]] int generation() const {
    constexpr int kHopperLinks = 18;
    constexpr int kVoltaLinks = 6;
    int most = 0;
    for (const Row& row : rows_) {
      for (const std::string& cell : row.cells) most = std::max(most, nvlinks(cell));
    }
    return most >= kHopperLinks ? 5 : most > 0 && most <= kVoltaLinks ? 3 : 4;
  }

  /// Devices with PIX between them are on one switch; those with PXB on switches under one.
  void add_switches() {
    Groups upper(rows_.size());
    Groups lower(rows_.size());
    for (std::size_t a = 0; a < rows_.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (are(a, b, {"PIX", "PSB"})) lower.join(a, b);
        if (are(a, b, {"PIX", "PSB", "PXB"})) upper.join(a, b);
      }
    }
    std::map<std::size_t, int> sizes_above;
    std::map<std::size_t, int> sizes_below;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      ++sizes_above[upper.of(i)];
      ++sizes_below[lower.of(i)];
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      std::string parent = NodeSketch::root_name(*rows_[i].domain);
      if (sizes_above[upper.of(i)] > 1) parent = switch_of("upper", upper.of(i), parent);
      const bool one_switch = sizes_above[upper.of(i)] == sizes_below[lower.of(i)];
      if (sizes_below[lower.of(i)] > 1 && !one_switch) parent = switch_of("lower", lower.of(i), parent);
      sketch_.add_pcie(parts_[i], parent, assumed_pcie(generation()));
    }
  }

  std::string switch_of(const std::string& level, std::size_t group, const std::string& parent) {
    const auto [found, is_new] = switches_.try_emplace({level, group}, fmt::format("switch{}", switches_.size()));
    if (is_new) {
      sketch_.add_hub(found->second, "");
      sketch_.add_pcie(found->second, parent, assumed_pcie(generation()));
    }
    return found->second;
  }

  [[nodiscard]] int nvlinks_of(std::size_t gpu) const {
    int sum = 0;
    for (const std::string& cell : rows_[gpu].cells) sum += nvlinks(cell);
    return sum;
  }

  /// A GPU that has more links to all peers together than a GPU has is on switches, with as many as it has to each.
  void add_nvlinks() {
    const Sourced<Rate> each = assumed(25.0_GBps, "an NVLink of V100 to H200; of P100 20 GB/s, of Blackwell 50");
    std::vector<bool> on_switch(rows_.size());
    for (std::size_t a = 0; a < rows_.size(); ++a) {
      int most = 0;
      for (const std::string& cell : rows_[a].cells) most = std::max(most, nvlinks(cell));
      if (most > 0) sketch_.assume("an NVLink carries 25 GB/s each way");
      on_switch[a] = nvlinks_of(a) > kMostNvlinks;
      if (!on_switch[a]) continue;
      sketch_.add_hub(kNvswitch, "");
      sketch_.add_links(parts_[a] + "-nvlink", parts_[a], kNvswitch, each, most);
      sketch_.assume("GPUs with more NVLinks to their peers than a GPU has are on NVSwitches, which are one hub");
    }
    for (std::size_t a = 0; a < rows_.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const int count = nvlinks(rows_[a].cells[b]);
        if (count == 0 || (on_switch[a] && on_switch[b])) continue;
        sketch_.add_links(fmt::format("{}-{}-nvlink", parts_[b], parts_[a]), parts_[b], parts_[a], each, count);
      }
    }
  }

  std::string file_;
  NodeSketch sketch_;
  Part part_ = Part::before;
  std::vector<std::string> columns_{};
  std::vector<Row> rows_{};
  std::map<std::string, std::string> legend_{};  ///< of adapters
  std::vector<std::string> parts_{};             ///< of the platform, by row
  std::map<std::pair<std::string, std::size_t>, std::string> switches_{};
};

}  // namespace

ImportedPlatform import_topo_matrix(const std::string& text, const std::string& file, const std::string& name) {
  return MatrixImport(text, file).run(name);
}

}  // namespace twinlink::model
