// What comes of a study: its table, and the databases of several processes joined.
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "model/study/sweep/study_database.hpp"

namespace twinlink::model {

/// A row of the tidy table: one size of one point, over all of its samples.
struct StudyRow {
  std::vector<std::string> values{};  ///< by axis
  std::string error{};                ///< instead of all below
  std::uint64_t bytes = 0;
  std::string algorithm{};  ///< that a workload ran, and the protocol that was chosen where the study names none
  double time_us = 0;       ///< median over the samples
  double p5_us = 0;
  double p95_us = 0;
  double rate_MBps = 0;  ///< of the median sample: bandwidth, or of a workload bus bandwidth
  int samples = 0;
  std::uint64_t ports = 0;  ///< of the fabric's switches; 0: nobody has said
  std::uint64_t cables = 0;
};
/// Has any row what its fabric costs?
bool any_fabric(std::span<const StudyRow> rows);

/// Axes in two parts: what a user sets to be fast, and all others, which say what is asked.
class StudyAxes {
 public:
  explicit StudyAxes(const StudyIdentity& identity);

  std::vector<std::string> asked{};  ///< names
  std::vector<std::string> set{};
  [[nodiscard]] std::vector<std::string> asked_of(const StudyRow& row) const { return values_at(asked_axes_, row); }
  [[nodiscard]] std::vector<std::string> set_of(const StudyRow& row) const { return values_at(set_axes_, row); }

 private:
  static std::vector<std::string> values_at(const std::vector<std::size_t>& axes, const StudyRow& row);

  std::vector<std::size_t> asked_axes_{};
  std::vector<std::size_t> set_axes_{};
};

/// The row with the least time, and how many others have the same, to the digits that are shown.
struct BestRow {
  const StudyRow* row = nullptr;
  std::size_t as_fast = 0;

  /// " (and 2 more, as fast)"; empty where there is none.
  [[nodiscard]] std::string ties() const;
};
/// For each size, and for each value of what is asked; in the order of the rows. Of rows as fast the first.
std::vector<BestRow> best_rows(const StudyIdentity& identity, std::span<const StudyRow> rows);

/// By place; where samples failed, the row has the first error.
std::vector<StudyRow> rows_of(std::span<const FinishedPoint> points);
std::string to_csv(const StudyIdentity& identity, std::span<const StudyRow> rows);
nlohmann::json to_json(const StudyIdentity& identity, std::span<const StudyRow> rows);
/// For each size the settings with the least time, for each value of the other axes.
void print_best(const StudyIdentity& identity, std::span<const StudyRow> rows, std::ostream& out);

/// Points of several databases of one study, by place. Doubles that agree are one. A UsageError for another study or
/// program; an Error that names the point and both files where doubles differ.
std::vector<FinishedPoint> merged(std::span<const std::filesystem::path> databases);

}  // namespace twinlink::model
