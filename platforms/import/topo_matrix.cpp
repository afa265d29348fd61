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

#include "platforms/import/gpu_models.hpp"
#include "platforms/import/import_topology.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::platforms {
namespace {

/// Of one GPU: those of H100 to B200 (NVIDIA's data sheets); those before had 12 at most.
constexpr int kMostNvlinks = 18;

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

/// "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-8f6d...)", as nvidia-smi -L and PyTorch's collect_env list them, or
/// "GPU 0,1,2,3: NVIDIA B200", as SGLang's check_env does: the numbers and the name.
std::optional<std::pair<std::vector<int>, std::string>> listed_gpus(const std::string& line) {
  static constexpr std::string_view kGpu = "GPU ";
  const std::size_t colon = line.find(": ");
  if (!line.starts_with(kGpu) || colon == std::string::npos) return std::nullopt;
  std::vector<int> numbers;
  std::istringstream list(line.substr(kGpu.size(), colon - kGpu.size()));
  for (std::string each; std::getline(list, each, ',');) {
    const auto number = whole_number(each);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  const std::string name = line.substr(colon + 2);
  return std::pair(std::move(numbers), name.substr(0, name.find(" (")));
}

class MatrixImport {
 public:
  MatrixImport(const std::string& text, const std::string& file) : file_(file) {
    node_.origin = "nvidia-smi topo -m";
    std::istringstream lines(text);
    int number = 0;
    for (std::string line; std::getline(lines, line);) read_line(plain(line), ++number);
    if (columns_.empty()) {
      throw InputError(file +
                       ":1: error: no line is the first one of the matrix of nvidia-smi topo -m, which begins "
                       "with GPU0, and XML of NCCL or hwloc begins with '<'");
    }
    check();
    place_in_domains();
    add_devices();
    add_nvlinks();
    guess_capability();
  }

  NodeDescription take() { return std::move(node_); }

 private:
  [[noreturn]] void fail(int line, const std::string& message) const {
    throw InputError(fmt::format("{}:{}: error: {}", file_, line, message));
  }

  // ---- reading ----------------------------------------------------------------------------------------------------

  /// Whatever stands above, between and behind what this knows is passed over: prompts, headings, other commands.
  void read_line(const std::string& line, int number) {
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) return;
    const bool is_read = !columns_.empty() && rows_.size() == columns_.size();
    if (columns_.empty()) {
      read_above(words, line, number);
    } else if (!is_read) {
      read_row(words, number);
    } else if (words.size() == 2 && words[0].starts_with("NIC") && words[0].ends_with(':')) {
      legend_.try_emplace(words[0].substr(0, words[0].size() - 1), words[1]);
    }
    if (const auto listed = listed_gpus(line)) {
      for (const int gpu : listed->first) models_.try_emplace(gpu, listed->second);
    }
  }

  void read_above(const std::vector<std::string>& words, const std::string& line, int number) {
    for (const std::string_view other : {"rocm-smi", "amd-smi", "ROCm System Management", "ACCESS TABLE"}) {
      if (line.find(other) != std::string::npos) refuse_amd(number);
    }
    if (line.find("topo") != std::string::npos && line.find(" -mp") != std::string::npos) {
      node_.origin = "nvidia-smi topo -mp";
      names_nvlinks_ = false;
    }
    if (words.front() != "GPU0") return;
    for (const std::string& word : words) {
      if (word == "CPU" || word == "NUMA") break;
      columns_.push_back(word);
    }
  }

  [[noreturn]] void refuse_amd(int line) const {
    fail(line,
         "this is a table of rocm-smi or amd-smi, which tells neither buses nor adapters. Bring what RCCL finds, the "
         "file that NCCL_TOPO_DUMP_FILE=topo.xml lets any of its programs write, or lstopo topo.xml");
  }

  void read_row(const std::vector<std::string>& words, int number) {
    Row row{.name = words.front(), .line = number};
    if (row.name != columns_[rows_.size()]) {
      fail(number, fmt::format("a line of '{}' where that of {} is expected", row.name, columns_[rows_.size()]));
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
      if (nvlinks(cell) > 0 || known.contains(cell)) continue;
      if (whole_number(cell) || cell == "XGMI" || cell == "PCIE") refuse_amd(number);
      fail(number,
           fmt::format("{} has a cell '{}', which is none of X, SYS, NODE, PHB, PXB, PIX, NV#", row.name, cell));
    }
    if (rest != words.end() && *rest != "N/A") row.cpus = *rest;
    if (std::distance(rest, words.end()) > 1) row.domain = whole_number(rest[1]);
    rows_.push_back(std::move(row));
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

  // ---- wiring -----------------------------------------------------------------------------------------------------

  [[nodiscard]] bool are(std::size_t a, std::size_t b, std::initializer_list<std::string_view> relations) const {
    return std::ranges::find(relations, rows_[a].cells[b]) != relations.end();
  }

  /// GPUs say their domain, or their CPUs, which differ from domain to domain. What is nearer to them than SYS is in
  /// theirs. An NVLink hides how else two GPUs are joined.
  void place_in_domains() {
    std::map<std::string, int> by_cpus;
    const bool told = std::ranges::all_of(rows_, [](const Row& row) { return !row.is_gpu() || row.domain; });
    for (Row& row : rows_) {
      if (told || !row.is_gpu() || row.cpus.empty()) continue;
      row.domain = by_cpus.try_emplace(row.cpus, static_cast<int>(by_cpus.size())).first->second;
    }
    if (!told && !by_cpus.empty()) node_.assumptions.emplace_back("GPUs with the same CPUs are in one NUMA domain");
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
      if (const auto found = of_group.find(near.of(i)); found != of_group.end()) rows_[i].domain = found->second;
    }
    part_from_each_other(near);
    place_the_rest(near);
    for (const int number : domains()) {
      node_.memories.push_back({.number = number, .sockets = {static_cast<int>(node_.sockets.size())}});
      node_.sockets.emplace_back();
    }
  }

  [[nodiscard]] std::set<int> domains() const {
    std::set<int> result;
    for (const Row& row : rows_) {
      if (row.domain) result.insert(*row.domain);
    }
    return result;
  }

  [[nodiscard]] int unused_domain() const {
    const std::set<int> used = domains();
    int number = 0;
    while (used.contains(number)) ++number;
    return number;
  }

  /// SYS leads through the link between sockets, whatever two devices say of their domain.
  void part_from_each_other(const Groups& near) {
    for (std::size_t a = 0; a < rows_.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (!are(a, b, {"SYS", "SOC"}) || near.of(a) == near.of(b) || !rows_[a].domain) continue;
        if (rows_[a].domain != rows_[b].domain) continue;
        const int apart = unused_domain();
        node_.notes.push_back(fmt::format(
            "{} and {} are {} to each other and name one NUMA domain, {}: {} is taken to be behind a link between "
            "sockets, in domain {}",
            rows_[b].name, rows_[a].name, rows_[a].cells[b], *rows_[a].domain, rows_[a].name, apart));
        for (std::size_t i = 0; i < rows_.size(); ++i) {
          if (near.of(i) == near.of(a)) rows_[i].domain = apart;
        }
      }
    }
  }

