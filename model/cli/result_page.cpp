#include "model/cli/pages.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace twinlink::model {
namespace {

using report::Column;
constexpr auto kLeftAligned = Column::Align::left;
constexpr std::size_t kMostBars = 20;
constexpr std::size_t kMostParts = 60;

std::string decimals(double value) { return fmt::format("{:.3f}", value); }

/// A table of curves whose points need not be at the same sizes: a row for each size, columns for each curve.
class SizeTable {
 public:
  explicit SizeTable(const std::vector<std::string>& titles) {
    table_.columns.push_back({"size"});
    for (const std::string& title : titles) table_.columns.push_back({title});
  }
  void set(Bytes size, std::size_t column, const std::string& cell) {
    auto& row = rows_[size];
    row.resize(table_.columns.size());
    row[column] = cell;
  }
  [[nodiscard]] report::Table take() {
    for (auto& [size, row] : rows_) {
      row[0] = format_size(size);
      table_.rows.push_back(std::move(row));
    }
    return std::move(table_);
  }

 private:
  report::Table table_{};
  std::map<Bytes, std::vector<std::string>> rows_{};
};

/// "node 0 mlx5_0 out, and 7 alike": links that carry the same, and are held up as long, as one.
struct LinkGroup {
  LinkShare first{};
  std::size_t others = 0;
};
std::vector<LinkGroup> groups_of(const std::vector<LinkShare>& links) {
  std::vector<LinkGroup> groups;
  for (const LinkShare& link : links) {
    const auto alike = std::ranges::find_if(groups, [&](const LinkGroup& group) {
      return decimals(group.first.bottleneck.microseconds()) == decimals(link.bottleneck.microseconds()) &&
             decimals(group.first.utilisation) == decimals(link.utilisation) && group.first.bytes == link.bytes;
    });
    if (alike == groups.end()) {
      groups.push_back({link, 0});
    } else {
      ++alike->others;
    }
  }
  std::ranges::stable_sort(groups, std::greater(), [](const LinkGroup& group) { return group.first.bottleneck; });
  return groups;
}

report::Spans link_bars(const std::string& of, const std::vector<LinkShare>& links) {
  report::Spans bars{.title = "Links: how long each held somebody up, " + of,
                     .unit = "us",
                     .table = {.columns = {{"link", kLeftAligned}, {"bottleneck us"}, {"bytes"}, {"of its rate"}}}};
  const std::vector<LinkGroup> groups = groups_of(links);
  if (groups.size() > kMostBars) bars.title += fmt::format(": the first {} of {} kinds", kMostBars, groups.size());
  for (std::size_t i = 0; i < std::min(groups.size(), kMostBars); ++i) {
    const auto& [link, others] = groups[i];
    const std::string name = others == 0 ? link.name : fmt::format("{}, and {} alike", link.name, others);
    bars.spans.push_back({.label = name, .group = "bottleneck", .end = link.bottleneck.microseconds()});
    bars.table.rows.push_back({name, decimals(link.bottleneck.microseconds()), fmt::format("{:.0f}", link.bytes),
                               fmt::format("{:.1f} %", link.utilisation * 100)});
  }
  return bars;
}

report::Spans path_bars(const std::string& of, const std::vector<PathPart>& path) {
  const Seconds all = path.back().ended - path.front().began;
  report::Spans bars{.title = "Critical path by step, " + of,
                     .unit = "us",
                     .table = {.columns = {{"what", kLeftAligned}, {"us"}, {"of all"}, {"parts"}}}};
  const std::vector<PathKind> kinds = kinds_of(path);
  const auto add = [&](const std::string& what, Seconds time, std::size_t parts) {
    bars.spans.push_back({.label = what, .group = "critical path", .end = time.microseconds()});
    bars.table.rows.push_back({what, decimals(time.microseconds()),
                               fmt::format("{:.1f} %", time.value() / all.value() * 100), std::to_string(parts)});
  };
  const std::size_t shown = kinds.size() <= kMostBars ? kinds.size() : kMostBars - 1;
  for (std::size_t i = 0; i < shown; ++i) add(kinds[i].what, kinds[i].time, kinds[i].parts);
  PathKind rest;
  for (std::size_t i = shown; i < kinds.size(); ++i) {
    rest.time += kinds[i].time;
    rest.parts += kinds[i].parts;
  }
  if (rest.parts > 0) add("all else", rest.time, rest.parts);
  return bars;
}

report::Spans path_in_order(const std::string& of, const std::vector<PathPart>& path) {
  report::Spans bars{
      .title = "Critical path in order, " + of,
      .unit = "us",
      .table = {.columns = {{"rank"}, {"what", kLeftAligned}, {"start us"}, {"end us"}, {"link", kLeftAligned}}}};
  // A long path shows its longest parts, still in their order.
  std::vector<const PathPart*> shown;
  for (const PathPart& part : path) shown.push_back(&part);
  if (shown.size() > kMostParts) {
    bars.title += fmt::format(": the longest {} of {} parts", kMostParts, path.size());
    std::ranges::stable_sort(shown, std::greater(), [](const PathPart* part) { return part->time(); });
    shown.resize(kMostParts);
    std::ranges::stable_sort(shown, {}, [](const PathPart* part) { return part->began; });
  }
  for (const PathPart* part : shown) {
    const double began = (part->began - path.front().began).microseconds();
    const double ended = (part->ended - path.front().began).microseconds();
    std::string what = part->verb.empty() ? part->what : fmt::format("{}, {}", part->what, format_size(part->size));
    if (part->phase == PathPart::Phase::before_bytes) what += ", overhead and latency";
    bars.spans.push_back({.label = fmt::format("{} (rank {})", what, part->rank.value),
                          .group = fmt::format("rank {}", part->rank.value),
                          .start = began,
                          .end = ended});
    bars.table.rows.push_back({std::to_string(part->rank.value), what, decimals(began), decimals(ended), part->link});
  }
  return bars;
}

/// The points of each algorithm are a curve.
std::vector<std::string> algorithms_of(const bench::WorkloadSeries& series) {
  std::vector<std::string> names;
  for (const bench::WorkloadPoint& point : series.points) {
    if (std::ranges::find(names, point.algorithm) == names.end()) names.push_back(point.algorithm);
  }
  return names;
}

report::Document workload_plots(const bench::WorkloadSeries& series) {
  report::Plot times{.title = "Time of an iteration", .unit = "us", .logarithmic = true};
  report::Plot rates{.title = "Bus bandwidth", .unit = "MB/s"};
  const std::vector<std::string> names = algorithms_of(series);
  std::vector<std::string> titles;
  for (const std::string& name : names) {
    const report::PlotCurve curve{.label = name, .colour = static_cast<int>(times.curves.size())};
    times.curves.push_back(curve);
    rates.curves.push_back(curve);
    titles.insert(titles.end(), {name + " us", name + " MB/s"});
  }
  SizeTable table(titles);
  for (const bench::WorkloadPoint& point : series.points) {
    const auto curve = static_cast<std::size_t>(std::ranges::find(names, point.algorithm) - names.begin());
    const auto size = static_cast<double>(point.size.count());
    if (size > 0) {  // zero has no place on the axis
      times.curves[curve].points.push_back({.x = size, .y = point.time_us.median});
      rates.curves[curve].points.push_back({.x = size, .y = point.bus_MBps});
    }
    table.set(point.size, 2 * curve + 1, decimals(point.time_us.median));
    table.set(point.size, 2 * curve + 2, fmt::format("{:.2f}", point.bus_MBps));
  }
  std::erase_if(times.curves, [](const report::PlotCurve& curve) { return curve.points.empty(); });
  std::erase_if(rates.curves, [](const report::PlotCurve& curve) { return curve.points.empty(); });
  if (times.curves.empty()) return {};
  rates.table = times.table = table.take();
  return {std::move(times), std::move(rates)};
}

report::Table points_table(const bench::WorkloadSeries& series) {
  report::Table table{.columns = {{"size"}, {"algorithm", kLeftAligned}, {"steps"}, {"time us"}, {"first rank us"}}};
  table.columns.insert(table.columns.end(), {{"slowest rank"}, {"predicted us"}, {"chosen", kLeftAligned}});
  for (const bench::WorkloadPoint& point : series.points) {
    table.rows.push_back({format_size(point.size), point.done_by(), std::to_string(point.steps),
                          decimals(point.time_us.median), decimals(point.fastest_us),
                          std::to_string(point.slowest_rank),
                          point.predicted_us > 0 ? decimals(point.predicted_us) : "-", point.why});
  }
  return table;
}

}  // namespace

