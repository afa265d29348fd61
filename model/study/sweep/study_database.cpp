#include "model/study/sweep/study_database.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "platforms/database/database.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/json_members.hpp"
#include "protocols/bench/results/json_statistics.hpp"
#include "protocols/bench/results/statistics.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::model {
namespace {

using platforms::Database;
using platforms::Statement;
using platforms::Transaction;

bool has_tables(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return false;
  try {
    return Statement(Database(file, Database::Access::read), "SELECT name FROM sqlite_master").step();
  } catch (const EnvironmentError&) {
    return true;  // whatever it is, it is nothing to write into
  } catch (const InputError&) {
    return true;
  }
}

std::string to_text(const std::vector<std::string>& texts) { return bench::to_text(texts); }
/// An InputError that begins with `origin`.
std::vector<std::string> to_texts(const std::string& text, const std::string& origin) {
  const nlohmann::json list = nlohmann::json::parse(text, nullptr, false);
  const bool texts = list.is_array() && std::ranges::all_of(list, [](const auto& each) { return each.is_string(); });
  if (!texts) throw InputError(origin + " is damaged: a list of texts is not");
  return list.get<std::vector<std::string>>();
}

}  // namespace

std::string to_text(const std::vector<SizeTime>& times) {
  nlohmann::json list = nlohmann::json::array();
  for (const SizeTime& time : times) {
    list.push_back(
        {{"bytes", time.bytes}, {"time_us", time.time_us}, {"MBps", time.rate_MBps}, {"algorithm", time.algorithm}});
    if (time.ports > 0) list.back().update({{"ports", time.ports}, {"cables", time.cables}});
  }
  return bench::to_text(list);
}

std::vector<SizeTime> size_times(const std::string& text, const std::string& origin) {
  constexpr std::uint64_t kMostBought = 1'000'000'000'000;
  const nlohmann::json list = nlohmann::json::parse(text, nullptr, false);
  if (!list.is_array() || list.empty()) throw InputError(origin + " has no list of sizes");
  std::vector<SizeTime> times;
  for (const nlohmann::json& each : list) {
    bench::Members members(each, origin, fmt::format("[{}]", times.size()));
    times.push_back({.bytes = members.count("bytes", bench::kMostBytes),
                     .algorithm = members.text("algorithm"),
                     .time_us = members.number("time_us"),
                     .rate_MBps = members.number("MBps")});
    if (each.contains("ports")) {
      times.back().ports = members.count("ports", kMostBought);
      times.back().cables = members.count("cables", kMostBought);
    }
    members.done();
    if (const std::string why = bench::why_no_time(times.back().time_us); !why.empty()) members.fail("time_us", why);
  }
  return times;
}

StudyDatabase::StudyDatabase(const std::filesystem::path& file, const StudyIdentity& identity, bool resume)
    : file_(file), identity_(identity) {
  const bool is_there = has_tables(file);  // a process may have been killed before it made any
  if (is_there) {
    const StudyDatabase before(file);
    if (before.identity_.study != identity.study || before.identity_.axes != identity.axes) {
      throw UsageError(
          fmt::format("{}: of another study, or its file or a platform has changed since; take another "
                      "--out",
                      file.string()));
    }
    if (before.identity_.program != identity.program) {
      throw UsageError(fmt::format("{}: by {}, and this is {}; take another --out", file.string(),
                                   before.identity_.program, identity.program));
    }
    if (!resume) {
      throw UsageError(
          fmt::format("{}: {} points of this study are there; --resume goes on", file.string(), before.done().size()));
    }
  }
  database_ = std::make_unique<Database>(file, Database::Access::write);
  database_->execute("PRAGMA locking_mode = EXCLUSIVE");  // two studies in one folder would do the same points
  database_->execute("PRAGMA journal_mode = WAL");
  database_->execute("PRAGMA synchronous = FULL");  // a commit is on the disk, whatever happens to the power
  if (is_there) return;
  Transaction all(*database_);
  database_->execute("CREATE TABLE study (study TEXT, program TEXT, axes TEXT, points INTEGER)");
  database_->execute(
      "CREATE TABLE points (place INTEGER PRIMARY KEY, axis_values TEXT, sample INTEGER, error TEXT, result TEXT)");
  Statement(*database_, "INSERT INTO study VALUES (?, ?, ?, ?)")
      .bind(identity.study)
      .bind(identity.program)
      .bind(to_text(identity.axes))
      .bind(static_cast<std::int64_t>(identity.points))
      .run();
  all.commit();
}

StudyDatabase::StudyDatabase(const std::filesystem::path& file) : file_(file) {
  try {
    database_ = std::make_unique<Database>(file, Database::Access::read);
    identity_ = stored_identity();
  } catch (const EnvironmentError& error) {
    const std::string what = error.what();  // begins with where in our sources
    throw InputError(fmt::format("{}: error: no database of a study: {}", file.string(),
                                 what.substr(std::min(what.size(), what.find("SQLite")))));
  }
}

StudyDatabase::~StudyDatabase() = default;

StudyIdentity StudyDatabase::stored_identity() const {
  Statement rows(*database_, "SELECT study, program, axes, points FROM study");
  if (!rows.step()) throw EnvironmentError("SQLite", "the table 'study' is empty");
  return {rows.text(0), rows.text(1), to_texts(rows.text(2), file_.string() + ": error: axes"),
          static_cast<std::size_t>(rows.number(3))};
}

std::set<std::size_t> StudyDatabase::done() const {
  std::set<std::size_t> places;
  Statement rows(*database_, "SELECT place FROM points");
  while (rows.step()) places.insert(static_cast<std::size_t>(rows.number(0)));
  return places;
}

std::vector<FinishedPoint> StudyDatabase::points() const {
  std::vector<FinishedPoint> all;
  Statement rows(*database_, "SELECT place, axis_values, sample, error, result FROM points ORDER BY place");
  while (rows.step()) {
    const std::string where = fmt::format("{}: error: point {}", file_.string(), rows.number(0));
    if (rows.number(0) < 0 || static_cast<std::size_t>(rows.number(0)) >= identity_.points) {
      throw InputError(fmt::format("{} is none of {}", where, identity_.points));
    }
    FinishedPoint point{.place = static_cast<std::size_t>(rows.number(0)),
                        .values = to_texts(rows.text(1), where),
                        .sample = static_cast<int>(rows.number(2)),
                        .error = rows.text(3)};
    if (point.values.size() != identity_.axes.size()) {
      throw InputError(fmt::format("{} has {} values for {} axes", where, point.values.size(), identity_.axes.size()));
    }
    if (point.error.empty()) point.times = size_times(rows.text(4), where);
    all.push_back(std::move(point));
  }
  return all;
}

void StudyDatabase::add(const FinishedPoint& point) {
  Statement(*database_, "INSERT INTO points VALUES (?, ?, ?, ?, ?)")
      .bind(static_cast<std::int64_t>(point.place))
      .bind(to_text(point.values))
      .bind(static_cast<std::int64_t>(point.sample))
      .bind(point.error)
      .bind(to_text(point.times))
      .run();
}

}  // namespace twinlink::model
