#include "validate/import/nccl_runs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "protocols/bench/results/json_statistics.hpp"
#include "protocols/bench/results/rounds.hpp"
#include "validate/import/buffers.hpp"
#include "validate/import/import_parts.hpp"

namespace twinlink::validate {
namespace {

using bench::Pattern;

// sendrecv names an operation that it does not do. In it each rank sends to the next one.
constexpr std::array kTests{NcclTest{"all_reduce_perf", "all-reduce", true, false, true, there_and_back},
                            NcclTest{"all_gather_perf", "all-gather", false, false, true, all_but_own},
                            NcclTest{"reduce_scatter_perf", "reduce-scatter", true, false, true, all_but_own},
                            NcclTest{"broadcast_perf", "broadcast", false, true, true, once},
                            NcclTest{"reduce_perf", "reduce", true, true, true, once},
                            NcclTest{"alltoall_perf", "all-to-all", false, false, false, all_but_own},
                            NcclTest{"sendrecv_perf", "shift", true, false, false, once},
                            NcclTest{"gather_perf", "gather", false, true, true, all_but_own},
                            NcclTest{"scatter_perf", "scatter", false, true, true, all_but_own}};

/// The pattern of a test between two ranks. In sendrecv each of them sends to the other; in broadcast the root sends
/// all of the buffer.
std::optional<Pattern> pattern_of(const NcclTest& test) {
  if (test.program == "sendrecv_perf") return Pattern::bidirectional;
  if (test.program == "broadcast_perf") return Pattern::bandwidth;
  return std::nullopt;
}

/// A run over all sizes: of one data type, operation and root, and of one cycle.
struct Table {
  const NcclRun* run = nullptr;
  std::vector<const NcclRow*> rows{};
  std::set<Bytes> sizes{};
};

std::vector<Table> split_tables(const std::vector<NcclRun>& runs) {
  std::vector<Table> tables;
  for (const NcclRun& run : runs) {
    for (const NcclRow& row : run.rows) {
      const auto same = [&](const NcclRow& other) {
        return other.type == row.type && other.redop == row.redop && other.root == row.root;
      };
      const bool goes_on = !tables.empty() && tables.back().run == &run && same(*tables.back().rows.back()) &&
                           !tables.back().sizes.contains(row.size);
      if (!goes_on) tables.push_back({.run = &run});
      tables.back().rows.push_back(&row);
      tables.back().sizes.insert(row.size);
    }
  }
  return tables;
}

std::string words_of(const Table& table) {
  const NcclRow& first = *table.rows.front();
  std::string all = table.run->test == nullptr ? "" : fmt::format("{}, ", table.run->test->program);
  all += fmt::format("{}{}{}", first.type.empty() ? "rows" : first.type, first.redop.empty() ? "" : " ", first.redop);
  if (first.root && *first.root >= 0) all += fmt::format(" root {}", *first.root);
  return all + fmt::format(", {} size{} from {}", table.sizes.size(), table.sizes.size() == 1 ? "" : "s",
                           format_size(first.size));
}

/// What the table's columns say of its test.
class Columns {
 public:
  Columns(const Table& table, int ranks) : ranks_(ranks) {
    for (const NcclRow* row : table.rows) {
      reduces_ = reduces_ || !row->redop.empty();
      rooted_ = rooted_ || (row->root && *row->root >= 0);
      compared_ = compared_ || row->wrong.has_value();
      checked_in_place_ = checked_in_place_ || row->checked_in_place;
      if (row->algbw_GBps > algbw_) {  // of the largest rate the most exact
        algbw_ = row->algbw_GBps;
        bus_factor_ = row->busbw_GBps / algbw_;
      }
    }
  }
  /// Unlike alltoall and sendrecv, the others are checked in place too, where anything is.
  [[nodiscard]] bool fit(const NcclTest& test) const {
    return test.reduces == reduces_ && test.rooted == rooted_ && fit_bus(test) &&
           (!compared_ || test.checks_in_place == checked_in_place_);
  }
  /// Both rates have two decimals, or five digits.
  [[nodiscard]] bool fit_bus(const NcclTest& test) const {
    constexpr double kHalfADigit = 0.006;
    constexpr double kFiveDigits = 2e-4;
    if (algbw_ == 0) return true;
    const double expected = test.bus_factor(ranks_);
    return std::abs(bus_factor_ - expected) <= kHalfADigit * (1 + expected) / algbw_ + kFiveDigits * expected;
  }
  [[nodiscard]] double bus_factor() const { return bus_factor_; }

