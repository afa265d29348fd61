// Finished points of a study, kept by SQLite: each is on the disk at once, and a killed process loses none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace twinlink::platforms {
class Database;
}  // namespace twinlink::platforms

namespace twinlink::model {

/// What must be the same for two runs to be one study.
struct StudyIdentity {
  std::string study{};              ///< all of its points, and the platforms that they are run on
  std::string program{};            ///< with versions
  std::vector<std::string> axes{};  ///< names
  std::size_t points = 0;           ///< that it has in all

  bool operator==(const StudyIdentity&) const = default;
};

/// What a study keeps of one size of a result.
struct SizeTime {
  std::uint64_t bytes = 0;
  std::string algorithm{};  ///< that a workload ran
  double time_us = 0;       ///< median
  double rate_MBps = 0;     ///< bandwidth, or of a workload bus bandwidth
  std::uint64_t ports = 0;  ///< of the fabric's switches; 0 where there is none
  std::uint64_t cables = 0;

  bool operator==(const SizeTime&) const = default;
};
/// As JSON, for a database and from process to process.
std::string to_text(const std::vector<SizeTime>& times);
/// An InputError that names `origin` for a text that to_text() would not have written, or without a size.
std::vector<SizeTime> size_times(const std::string& text, const std::string& origin);

struct FinishedPoint {
  std::size_t place = 0;              ///< among all points of the study
  std::vector<std::string> values{};  ///< by axis
  int sample = 0;
  std::string error{};            ///< why there are no times
  std::vector<SizeTime> times{};  ///< by size

  bool operator==(const FinishedPoint&) const = default;
};

class StudyDatabase {
 public:
  /// Creates the file, or goes on with it if `resume`. A UsageError where it is there and not to be resumed, or of
  /// another study or program; an EnvironmentError with SQLite's text for all else, here and below.
  StudyDatabase(const std::filesystem::path& file, const StudyIdentity& identity, bool resume);
  /// Opens what is there, to read it. An InputError where it is no database of a study.
  explicit StudyDatabase(const std::filesystem::path& file);
  ~StudyDatabase();

  [[nodiscard]] const StudyIdentity& identity() const { return identity_; }
  /// The places of all points that are finished.
  [[nodiscard]] std::set<std::size_t> done() const;
  /// By place.
  [[nodiscard]] std::vector<FinishedPoint> points() const;
  /// On the disk when it returns.
  void add(const FinishedPoint& point);

 private:
  [[nodiscard]] StudyIdentity stored_identity() const;

  std::filesystem::path file_;
  std::unique_ptr<platforms::Database> database_;
  StudyIdentity identity_{};
};

}  // namespace twinlink::model
