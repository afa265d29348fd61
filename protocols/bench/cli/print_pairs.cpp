#include <algorithm>
#include <map>
#include <ostream>

#include <fmt/format.h>

#include "protocols/bench/cli/print.hpp"
#include "protocols/bench/results/statistics.hpp"

namespace twinlink::bench {
namespace {

constexpr std::string_view kNothing = "-";

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

void print_table(const PairFile& file, std::ostream& out) {
  for (const std::string& note : file.pairs.notes) out << fmt::format("# {}\n", note);
  if (file.pairs.series.empty()) {
    out << "# no pair that this protocol serves\n";
    return;
  }
  const Series& sample = file.pairs.series.front();
  out << fmt::format("# {}: {} {}, all pairs; * is an outlier among the pairs of one path\n", sample.label,
                     heading_world(file.world, file.environment), to_string(sample.pattern));
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