 private:
  int ranks_;
  bool reduces_ = false;
  bool rooted_ = false;
  bool compared_ = false;
  bool checked_in_place_ = false;
  double algbw_ = 0;
  double bus_factor_ = 0;
};

class Import {
 public:
  Import(const std::string& file, const ImportWishes& wishes) : file_(file), wishes_(wishes) {}

  Imported of(const Table& table) {
    const NcclRun& run = *table.run;
    ranks_ = ranks_of(run);
    const NcclTest& test = test_of(table);
    program_ = run.nccl.empty() ? std::string(test.program) : fmt::format("{} ({})", test.program, run.nccl);
    notes_.insert(notes_.begin(), run.notes.begin(), run.notes.end());
    notes_.emplace_back("measured in rounds that follow each other in a stream, without an answer");
    for (const NcclRow* row : table.rows) {
      if (row->wrong.value_or(0) == 0) continue;
      notes_.push_back(
          fmt::format("not verified: {} of {} tells of {} wrong elements", row->where, file_, *row->wrong));
    }
    if (const auto pattern = ranks_ == 2 && !wishes_.pattern ? pattern_of(test) : wishes_.pattern) {
      return curve(table, test, *pattern);
    }
    return workload(table, test);
  }

 private:
  [[nodiscard]] int ranks_of(const NcclRun& run) const {
    if (run.ranks != 0 && wishes_.ranks && *wishes_.ranks != run.ranks) {
      throw UsageError(fmt::format("--ranks {}: {} tells of {}", *wishes_.ranks, file_, run.ranks));
    }
    if (run.ranks == 0 && !wishes_.ranks) {
      throw UsageError(fmt::format("{}: does not tell how many ranks there were: say it with --ranks", file_));
    }
    return run.ranks != 0 ? run.ranks : *wishes_.ranks;
  }

  /// The program that the text names, that the user names, or the only one whose rows look so.
  const NcclTest& test_of(const Table& table) {
    const NcclTest* named = table.run->test;
    if (!wishes_.test.empty()) {
      const NcclTest* const wished = nccl_test_named(wishes_.test);
      if (wished == nullptr) {
        throw UsageError(fmt::format("unknown test '{}' (there are: {})", wishes_.test, names_of_nccl_tests()));
      }
      if (named != nullptr && named != wished) {
        throw UsageError(fmt::format("--test {}: {} says {}", wishes_.test, file_, named->program));
      }
      named = wished;
    }
    const Columns columns(table, ranks_);
    if (named != nullptr) {
      if (columns.fit_bus(*named)) return *named;
      throw InputError(fmt::format("{}: error: busbw is {:.4g} of algbw, which is not that of {} between {} ranks",
                                   file_, columns.bus_factor(), named->program, ranks_));
    }
    std::vector<const NcclTest*> fitting;
    for (const NcclTest& test : kTests) {
      if (columns.fit(test)) fitting.push_back(&test);
    }
    if (fitting.size() == 1) {
      notes_.push_back(
          fmt::format("the text does not name its test: its columns are those of {}", fitting[0]->program));
      return *fitting[0];
    }
    std::string names;
    for (const NcclTest* test : fitting) names += fmt::format("{}{}", names.empty() ? "" : " or ", test->program);
    throw UsageError(fmt::format("{}: does not name its test{}: say it with --test", file_,
                                 names.empty() ? "" : ", which may be " + names));
  }

  [[nodiscard]] static bench::Statistics time_of(const NcclRow& row) {
    return row.samples_us.empty() ? single_figure(row.time_us) : bench::summarize(row.samples_us);
  }
  [[nodiscard]] static bool verified(const NcclRow& row) { return row.wrong && *row.wrong == 0; }

