// nccl-tests: the text that its programs print, of all releases: a list of the devices, the columns' names, a row for
// each size, a summary. Releases from 2.17 on name the program, so that of others it is told by a command line above
// the table, or by the columns.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "protocols/bench/results/json_statistics.hpp"
#include "validate/import/import_parts.hpp"
#include "validate/import/launcher_text.hpp"
#include "validate/import/nccl_runs.hpp"

namespace twinlink::validate {
namespace {

/// A row begins with a size; names of hosts and dates may begin with a digit.
bool begins_with_a_number(const std::vector<std::string>& cells) {
  return !cells.empty() && number<std::uint64_t>(cells[0]).has_value();
}

class NcclText {
 public:
  explicit NcclText(const std::string& file) : file_(file), complaints_(file) {}

  std::vector<NcclRun> read(const std::string& text) {
    std::istringstream lines(without_launcher(text));
    for (std::string line; std::getline(lines, line);) {
      ++line_;
      read_line(line);
    }
    end_run(false);
    if (runs_.empty())
      throw InputError(fmt::format("{}: error: has no line that names the columns of nccl-tests", file_));
    for (NcclRun& run : runs_) {
      for (const std::string& note : complaints_.notes()) run.notes.push_back(note);
    }
    return std::move(runs_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(fmt::format("{}:{}: error: {}", file_, line_, what));
  }

  void read_line(const std::string& line) {
    std::vector<std::string> cells = words(line);
    while (!cells.empty() && cells.front().starts_with('#')) {  // "#wrong" is in no line's beginning
      cells.front().erase(0, 1);
      if (cells.front().empty()) cells.erase(cells.begin());
    }
    if (cells.empty()) return;
    const auto has = [&](std::string_view word) { return std::ranges::find(cells, word) != cells.end(); };
    if (has("size") && has("algbw") && has("busbw")) return begin_table(cells);
    if (!names_.empty() && begins_with_a_number(cells)) return read_row(cells);
    if (!names_.empty() && cells[0] == "(B)" && !has("(us)")) fail("the times must be in us");
    read_other_line(line, cells);
  }

  void read_other_line(const std::string& line, const std::vector<std::string>& cells) {
    const auto begins = [&](std::string_view first, std::string_view second) {
      return cells.size() > 1 && cells[0] == first && cells[1] == second;
    };
    if (begins("Out", "of") && !names_.empty()) {
      run_.facts["out_of_bounds"] = line.substr(line.find(':') + 1);
    } else if (begins("Avg", "bus") && !names_.empty()) {
      end_run(true);
    } else if (begins("Using", "devices")) {
      end_run(false);
      run_.places.clear();
      hosts_.clear();
      devices_ = nlohmann::json::array();
    } else if (begins("NCCL", "version") && cells.size() > 2) {
      run_.nccl = "NCCL " + cells[2];
    } else if (begins("nccl-tests", "version") && cells.size() > 2) {
      run_.facts["nccl_tests"] = cells[2];
    } else if (begins("Collective", "test")) {
      if (cells.size() < 4 || cells[2] != "starting:") return;
      end_run(false);
      run_.test = test_in(cells[3]);
    } else if (cells[0] == "nThread") {
      end_run(false);
      run_.facts["config"] = line.substr(line.find("nThread"));
    } else if (cells[0] == "Rank") {
      read_device(cells);
    } else if (is_complaint(line)) {
      complaints_.add(line_, line);
    } else {
      for (const std::string& cell : cells) read_command(line, cell);
    }
  }

  /// A command line names the program, if it is one of its words; so do others, so that the last one counts.
  void read_command(const std::string& line, const std::string& cell) {
    const NcclTest* const test = test_in(cell);
    if (test == nullptr) return;
    end_run(false);
    run_.test = test;
    run_.command = line.substr(line.find_first_not_of(" \t$#>"));
  }
  static const NcclTest* test_in(const std::string& word) {
    return nccl_test_named(std::filesystem::path(word).filename().string());
  }

  /// "Rank 0 Group 0 Pid 1 on host device 0 [0x17] NVIDIA A100"; older ones have no group.
  void read_device(const std::vector<std::string>& cells) {
    const auto after = [&](std::string_view word) {
      const auto found = std::ranges::find(cells, word);
      return found == cells.end() || found + 1 == cells.end() ? std::string() : *(found + 1);
    };
    const auto rank = number<std::uint64_t>(after("Rank"));
    const auto device = number<std::uint64_t>(after("device"));
    const std::string host = after("on");
    constexpr std::uint64_t kMostRanks = 1 << 20;
    if (!rank || !device || host.empty() || *rank >= kMostRanks) return;
    if (std::ranges::find(hosts_, host) == hosts_.end()) hosts_.push_back(host);
    const auto node = std::ranges::find(hosts_, host) - hosts_.begin();
    run_.places[*rank] = fmt::format("{}/{}", node, *device);
    note_device(cells, host, run_.places[*rank]);
  }

  /// "[0x17] NVIDIA A100-SXM4-40GB": where it is on the bus, and its model.
  void note_device(const std::vector<std::string>& cells, const std::string& host, const std::string& place) {
    auto cell = std::ranges::find_if(cells, [](const std::string& each) { return each.starts_with('['); });
    nlohmann::json device;
    if (cell != cells.end()) {
      device["pci_bus_id"] = cell->substr(1, cell->find(']') - 1);
      std::string model;
      for (++cell; cell != cells.end(); ++cell) model += (model.empty() ? "" : " ") + *cell;
      device["name"] = model;
    }
    devices_.push_back({{"place", place}, {"host", host}, {"device", std::move(device)}});
  }

  void begin_table(const std::vector<std::string>& cells) {
    if (!run_.rows.empty()) end_run(false);
    names_ = cells;
    const auto first =
        std::ranges::find_if(names_, [](const std::string& name) { return name == "time" || name == "cputime"; });
    if (first == names_.end()) fail("there is no column of times");
    if (*first == "cputime") fail("cputime is the host's time alone; run without -C");
    times_at_ = static_cast<std::size_t>(first - names_.begin());
    if (names_.back() == "timestamp") names_.pop_back();
    ends_with_timestamp_ = names_.size() < cells.size();
  }

  [[nodiscard]] std::optional<std::size_t> place_of(std::string_view name) const {
    const auto found = std::ranges::find(names_, name);
    return found == names_.end() ? std::nullopt : std::optional<std::size_t>(found - names_.begin());
  }

  void read_row(std::vector<std::string> cells) {
    while (ends_with_timestamp_ && cells.size() > names_.size()) cells.pop_back();
    // A row without an operation has a gap in its place.
    const auto redop = place_of("redop");
    if (redop && cells.size() + 1 == names_.size() && number<double>(cells[std::min(*redop, cells.size() - 1)])) {
      cells.insert(cells.begin() + static_cast<std::ptrdiff_t>(*redop), "none");
    }
    if (cells.size() != names_.size()) {
      fail(fmt::format("a row of {} columns, where {} are named: is it cut off?", cells.size(), names_.size()));
    }
    const auto cell = [&](std::string_view name) {
      const auto place = place_of(name);
      return place ? cells[*place] : std::string();
    };
    NcclRow row{.where = fmt::format("line {}", line_), .type = cell("type"), .redop = cell("redop")};
    if (row.redop == "none") row.redop.clear();
    if (place_of("root")) {
      row.root = number<int>(cell("root"));
      if (!row.root) fail(fmt::format("'{}' is no root", cell("root")));
    }
    const auto size = number<std::uint64_t>(cells[0]);
    if (!size || *size > bench::kMostBytes) fail(fmt::format("'{}' is no size in bytes", cells[0]));
    if (*size == 0) return;  // what is left of a buffer where there are more ranks than elements
    row.size = Bytes{*size};
    read_figures(row, cells);
    run_.rows.push_back(std::move(row));
  }

  void read_figures(NcclRow& row, const std::vector<std::string>& cells) const {
    row.time_us = figure(cells[times_at_]);
    if (!(row.time_us > 0)) fail(fmt::format("the time must be positive, but is {}", cells[times_at_]));
    if (const auto why = bench::why_no_time(row.time_us); !why.empty())
      fail(fmt::format("the time {}: {}", cells[times_at_], why));
    const auto algbw = place_of("algbw");
    const auto busbw = place_of("busbw");
    if (!algbw || !busbw || *algbw <= times_at_ || *busbw <= times_at_) fail("algbw and busbw belong behind the time");
    const double rate = figure(cells[*algbw]);
    // GB/s of 10^9 bytes, with two decimals or three digits.
    const double expected = static_cast<double>(row.size.count()) / row.time_us / 1e3;
    if (std::abs(rate - expected) > 0.02 * expected + 0.02) {
      fail(fmt::format("{} B in {} us are {:.2f} GB/s, and not {}: is the row torn?", row.size.count(),
                       cells[times_at_], expected, cells[*algbw]));
    }
    row.algbw_GBps = rate;
    row.busbw_GBps = figure(cells[*busbw]);
    std::vector<std::string> checks;
    for (std::size_t i = times_at_; i < names_.size(); ++i) {
      if (names_[i] == "#wrong" || names_[i] == "wrong" || names_[i] == "error") checks.push_back(cells[i]);
    }
    if (!checks.empty()) row.wrong = wrong_of(checks[0]);
    row.checked_in_place = checks.size() > 1 && wrong_of(checks[1]).has_value();
  }

  [[nodiscard]] double figure(const std::string& text) const {
    const auto value = number<double>(text);
    if (!value || !std::isfinite(*value) || *value < 0) fail(fmt::format("'{}' is no number", text));
    return *value;
  }

  /// Releases before 2.13 print the largest deviation instead, and say below whether it is too large.
  [[nodiscard]] std::optional<std::uint64_t> wrong_of(const std::string& text) const {
    if (text == "N/A") return std::nullopt;
    const double value = figure(text);
    return value < 1 ? 0 : static_cast<std::uint64_t>(std::min(value, 1e18));
  }

  /// At the summary, or where another run begins.
  void end_run(bool ended) {
    if (run_.rows.empty()) return;
    if (!ended)
      run_.notes.emplace_back("the text ends before the summary of its run, which nobody knows to have ended");
    if (const auto said = run_.facts.find("out_of_bounds"); said != run_.facts.end()) {
      if (said->get<std::string>().find("OK") == std::string::npos) doubt();
    }
    if (!devices_.empty()) run_.facts["ranks"] = devices_;
    for (const auto& [rank, place] : run_.places) run_.ranks = std::max(run_.ranks, static_cast<int>(rank) + 1);
    runs_.push_back(std::exchange(run_, NcclRun{.nccl = run_.nccl, .places = run_.places}));
    names_.clear();
  }

  /// The summary says that values were wrong, and the rows of old releases do not say which.
  void doubt() {
    run_.notes.push_back(fmt::format("not verified: {} says 'Out of bounds values :{}'", file_,
                                     run_.facts["out_of_bounds"].get<std::string>()));
    const bool told = std::ranges::any_of(run_.rows, [](const NcclRow& row) { return row.wrong.value_or(0) > 0; });
    for (NcclRow& row : run_.rows) {
      if (!told) row.wrong.reset();
    }
  }

  const std::string& file_;
  int line_ = 0;
  Complaints complaints_;
  NcclRun run_{};
  std::vector<NcclRun> runs_{};
  std::vector<std::string> hosts_{};
  nlohmann::json devices_ = nlohmann::json::array();  ///< as twinlink-real has its ranks in a file
  std::vector<std::string> names_{};                  ///< of the columns; empty: no table is open
  std::size_t times_at_ = 0;                          ///< the first that are out of place
  bool ends_with_timestamp_ = false;
};

}  // namespace

Imported import_nccl_text(const std::string& text, const std::string& file, const ImportWishes& wishes) {
  return import_runs(NcclText(file).read(text), file, wishes);
}

}  // namespace twinlink::validate