report::Document curve_plots(const std::string& title, std::span<const bench::Result> results) {
  report::Plot rates{.title = title, .unit = "MB/s"};
  report::Plot times{.title = "Time of a message", .unit = "us", .logarithmic = true};
  std::vector<std::string> titles;
  for (const bench::Result& result : results) {
    for (const char* what : {" MB/s", " us", " p5 us", " p95 us", " cpu us"})
      titles.push_back(result.series.label + what);
  }
  const bool both_worlds = std::ranges::any_of(results, [&](const auto& r) { return r.world != results[0].world; });
  SizeTable table(titles);
  std::size_t column = 1;
  for (const bench::Result& result : results) {
    report::PlotCurve rate{.label = result.series.label,
                           .colour = static_cast<int>(rates.curves.size()),
                           .dashed = both_worlds && result.world == "simulated"};
    report::PlotCurve time = rate;
    for (const bench::Point& point : result.series.points) {
      const auto size = static_cast<double>(point.size.count());
      const bench::Statistics& us = point.time_us;
      rate.points.push_back({.x = size, .y = point.bandwidth_MBps});
      time.points.push_back({.x = size, .y = us.median, .low = us.p5, .high = us.p95});
      std::size_t place = column;
      for (const std::string& cell : {fmt::format("{:.2f}", point.bandwidth_MBps), decimals(us.median), decimals(us.p5),
                                      decimals(us.p95), point.cpu_us ? decimals(*point.cpu_us) : std::string()}) {
        table.set(point.size, place++, cell);
      }
    }
    column += titles.size() / results.size();
    rates.curves.push_back(std::move(rate));
    times.curves.push_back(std::move(time));
  }
  times.table = rates.table = table.take();
  return {std::move(rates), std::move(times)};
}

