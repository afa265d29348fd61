#include "model/study/gnuplot.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "platforms/tools/filter_program.hpp"

namespace twinlink::model {
namespace {

/// Gnuplot's number of a marker.
int point_type(bench::Marker marker) {
  switch (marker) {
    case bench::Marker::diamond:
      return 13;
    case bench::Marker::circle:
      return 7;
    case bench::Marker::square:
      return 5;
    case bench::Marker::triangle:
      return 9;
    case bench::Marker::cross:
      return 2;
    case bench::Marker::star:
      return 3;
  }
  return 0;
}

/// Gnuplot ends a text in single quotes at one that is not doubled.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("''") : std::string(1, c);
  return result + "'";
}

}  // namespace

std::string svg_plot(const bench::Figure& figure, std::span<const bench::DrawnCurve> curves, const std::string& world) {
  std::string data;
  std::vector<std::string> plots;
  for (const auto& [curve, series] : curves) {
    if (!curve->of_the_page) continue;
    data += fmt::format("$curve{} << END\n", plots.size());
    for (const bench::Point& point : series.points) {
      data += fmt::format("{} {:.6g}\n", point.size.count(), point.bandwidth_MBps);
    }
    data += "END\n";
    plots.push_back(fmt::format("$curve{} using 1:2 with linespoints lc rgb {} pt {} title {}", plots.size(),
                                quoted(curve->colour), point_type(curve->marker), quoted(series.label)));
  }
  const std::string script = fmt::format(
      "set terminal svg noenhanced size 900,700 dynamic background rgb 'white' font 'sans-serif,13'\n"
      "set title {}\nset key bottom outside center horizontal maxcols 2\nset grid\nset logscale x 2\n"
      "set xlabel 'message size, bytes'\nset ylabel 'MB/s'\nset yrange [0:*]\n{}plot {}\n",
      quoted(fmt::format("{} ({})", figure.title, world)), data, fmt::join(plots, ", \\\n"));
  return filter_through({"gnuplot"}, script, "'apt-get install gnuplot-nox' installs it");
}

}  // namespace twinlink::model
