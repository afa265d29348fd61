#include "validate/history/history.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#ifdef TWINLINK_SQLITE
#include <sqlite3.h>
#endif

#include "protocols/bench/results/output_files.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::validate {

#ifdef TWINLINK_SQLITE
namespace {

/// A prepared statement, which can be run again with other values.
class Statement {
 public:
  Statement(sqlite3* connection, const char* sql) : connection_(connection) {
    if (sqlite3_prepare_v2(connection, sql, -1, &statement_, nullptr) != SQLITE_OK) fail();
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(const std::string& text) {
    sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    return *this;
  }
  Statement& bind(double number) {
    sqlite3_bind_double(statement_, ++bound_, number);
    return *this;
  }
  Statement& bind(std::int64_t number) {
    sqlite3_bind_int64(statement_, ++bound_, number);
    return *this;
  }
  /// Is there a row?
  bool step() {
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) fail();
    return code == SQLITE_ROW;
  }
  /// For other values.
  void run_and_reset() {
    step();
    sqlite3_reset(statement_);
    bound_ = 0;
  }
  [[nodiscard]] std::string text(int column) const {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return text == nullptr ? std::string() : std::string(text);
  }
  [[nodiscard]] double real(int column) const { return sqlite3_column_double(statement_, column); }
  [[nodiscard]] std::int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }

 private:
  [[noreturn]] void fail() const {
    const char* const file = sqlite3_db_filename(connection_, "main");
    const int code = sqlite3_errcode(connection_) & 0xff;
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED) {
      throw UsageError(fmt::format("{}: a study or another fleet is at work on it", file == nullptr ? "" : file));
    }
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) {
      throw InputError(
          fmt::format("{}: error: no database: {}", file == nullptr ? "" : file, sqlite3_errmsg(connection_)));
    }
    throw EnvironmentError("SQLite", sqlite3_errmsg(connection_));
  }

  sqlite3* connection_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

void execute(sqlite3* connection, const char* sql) {
  Statement statement(connection, sql);
  while (statement.step()) {
  }
}

