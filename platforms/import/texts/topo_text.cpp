#include "platforms/import/texts/topo_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "protocols/core/errors.hpp"

namespace twinlink::platforms {
namespace {

constexpr std::array<std::string_view, 8> kRelations{"X", "SYS", "SOC", "NODE", "PHB", "PXB", "PIX", "PSB"};
/// What topo -p2p says of two GPUs; all but the first two refuse.
constexpr std::array<std::string_view, 8> kStatuses{"X", "OK", "NS", "CNS", "GNS", "TNS", "DR", "U"};

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

/// "SYSSYS", "NV18NV18": a copy that has lost its tabs.
bool ran_together(std::string_view word) {
  int cells = 0;
  while (!word.empty()) {
    std::size_t length = word.starts_with("NV") ? 2 : 0;
    while (length >= 2 && length < word.size() && word[length] >= '0' && word[length] <= '9') ++length;
    for (const std::string_view relation : kRelations) {
      if (word.starts_with(relation)) length = relation.size();
    }
    if (length == 0 || word == "NV") return false;
    word.remove_prefix(length);
    ++cells;
  }
  return cells > 1;
}

using Listed = std::pair<std::vector<int>, std::string>;

/// "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-8f6d...)", as nvidia-smi -L and PyTorch's collect_env list them, "GPU
/// 0,1,2,3: NVIDIA B200", as SGLang's check_env does, or "GPU 0-3: NVIDIA B200": the numbers and the name.
std::optional<Listed> listed_gpus(const std::string& line) {
  static constexpr std::string_view kGpu = "GPU ";
  constexpr int kMost = 1024;
  const std::size_t colon = line.find(": ");
  if (!line.starts_with(kGpu) || colon == std::string::npos) return std::nullopt;
  std::vector<int> numbers;
  std::istringstream list(line.substr(kGpu.size(), colon - kGpu.size()));
  for (std::string each; std::getline(list, each, ',');) {
    const std::size_t dash = each.find('-');
    const auto first = whole_number(each.substr(0, dash));
    const auto last = dash == std::string::npos ? first : whole_number(each.substr(dash + 1));
    if (!first || !last || *last >= kMost) return std::nullopt;
    for (int number = *first; number <= *last; ++number) numbers.push_back(number);
  }
  const std::string name = line.substr(colon + 2);
  return Listed(std::move(numbers), name.substr(0, name.find(" (")));
}

/// "|   0  NVIDIA H100 80GB HBM3          On  | ...", as nvidia-smi alone prints it, which cuts a long name short:
/// "Tesla V100-SXM2...".
std::optional<Listed> tabled_gpu(const std::string& line) {
  if (!line.starts_with("|  ")) return std::nullopt;
  const std::size_t digit = line.find_first_not_of(" |");
  const std::size_t end = digit == std::string::npos ? digit : line.find("  ", digit);
  const auto number = end == std::string::npos ? std::nullopt : whole_number(line.substr(digit, end - digit));
  if (!number || line.size() < end + 3 || line[end + 2] == ' ') return std::nullopt;
  std::string name = line.substr(end + 2, line.find("  ", end + 2) - end - 2);
  if (name.find('/') != std::string::npos || name.find('|') != std::string::npos) return std::nullopt;
  return Listed({*number}, name.substr(0, name.find("...")));
}

class Reader {
 public:
  Reader(const std::string& text, std::string file) : file_(std::move(file)) {
    std::istringstream lines(text);
    int number = 0;
    for (std::string line; std::getline(lines, line);) read_line(plain(line), ++number);
    if (columns_.empty()) refuse_text(text);
    result_.states = read_adapter_states(text);
    check();
    if (!result_.peer_access.empty() && result_.peer_access.size() != gpus()) {
      throw InputError(fmt::format("{}: error: topo -p2p has {} GPUs, and topo -m has {}", file_,
                                   result_.peer_access.size(), gpus()));
    }
  }

  TopoText take() { return std::move(result_); }

 private:
  [[noreturn]] void fail(int line, const std::string& message) const {
    throw InputError(fmt::format("{}:{}: error: {}", file_, line, message));
  }