  /// Do members of two groups say so of each other?
  [[nodiscard]] bool are_far(const Groups& near, std::size_t group, std::size_t other) const {
    for (std::size_t a = 0; a < rows_.size(); ++a) {
      for (std::size_t b = 0; b < rows_.size() && near.of(a) == group; ++b) {
        if (near.of(b) == other && are(a, b, {"SYS", "SOC"})) return true;
      }
    }
    return false;
  }

  /// Groups in which none names a domain: those of GPUs share one with groups that are not far from them, and adapters
  /// that are far from all GPUs are in one more.
  void place_the_rest(const Groups& near) {
    std::optional<int> far;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].domain) continue;
      const bool is_gpu = rows_[i].is_gpu();
      const int number = !is_gpu && far ? *far : unused_domain();
      if (!is_gpu) far = number;
      for (std::size_t j = rows_.size(); j-- > i;) {
        const bool with_it = near.of(j) == near.of(i) || (is_gpu && !are_far(near, near.of(i), near.of(j)));
        if (!rows_[j].domain && with_it) rows_[j].domain = number;
      }
      if (domains().size() == 1) continue;
      node_.notes.push_back(
          fmt::format("{}: nobody tells its NUMA domain; the file has it in domain {}, behind a link between sockets",
                      rows_[i].name, number));
    }
  }

  [[nodiscard]] int socket_of(int domain) const {
    return std::ranges::find(node_.memories, domain, &NumaFacts::number)->sockets.front();
  }

  /// Devices with PIX between them are on one switch; those with PXB on switches under one.
  void add_devices() {
    Groups upper(rows_.size());
    Groups lower(rows_.size());
    for (std::size_t a = 0; a < rows_.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (are(a, b, {"PIX", "PSB"})) lower.join(a, b);
        if (are(a, b, {"PIX", "PSB", "PXB"})) upper.join(a, b);
      }
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& row = rows_[i];
      PciFacts facts{.kind = row.is_gpu() ? PciFacts::Kind::gpu : PciFacts::Kind::adapter,
                     .bus_id = row.name,
                     .socket = socket_of(*row.domain),
                     .numa = *row.domain,
                     .infiniband = true};
      facts.parent = bridge("lower", lower.of(i), facts, bridge("upper", upper.of(i), facts, std::nullopt));
      if (row.is_gpu()) {
        const auto number = static_cast<int>(node_.gpus.size());
        GpuFacts gpu{.bus_id = row.name, .links_told = names_nvlinks_};
        if (const auto model = models_.find(number); model != models_.end()) gpu.model = model->second;
        node_.gpus.push_back(std::move(gpu));
      } else {
        const auto name = legend_.find(row.name);
        facts.name = name == legend_.end() ? row.name : name->second;
      }
      node_.pci.push_back(std::move(facts));
    }
  }

  /// One with a single device below is but a piece of wire, and vanishes with it.
  int bridge(const std::string& level, std::size_t group, const PciFacts& below, std::optional<int> parent) {
    const auto [found, is_new] = bridges_.try_emplace({level, group}, static_cast<int>(node_.pci.size()));
    if (is_new) node_.pci.push_back({.parent = parent, .socket = below.socket, .numa = below.numa});
    return found->second;
  }

  [[nodiscard]] int nvlinks_of(const Row& row) const {
    int sum = 0;
    for (const std::string& cell : row.cells) sum += nvlinks(cell);
    return sum;
  }

  /// A GPU that has more links to all peers together than a GPU has is on switches, with as many as it has to each.
  void add_nvlinks() {
    std::size_t gpu = 0;
    for (const Row& row : rows_) {
      int most = 0;
      for (const std::string& cell : row.cells) most = std::max(most, nvlinks(cell));
      if (!row.is_gpu()) continue;
      std::vector<GpuLinks>& links = node_.gpus[gpu++].links;
      const bool on_switch = nvlinks_of(row) > kMostNvlinks;
      if (on_switch) links.push_back({.remote = GpuLinks::Remote::nvswitch, .count = most});
      for (std::size_t b = 0; b < rows_.size(); ++b) {
        const int count = nvlinks(row.cells[b]);
        if (count == 0 || (on_switch && nvlinks_of(rows_[b]) > kMostNvlinks)) continue;
        links.push_back({.remote = GpuLinks::Remote::gpu, .remote_bus_id = rows_[b].name, .count = count});
      }
      if (on_switch) {
        assume("GPUs with more NVLinks to their peers than a GPU has are on NVSwitches, which are one hub");
      }
    }
  }

  void assume(const std::string& text) {
    if (std::ranges::find(node_.assumptions, text) == node_.assumptions.end()) node_.assumptions.push_back(text);
  }

  /// By the NVLinks of the GPU that has the most: 18 of Hopper, 12 of Ampere, up to 6 of Volta. A bridge of Ampere's
  /// PCIe cards has four to one peer; Pascal one to each of four.
  void guess_capability() {
    int most = 0;
    std::size_t peers = 0;
    for (const GpuFacts& gpu : node_.gpus) {
      int links = 0;
      for (const GpuLinks& each : gpu.links) links += each.count;
      if (links <= most) continue;
      most = links;
      peers = gpu.links.size();
    }
    constexpr int kHopper = 18;
    constexpr int kVolta = 6;
    constexpr int kBridge = 4;
    if (most == 0) return;
    const std::pair<int, int> capability = most >= kHopper                       ? std::pair(9, 0)
                                           : most > kVolta                       ? std::pair(8, 0)
                                           : most == kBridge && peers == 1       ? std::pair(8, 0)
                                           : most == kBridge && peers == kBridge ? std::pair(6, 0)
                                                                                 : std::pair(7, 0);
    bool guessed = false;
    for (GpuFacts& gpu : node_.gpus) {
      complete(gpu);
      if (gpu.capability) continue;
      gpu.capability = capability;
      gpu.capability_told = false;
      guessed = true;
    }
    if (!guessed) return;
    assume(fmt::format("the compute capability of a GPU, and with it the generation of PCIe, by its {} NVLinks: {}.{}",
                       most, capability.first, capability.second));
  }

  std::string file_;
  NodeDescription node_{};
  bool names_nvlinks_ = true;
  std::vector<std::string> columns_{};
  std::vector<Row> rows_{};
  std::map<int, std::string> models_{};                           ///< of GPUs, by number
  std::map<std::string, std::string> legend_{};                   ///< of adapters
  std::map<std::pair<std::string, std::size_t>, int> bridges_{};  ///< index into the PCI objects
};

}  // namespace

NodeDescription describe_topo_matrix(const std::string& text, const std::string& file) {
  return MatrixImport(text, file).take();
}

}  // namespace twinlink::platforms