report::Document why_blocks(const std::string& of, const RoundFindings& found) {
  report::Document blocks;
  if (!found.path.empty()) {
    blocks.emplace_back(path_bars(of, found.path));
    blocks.emplace_back(path_in_order(of, found.path));
  }
  if (!found.links.empty()) blocks.emplace_back(link_bars(of, found.links));
  return blocks;
}

void print_why(const RoundFindings& found, const RoundWishes& wishes, std::ostream& out) {
  if (wishes.links) print_links(found.links, out);
  if (wishes.path) print_path(found, out);
}

report::Document workload_page(const bench::WorkloadFile& file, const Platform& platform, report::Document why) {
  const bench::WorkloadSeries& series = file.series;
  report::Document page{
      report::Heading{1, fmt::format("{} of {} ranks on {}", series.workload, series.ranks, platform.name)},
      report::Paragraph{
          fmt::format("Simulated over {}, {} node{}.", series.protocols(), series.nodes, series.nodes == 1 ? "" : "s")},
      report::Paragraph{file.command}};
  report::append(page, workload_plots(series));
  page.emplace_back(points_table(series));
  if (!why.empty()) {
    page.emplace_back(report::Heading{2, "Why it takes so long"});
    report::append(page, std::move(why));
  }
  page.emplace_back(report::Heading{2, "The machine"});
  page.emplace_back(machine_picture(platform));
  return page;
}

}  // namespace twinlink::model
