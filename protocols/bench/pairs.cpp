#include "protocols/bench/pairs.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <ostream>

#include <fmt/format.h>

#include "protocols/bench/collectives.hpp"
#include "protocols/bench/files.hpp"
#include "protocols/bench/prober.hpp"

namespace twinlink::bench {
namespace {

/// For normally distributed values, this times the median absolute deviation is the standard deviation.
constexpr double kScale = 1.4826;
constexpr double kMostDeviations = 5;
constexpr double kLeastShare = 0.05;
constexpr std::string_view kNothing = "-";

std::vector<Result> results_of(const PairFile& file) {
  std::vector<Result> results;
  for (const Series& series : file.pairs.series) {
    results.push_back({.world = file.world,
                       .program = file.program,
                       .command = file.command,
                       .environment = file.environment,
                       .series = series});
  }
  return results;
}

/// A matrix of one figure at one size.
struct Matrix {
  std::string title;
  double (*value)(const Point&);
  std::size_t point;  ///< of every series
};

/// "8.21" or "8.21*", by sender and receiver.
std::map<std::pair<std::string, std::string>, std::string> cells(const PairSeries& pairs, const Matrix& matrix) {
  std::map<std::string, std::vector<const Series*>> by_path;
  for (const Series& series : pairs.series) by_path[series.points[matrix.point].path].push_back(&series);
  std::map<std::pair<std::string, std::string>, std::string> all;
  for (const auto& [path, alike] : by_path) {
    std::vector<double> values;
    for (const Series* series : alike) values.push_back(matrix.value(series->points[matrix.point]));
    const std::vector<bool> marked = outliers(values);
    for (std::size_t i = 0; i < alike.size(); ++i) {
      all[{alike[i]->from, alike[i]->to}] = fmt::format("{:.2f}{}", values[i], marked[i] ? "*" : " ");
    }
  }
  return all;
}

void print_matrix(const PairSeries& pairs, const Matrix& matrix, std::ostream& out) {
  std::vector<std::string> places;
  for (const Series& series : pairs.series) {
    for (const std::string& place : {series.from, series.to}) {
      if (std::ranges::find(places, place) == places.end()) places.push_back(place);
    }
  }
  std::ranges::sort(places, [](const std::string& a, const std::string& b) {
    const Place left = parse_place(a);
    const Place right = parse_place(b);
    return std::pair(left.node, left.gpu) < std::pair(right.node, right.gpu);
  });
  const auto known = cells(pairs, matrix);
  out << fmt::format("\n# {}\n{:<10}", matrix.title, "# from, to");
  for (const std::string& to : places) out << fmt::format("{:>12} ", to);
  out << '\n';
  for (const std::string& from : places) {
    out << fmt::format("{:<10}", from);
    for (const std::string& to : places) {
      const auto cell = known.find({from, to});
      out << (cell == known.end() ? fmt::format("{:>12} ", kNothing) : fmt::format("{:>13}", cell->second));
    }
    out << '\n';
  }
}

}  // namespace

PairSeries measure_all_pairs(Rank& rank, const Protocol& protocol, const Plan& plan, Seconds patience) {
  const Patience turn{patience};
  nlohmann::json mine{{"notes", nlohmann::json::array()}, {"results", nlohmann::json::array()}};
  for (RankId first{0}; first.value < rank.ranks(); ++first.value) {
    for (RankId second{0}; second.value < rank.ranks(); ++second.value) {
      // Of ranks on one GPU the first stands for all: the matrix has one place for them.
      if (first == second || repeats_a_place(rank, first) || repeats_a_place(rank, second)) continue;
      meet_all(rank, turn);
      if (rank.id() != first && rank.id() != second) continue;
      const Support support = protocol.supports(rank.path_to(rank.id() == first ? second : first));
      if (!support.usable()) {
        if (rank.id() == first) {
          mine["notes"].push_back(
              fmt::format("{} to {}: {}", to_string(rank.place(first)), to_string(rank.place(second)), support.reason));
        }
        continue;
      }
      Plan pair = plan;
      pair.first = first;
      pair.second = second;
      Series series = measure(rank, protocol, pair);
      // Only the series matters here; the program knows the rest, and says it in the file.
      if (rank.id() == first)
        mine["results"].push_back(to_json(Result{.world = "measured", .series = std::move(series)}));
    }
  }
  meet_all(rank, turn);

  PairSeries all;
  for (const std::string& text : gather(rank, to_text(mine), turn)) {
    const nlohmann::json json = nlohmann::json::parse(text);
    for (const auto& note : json.at("notes")) all.notes.push_back(note);
    for (const auto& result : json.at("results")) {
      all.series.push_back(result_from_json(result, "a rank's results").series);
    }
  }
  return all;
}

std::vector<bool> outliers(const std::vector<double>& values) {
  if (values.empty()) return {};
  const double median = summarize(values).median;
  std::vector<double> deviations;
  std::ranges::transform(values, std::back_inserter(deviations), [&](double v) { return std::abs(v - median); });
  const double spread = kScale * summarize(deviations).median;
  std::vector<bool> marked;
  for (const double deviation : deviations) {
    marked.push_back(deviation > kLeastShare * median && deviation > kMostDeviations * spread);
  }
  return marked;
}

nlohmann::json to_json(std::span<const Result> results, const std::vector<std::string>& notes) {
  nlohmann::json json{
      {"kind", kPairsKind}, {"schema", kPairsSchema}, {"notes", notes}, {"results", nlohmann::json::array()}};
  for (const Result& result : results) json["results"].push_back(to_json(result));
  return json;
}

nlohmann::json to_json(const PairFile& file) { return to_json(results_of(file), file.pairs.notes); }

std::string to_csv(std::span<const Result> results) {
  std::string csv;
  for (const Result& result : results) {
    const std::string rows = to_csv(result);
    csv += csv.empty() ? rows : rows.substr(rows.find('\n') + 1);
  }
  return csv;
}

std::string to_csv(const PairFile& file) { return to_csv(results_of(file)); }

void print_table(const PairFile& file, std::ostream& out) {
  for (const std::string& note : file.pairs.notes) out << fmt::format("# {}\n", note);
  if (file.pairs.series.empty()) {
    out << "# no pair that this protocol serves\n";
    return;
  }
  const Series& sample = file.pairs.series.front();
  out << fmt::format("# {}: {} {}, all pairs; * is an outlier among the pairs of one path\n", sample.label, file.world,
                     to_string(sample.pattern));
  const Point& smallest = sample.points.front();
  const Point& largest = sample.points.back();
  print_matrix(
      file.pairs,
      {fmt::format("us at {}", format_size(smallest.size)), [](const Point& p) { return p.time_us.median; }, 0}, out);
  print_matrix(file.pairs,
               {fmt::format("MB/s at {}", format_size(largest.size)), [](const Point& p) { return p.bandwidth_MBps; },
                sample.points.size() - 1},
               out);
}

}  // namespace twinlink::bench