  [[nodiscard]] nlohmann::json environment(const Table& table) {
    const bool each = !table.rows.front()->samples_us.empty();
    auto origin = make_origin(Tool::nccl_tests, program_, file_);
    for (const auto& [name, value] : table.run->facts.items()) origin[name] = value;
    if (const std::string& type = table.rows.front()->type; !type.empty()) origin["datatype"] = type;
    origin["figure"] = fmt::format("{} of rounds that follow each other", each ? "median" : "mean");
    for (const char* const end : {kSendBuffer, kReceiveBuffer}) origin[end] = "DEVICE";
    if (!each) notes_.emplace_back("measured times are means, of which nobody told the spread");
    return {{bench::kOriginMember, std::move(origin)}};
  }

  Imported curve(const Table& table, const NcclTest& test, Pattern pattern) {
    const NcclRun& run = *table.run;
    if (const auto own = pattern_of(test); ranks_ == 2 && pattern != own) {
      throw UsageError(fmt::format("--pattern {}: {} measures {}", bench::to_string(pattern), file_,
                                   own ? bench::to_string(*own) : test.workload));
    }
    bench::Result result{.world = "measured",
                         .program = program_,
                         .command = run.command,
                         .series = {.label = std::string(test.program),
                                    .pattern = pattern,
                                    .told = {.settings = false, .window = false, .cold_us = false}}};
    if (ranks_ != 2) notes_.push_back(fmt::format("measured with {} ranks", ranks_));
    for (const NcclRow* row : table.rows) {
      bench::Point point = point_of_time(row->size, time_of(*row), pattern);
      point.samples_us = row->samples_us;
      point.verified = verified(*row);
      result.series.points.push_back(std::move(point));
    }
    result.environment = environment(table);
    result.notes = std::move(notes_);
    // Times of single rounds come from CUDA events.
    result.series.clock = table.rows.front()->samples_us.empty() ? "host" : "device";
    if (const auto found = run.places.find(0); found != run.places.end()) result.series.from = found->second;
    if (const auto found = run.places.find(1); found != run.places.end()) result.series.to = found->second;
    add_wishes(result.series, wishes_, file_);
    if (!result.series.protocol.empty()) check_protocol(result, file_);
    return result;
  }

  Imported workload(const Table& table, const NcclTest& test) {
    const NcclRun& run = *table.run;
    require_workload_wishes(wishes_, file_);
    bench::WorkloadFile result{.world = "measured", .program = program_, .command = run.command};
    bench::WorkloadSeries& series = result.series;
    series.workload = test.workload;
    series.protocol = series.protocol_between = wishes_.protocol;
    series.ranks = ranks_;
    // Nobody knows where the ranks were that a text leaves out.
    if (run.places.size() == static_cast<std::size_t>(ranks_)) {
      std::set<std::string> nodes;
      for (const auto& [rank, place] : run.places) {
        nodes.insert(place.substr(0, place.find('/')));
        series.places.push_back(place);
      }
      series.nodes = static_cast<int>(nodes.size());
    }
    for (const NcclRow* row : table.rows) {
      series.points.push_back(workload_point(row->size, time_of(*row), test.bus_factor(ranks_)));
      series.points.back().verified = verified(*row);
    }
    result.environment = bench::JsonValue(environment(table));
    series.notes = std::move(notes_);
    return result;
  }

  const std::string& file_;
  const ImportWishes& wishes_;
  int ranks_ = 0;
  std::string program_{};
  std::vector<std::string> notes_{};
};

}  // namespace

const NcclTest* nccl_test_named(std::string_view words) {
  const auto found =
      std::ranges::find_if(kTests, [&](const NcclTest& test) { return words.starts_with(test.program); });
  return found == kTests.end() ? nullptr : &*found;
}

std::string names_of_nccl_tests() {
  std::string all;
  for (const NcclTest& test : kTests) all += fmt::format("{}{}", all.empty() ? "" : ", ", test.program);
  return all;
}

Imported import_runs(const std::vector<NcclRun>& runs, const std::string& file, const ImportWishes& wishes) {
  const std::vector<Table> tables = split_tables(runs);
  if (tables.empty()) throw InputError(fmt::format("{}: error: holds no result: did the test end?", file));
  std::vector<std::string> names;
  for (const Table& table : tables) names.push_back(words_of(table));
  return Import(file, wishes).of(tables[choose_table(names, wishes, file)]);
}

}  // namespace twinlink::validate