/// Either all of what is done while it lives, or nothing.
class Transaction {
 public:
  explicit Transaction(sqlite3* connection) : connection_(connection) { execute(connection, "BEGIN IMMEDIATE"); }
  ~Transaction() {
    if (!done_) sqlite3_exec(connection_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit() {
    execute(connection_, "COMMIT");
    done_ = true;
  }

 private:
  sqlite3* connection_;
  bool done_ = false;
};

/// A curve's figures of one file: stable points alone, where there are any.
std::map<Band, DatedFigure> figures_of(const NodeCurve& curve, const std::string& date) {
  std::map<Band, DatedFigure> figures;
  for (const Band band : {Band::small, Band::middle, Band::large}) {
    for (const bool unstable : {false, true}) {
      double sum = 0;
      double squares = 0;
      std::size_t count = 0;
      for (const NodePoint& point : curve.points) {
        if (band_of(point.size) != band || point.unstable != unstable) continue;
        sum += point.log_us;
        squares += point.deviation * point.deviation;
        ++count;
      }
      if (count == 0) continue;
      const auto n = static_cast<double>(count);
      figures[band] = {.date = date, .log_us = sum / n, .deviation = std::sqrt(squares) / n, .unstable = unstable};
      break;
    }
  }
  return figures;
}

/// Sizes of a curve's band: means over other sizes are other figures.
std::string sizes_of(const NodeCurve& curve, Band band) {
  std::string text;
  for (const NodePoint& point : curve.points) {
    if (band_of(point.size) == band) text += fmt::format("{}{}", text.empty() ? "" : " ", point.size.count());
  }
  return text;
}

constexpr std::int64_t kHistorySchema = 1;

}  // namespace

void require_history() {}

void History::Close::operator()(sqlite3* connection) const { sqlite3_close(connection); }

History::History(const std::filesystem::path& file) : file_(file) {
  // The results that it is fed with lie elsewhere.
  bench::note_output("--history", file);
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  connection_.reset(connection);
  if (code != SQLITE_OK) throw EnvironmentError(file.string(), sqlite3_errmsg(connection));
  constexpr int kPatienceMs = 30000;  // prologs of many nodes end at the same time
  sqlite3_busy_timeout(connection, kPatienceMs);
  {
    Statement tables(connection,
                     "SELECT count(*), sum(name IN ('study', 'points', 'node_history', 'node_runs', 'node_figures')) "
                     "FROM sqlite_master WHERE type = 'table'");
    tables.step();
    if (tables.number(0) > 0 && tables.number(1) == 0) {
      throw UsageError(fmt::format("{}: a database of something else; name another file", file.string()));
    }
  }
  execute(connection, "PRAGMA journal_mode = WAL");
  Transaction all(connection);
  execute(connection, "CREATE TABLE IF NOT EXISTS node_history (schema INTEGER)");
  execute(connection,
          "CREATE TABLE IF NOT EXISTS node_runs (run INTEGER PRIMARY KEY, node TEXT, kind TEXT, date TEXT, host TEXT, "
          "gpus TEXT, software TEXT, file TEXT, UNIQUE (node, kind, date, file))");
  execute(connection,
          "CREATE TABLE IF NOT EXISTS node_figures (run INTEGER, test TEXT, curve TEXT, gpu TEXT, peer TEXT, band "
          "INTEGER, sizes TEXT, log_us REAL, deviation REAL, unstable INTEGER)");
  execute(connection, "CREATE INDEX IF NOT EXISTS node_figures_of_run ON node_figures (run)");
  std::int64_t schema = 0;
  {
    Statement stored(connection, "SELECT schema FROM node_history");
    if (stored.step()) schema = stored.number(0);
  }
  if (schema == 0) {
    Statement(connection, "INSERT INTO node_history VALUES (?)").bind(kHistorySchema).step();
  } else if (schema != kHistorySchema) {
    throw UsageError(
        fmt::format("{}: its history has schema {}, and this program knows {}", file.string(), schema, kHistorySchema));
  }
  all.commit();
}

History::~History() = default;

void History::add(const FleetFiles& files) {
  Transaction all(connection_.get());
  Statement run(
      connection_.get(),
      "INSERT OR IGNORE INTO node_runs (node, kind, date, host, gpus, software, file) VALUES (?, ?, ?, ?, ?, ?, ?)");
  Statement figure(connection_.get(), "INSERT INTO node_figures VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const FleetNode& node : files.nodes) {
    std::string gpus;
    for (const NamedGpu& gpu : node.gpus) gpus += fmt::format("{}{}", gpus.empty() ? "" : "; ", gpu.text());
    for (const NodeFile& file : node.files) {
      if (file.date.empty()) continue;
      const int before = sqlite3_total_changes(connection_.get());
      run.bind(node.name).bind(file.kind()).bind(file.date);
      run.bind(file.hosts.empty() ? std::string() : file.hosts.front()).bind(gpus).bind(file.software).bind(file.file);
      run.run_and_reset();
      if (sqlite3_total_changes(connection_.get()) == before) continue;  // it is stored
      const std::int64_t id = sqlite3_last_insert_rowid(connection_.get());
      for (const NodeCurve& curve : file.curves) {
        for (const auto& [band, dated] : figures_of(curve, file.date)) {
          figure.bind(id).bind(curve.test).bind(curve.name).bind(curve.from).bind(curve.to);
          figure.bind(static_cast<std::int64_t>(band)).bind(sizes_of(curve, band));
          figure.bind(dated.log_us).bind(dated.deviation).bind(static_cast<std::int64_t>(dated.unstable ? 1 : 0));
          figure.run_and_reset();
        }
      }
    }
  }
  all.commit();
}

std::vector<NodeResultsOverTime> History::of(const FleetFiles& files) const {
  std::vector<NodeResultsOverTime> all;
  for (const FleetNode& node : files.nodes) {
    NodeResultsOverTime result;
    // Only figures over the sizes that the newest run has can be held against each other.
    std::map<std::tuple<CurveKey, Band, std::string>, FigureHistory> figures;
    std::map<std::pair<CurveKey, Band>, std::pair<std::string, std::string>> newest;  // date and sizes
    std::set<std::string> dates;
    Statement rows(connection_.get(),
                   "SELECT kind, date, test, curve, gpu, peer, band, sizes, log_us, deviation, unstable FROM node_runs "
                   "JOIN node_figures USING (run) WHERE node = ? ORDER BY date, run");
    rows.bind(node.name);
    while (rows.step()) {
      const CurveKey key{
          .kind = rows.text(0), .test = rows.text(2), .name = rows.text(3), .from = rows.text(4), .to = rows.text(5)};
      const Band band = static_cast<Band>(std::clamp<std::int64_t>(rows.number(6), 0, kBands - 1));
      const std::string date = rows.text(1);
      const std::string sizes = rows.text(7);
      dates.insert(date);
      FigureHistory& figure = figures[{key, band, sizes}];
      figure.key = key;
      figure.band = band;
      const DatedFigure dated{
          .date = date, .log_us = rows.real(8), .deviation = rows.real(9), .unstable = rows.number(10) != 0};
      if (figure.dated.empty() || figure.dated.back().date != date) {
        figure.dated.push_back(dated);
      } else {
        figure.dated.back() = dated;
      }
      newest[{key, band}] = {date, sizes};
    }
    for (auto& [place, figure] : figures) {
      const auto& [key, band, sizes] = place;
      if (newest[{key, band}].second == sizes) result.figures.push_back(std::move(figure));
    }
    result.dates.assign(dates.begin(), dates.end());
    all.push_back(std::move(result));
  }
  return all;
}

std::map<std::pair<std::string, std::string>, std::string> History::newest() const {
  std::map<std::pair<std::string, std::string>, std::string> dates;
  Statement rows(connection_.get(), "SELECT node, kind, max(date) FROM node_runs GROUP BY node, kind");
  while (rows.step()) dates[{rows.text(0), rows.text(1)}] = rows.text(2);
  return dates;
}

#else

void require_history() {
  throw UnavailableError("--history: this program was built without SQLite (Debian: libsqlite3-dev)");
}
void History::Close::operator()(sqlite3*) const {}
History::History(const std::filesystem::path& file) : file_(file) { require_history(); }
History::~History() = default;
void History::add(const FleetFiles&) { require_history(); }
std::vector<NodeResultsOverTime> History::of(const FleetFiles& files) const {
  require_history();
  return std::vector<NodeResultsOverTime>(files.nodes.size());
}
std::map<std::pair<std::string, std::string>, std::string> History::newest() const { return {}; }

#endif

namespace {

/// "2026-11-26T08:15:00Z", now.
std::string now_text() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace

std::vector<NodeResultsOverTime> keep_results(History& history, FleetFiles& files) {
  const auto newest = history.newest();
  const std::string now = now_text();
  for (FleetNode& node : files.nodes) {
    for (const NodeFile& file : node.files) {
      if (file.date.empty()) {
        node.remarks.push_back(file.file + " tells no date, nor do its folders' names: not kept in the history");
        continue;
      }
      if (file.date > now)
        node.remarks.push_back(
            fmt::format("{} is of {}, which is still to come: whose clock is wrong?", file.file, file.date));
      const auto stored = newest.find({node.name, file.kind()});
      if (stored != newest.end() && file.date < stored->second) {
        node.remarks.push_back(
            fmt::format("{} is of {}, and the history has results of {}: they came late, or the clock runs backward",
                        file.file, file.date, stored->second));
      }
    }
  }
  history.add(files);
  return history.of(files);
}

}  // namespace twinlink::validate