  [[noreturn]] void refuse_text(const std::string& text) const {
    const auto has = [&](std::string_view part) { return text.find(part) != std::string::npos; };
    if (has("-[0000:") || has("Package L#0") || has("PU L#0")) {
      fail(1,
           "this is a tree of lspci or lstopo as text, which tells no rates. What is read is the file that 'lstopo "
           "topo.xml' writes");
    }
    if (has("NCCL INFO ")) {
      fail(
          1,
          "this log of NCCL has no whole tree of the machine, which stands between '=== System' and '====='. What logs "
          "it is NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=INIT,ENV,GRAPH,TUNING");
    }
    fail(1,
         "no line is the first one of the matrix of nvidia-smi topo -m, which begins with GPU0, and XML of NCCL or "
         "hwloc begins with '<'");
  }

  [[nodiscard]] std::size_t gpus() const {
    return static_cast<std::size_t>(std::ranges::count_if(result_.rows, &TopoRow::is_gpu));
  }

  /// Whatever stands above, between and behind what this knows is passed over: prompts, headings, other commands.
  void read_line(const std::string& line, int number) {
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) return;
    const auto listed = listed_gpus(line);
    if (const auto named = listed ? listed : tabled_gpu(line)) {
      for (const int gpu : named->first) result_.models.try_emplace(gpu, named->second);
    }
    look_for_command(line, number);
    if (rows_left_ > 0) return read_row(words, number);
    if (words.front().starts_with("GPU0GPU")) fail_together(number, words.front());
    if (words.front() == "GPU0" && (words.size() == 1 || !is_cell(words[1]))) return read_head(words);
    if (words.size() == 2 && words[0].starts_with("NIC") && words[0].ends_with(':')) {
      result_.legend.try_emplace(words[0].substr(0, words[0].size() - 1), words[1]);
    }
  }

  static bool is_cell(std::string_view word) {
    return std::ranges::find(kRelations, word) != kRelations.end() || nvlinks(word) > 0 ||
           std::ranges::find(kStatuses, word) != kStatuses.end();
  }

  /// "nvidia-smi topo -p2p r" and "topo -mp" say what the table below is of.
  void look_for_command(const std::string& line, int number) {
    static constexpr std::string_view kPeers = "-p2p ";
    if (matrix_.empty()) {
      for (const std::string_view other : {"rocm-smi", "amd-smi", "ROCm System Management", "ACCESS TABLE"}) {
        if (line.find(other) != std::string::npos) refuse_amd(number);
      }
    }
    if (line.find("topo -") == std::string::npos) return;
    if (matrix_.empty() && line.find(" -mp") != std::string::npos) {
      result_.origin = "nvidia-smi topo -mp";
      result_.names_nvlinks = false;
    }
    const std::size_t peers = line.find(kPeers);
    peers_of_ = peers == std::string::npos ? "" : line.substr(peers + kPeers.size(), 1);
  }

  void read_head(const std::vector<std::string>& words) {
    columns_.clear();
    for (const std::string& word : words) {
      if (word == "CPU" || word == "NUMA") break;
      columns_.push_back(word);
    }
    const auto id = std::ranges::search(words, std::array<std::string_view, 3>{"GPU", "NUMA", "ID"});
    names_gpu_domains_ = !id.empty();
    rows_left_ = columns_.size();
    table_.clear();
  }

  [[noreturn]] void refuse_amd(int line) const {
    fail(line,
         "this is a table of rocm-smi or amd-smi, which tells neither buses nor adapters. Bring what RCCL finds, the "
         "file that NCCL_TOPO_DUMP_FILE=topo.xml lets any of its programs write, or lstopo topo.xml");
  }

  [[noreturn]] void fail_together(int line, const std::string& word) const {
    fail(line, fmt::format("'{}': cells have run together, for the copy has lost its tabs. What is read is the file "
                           "that 'nvidia-smi topo -m > topo.txt' writes",
                           word));
  }

  void read_row(const std::vector<std::string>& words, int number) {
    TopoRow row{.name = words.front(), .line = number};
    if (!matrix_.empty() && (words.size() < columns_.size() + 1 || !row.is_gpu())) {
      rows_left_ = 0;  // of a table behind the matrix, which is cut off
      return;
    }
    const std::string& expected = columns_[columns_.size() - rows_left_];
    for (const std::string& word : words) {
      if (ran_together(word)) fail_together(number, word);
    }
    if (row.name != expected) {
      fail(number, fmt::format("a line of '{}' where that of {} is expected", row.name, expected));
    }
    if (words.size() < columns_.size() + 1) {
      fail(number,
           fmt::format("{} has {} cells, and there are {} devices", row.name, words.size() - 1, columns_.size()));
    }
    const auto cells = words.begin() + 1;
    const auto rest = cells + std::ssize(columns_);
    row.cells.assign(cells, rest);
    if (rest != words.end() && *rest != "N/A") row.cpus = *rest;
    if (std::distance(rest, words.end()) > 1) row.domain = whole_number(rest[1]);
    row.coherent = names_gpu_domains_ && std::distance(rest, words.end()) > 2 && whole_number(rest[2]).has_value();
    table_.push_back(std::move(row));
    if (--rows_left_ == 0) take_table();
  }

