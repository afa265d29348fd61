#include "validate/history/history.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "platforms/database/database.hpp"
#include "protocols/bench/results/output_files.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::validate {

#ifdef TWINLINK_SQLITE
using platforms::Database;
using platforms::Statement;
using platforms::Transaction;

namespace {

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

History::History(const std::filesystem::path& file) {
  // The results that it is fed with lie elsewhere.
  bench::note_output("--history", file);
  constexpr Seconds kPatience{30};  // prologs of many nodes end at the same time
  database_ = std::make_shared<Database>(file, Database::Access::write, kPatience);
  const Database& database = *database_;
  {
    Statement tables(database,
                     "SELECT count(*), sum(name IN ('study', 'points', 'node_history', 'node_runs', 'node_figures')) "
                     "FROM sqlite_master WHERE type = 'table'");
    tables.step();
    if (tables.number(0) > 0 && tables.number(1) == 0) {
      throw UsageError(fmt::format("{}: a database of something else; name another file", file.string()));
    }
  }
  database.execute("PRAGMA journal_mode = WAL");
  Transaction all(database);
  database.execute("CREATE TABLE IF NOT EXISTS node_history (schema INTEGER)");
  database.execute(
      "CREATE TABLE IF NOT EXISTS node_runs (run INTEGER PRIMARY KEY, node TEXT, kind TEXT, date TEXT, host TEXT, "
      "gpus TEXT, software TEXT, file TEXT, UNIQUE (node, kind, date, file))");
  database.execute(
      "CREATE TABLE IF NOT EXISTS node_figures (run INTEGER, test TEXT, curve TEXT, gpu TEXT, peer TEXT, band "
      "INTEGER, sizes TEXT, log_us REAL, deviation REAL, unstable INTEGER)");
  database.execute("CREATE INDEX IF NOT EXISTS node_figures_of_run ON node_figures (run)");
  std::int64_t schema = 0;
  {
    Statement stored(database, "SELECT schema FROM node_history");
    if (stored.step()) schema = stored.number(0);
  }
  if (schema == 0) {
    Statement(database, "INSERT INTO node_history VALUES (?)").bind(kHistorySchema).run();
  } else if (schema != kHistorySchema) {
    throw UsageError(
        fmt::format("{}: its history has schema {}, and this program knows {}", file.string(), schema, kHistorySchema));
  }
  all.commit();
}

History::~History() = default;

void History::add(const FleetFiles& files) {
  Transaction all(*database_);
  Statement run(
      *database_,
      "INSERT OR IGNORE INTO node_runs (node, kind, date, host, gpus, software, file) VALUES (?, ?, ?, ?, ?, ?, ?)");
  Statement figure(*database_, "INSERT INTO node_figures VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const FleetNode& node : files.nodes) {
    std::string gpus;
    for (const NamedGpu& gpu : node.gpus) gpus += fmt::format("{}{}", gpus.empty() ? "" : "; ", gpu.text());
    for (const NodeFile& file : node.files) {
      if (file.date.empty() || file.to_come) continue;
      const std::int64_t before = database_->changes();
      run.bind(node.name).bind(file.kind()).bind(file.date);
      run.bind(file.hosts.empty() ? std::string() : file.hosts.front()).bind(gpus).bind(file.software).bind(file.file);
      run.run();
      if (database_->changes() == before) continue;  // it is stored
      const std::int64_t id = database_->last_row();
      for (const NodeCurve& curve : file.curves) {
        for (const auto& [band, dated] : figures_of(curve, file.date)) {
          figure.bind(id).bind(curve.test).bind(curve.name).bind(curve.from).bind(curve.to);
          figure.bind(static_cast<std::int64_t>(band)).bind(sizes_of(curve, band));
          figure.bind(dated.log_us).bind(dated.deviation).bind(static_cast<std::int64_t>(dated.unstable ? 1 : 0));
          figure.run();
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
    Statement rows(*database_,
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
  Statement rows(*database_, "SELECT node, kind, max(date) FROM node_runs GROUP BY node, kind");
  while (rows.step()) dates[{rows.text(0), rows.text(1)}] = rows.text(2);
  return dates;
}

bool History::holds(const std::string& node, const NodeFile& file) const {
  Statement runs(*database_, "SELECT count(*) FROM node_runs WHERE node = ? AND kind = ? AND date = ? AND file = ?");
  runs.bind(node).bind(file.kind()).bind(file.date).bind(file.file);
  return runs.step() && runs.number(0) > 0;
}

#else

void require_history() {
  throw UnavailableError("--history: this program was built without SQLite (Debian: libsqlite3-dev)");
}
History::History(const std::filesystem::path&) { require_history(); }
History::~History() = default;
void History::add(const FleetFiles&) { require_history(); }
std::vector<NodeResultsOverTime> History::of(const FleetFiles& files) const {
  require_history();
  return std::vector<NodeResultsOverTime>(files.nodes.size());
}
bool History::holds(const std::string&, const NodeFile&) const { return false; }
std::map<std::pair<std::string, std::string>, std::string> History::newest() const { return {}; }

#endif

void expect_stored_nodes(const History& history, FleetFiles& files) {
  std::map<std::string, std::string> lost;
  for (const auto& [place, date] : history.newest()) {
    const std::string& name = place.first;
    if (std::ranges::find(files.nodes, name, &FleetNode::name) != files.nodes.end()) continue;
    lost[name] = std::max(lost[name], date);
  }
  for (const auto& [name, date] : lost) {
    files.nodes.push_back(
        {.name = name,
         .remarks = {
             fmt::format("has nothing here, and the history has results of {}; --nodes says who is expected", date)}});
  }
  std::ranges::sort(files.nodes, {}, &FleetNode::name);
}

std::vector<NodeResultsOverTime> keep_results(History& history, FleetFiles& files) {
  const auto newest = history.newest();
  for (FleetNode& node : files.nodes) {
    std::vector<std::string> late;
    std::string first;
    for (const NodeFile& file : node.files) {
      if (file.date.empty()) {
        node.remarks.push_back(file.file + " tells no date, nor do its folders' names: not kept in the history");
        continue;
      }
      const auto stored = newest.find({node.name, file.kind()});
      if (stored == newest.end() || file.date >= stored->second || history.holds(node.name, file)) continue;
      if (late.empty()) first = fmt::format("of {}, and the history has results of {}", file.date, stored->second);
      late.push_back(file.file);
    }
    if (late.empty()) continue;
    const std::string more =
        late.size() == 1 ? " is" : fmt::format(" and {} more are late, the first", late.size() - 1);
    node.remarks.push_back(
        fmt::format("{}{} {}: they came late, or the clock runs backward", late.front(), more, first));
  }
  history.add(files);
  return history.of(files);
}

}  // namespace twinlink::validate