  /// A table of topo -p2p says of each two whether one reaches the other; the first one that does not is the matrix.
  void take_table() {
    const bool of_peers = std::ranges::all_of(table_, [](const TopoRow& row) {
      return std::ranges::all_of(
          row.cells, [](const std::string& cell) { return std::ranges::find(kStatuses, cell) != kStatuses.end(); });
    });
    if (of_peers && table_.size() > 1) return take_peers();
    if (!matrix_.empty()) return;
    for (const TopoRow& row : table_) {
      for (const std::string& cell : row.cells) {
        if (nvlinks(cell) > 0 || std::ranges::find(kRelations, cell) != kRelations.end()) continue;
        if (whole_number(cell) || cell == "XGMI" || cell == "PCIE") refuse_amd(row.line);
        fail(row.line,
             fmt::format("{} has a cell '{}', which is none of X, SYS, NODE, PHB, PXB, PIX, NV#", row.name, cell));
      }
    }
    matrix_ = columns_;
    result_.rows = std::move(table_);
  }

  void take_peers() {
    const auto is_refused = [](const std::string& cell) { return cell != "X" && cell != "OK"; };
    const bool any =
        std::ranges::any_of(table_, [&](const TopoRow& row) { return std::ranges::any_of(row.cells, is_refused); });
    if (peers_of_ != "r" && peers_of_ != "w") {
      if (!peers_of_.empty() || !any) return;
      result_.notes.push_back(
          fmt::format("line {}: passed over: a table of topo -p2p, for no line above says whether it is of reads. With "
                      "'nvidia-smi topo -p2p r' above it decides who reaches whom",
                      table_.front().line));
      return;
    }
    if (result_.peer_access.size() < table_.size()) {
      result_.peer_access.assign(table_.size(), std::vector<std::string>(table_.size()));
    }
    for (std::size_t a = 0; a < table_.size(); ++a) {
      for (std::size_t b = 0; b < table_.size(); ++b) {
        if (!is_refused(table_[a].cells[b])) continue;
        result_.peer_access[a][b] = fmt::format("topo -p2p {}: {}", peers_of_, table_[a].cells[b]);
      }
    }
  }

  void check() const {
    const std::vector<TopoRow>& rows = result_.rows;
    if (rows_left_ > 0 && matrix_.empty()) {
      throw InputError(
          fmt::format("{}: error: the matrix has {} columns and {} lines", file_, columns_.size(), table_.size()));
    }
    for (std::size_t a = 0; a < rows.size(); ++a) {
      if (rows[a].cells[a] != "X") fail(rows[a].line, rows[a].name + " is not 'X' to itself");
      for (std::size_t b = 0; b < a; ++b) {
        if (rows[a].cells[b] == rows[b].cells[a] && rows[a].cells[b] != "X") continue;
        fail(rows[a].line, fmt::format("{} says {} of {}, which says {} of it", rows[a].name, rows[a].cells[b],
                                       rows[b].name, rows[b].cells[a]));
      }
    }
  }

  std::string file_;
  TopoText result_{};
  std::string peers_of_{};              ///< what the last command of topo -p2p was asked for: "r"
  std::vector<std::string> columns_{};  ///< of the table that is being read
  bool names_gpu_domains_ = false;      ///< and whether it says which NUMA domain a GPU's memory is
  std::size_t rows_left_ = 0;           ///< of it
  std::vector<TopoRow> table_{};        ///< its rows so far
  std::vector<std::string> matrix_{};   ///< columns of the matrix, once it is read
};

}  // namespace

/// "NV12" joins by twelve NVLinks; 0: by none.
int nvlinks(std::string_view cell) {
  if (!cell.starts_with("NV")) return 0;
  return whole_number(cell.substr(2)).value_or(0);
}

TopoText read_topo_text(const std::string& text, const std::string& file) { return Reader(text, file).take(); }

}  // namespace twinlink::platforms
