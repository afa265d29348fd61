// A report as text that has all of it, so that a test compares the whole: as Markdown, and what is drawn beside a table
// before it.
#pragma once

#include <sstream>
#include <string>
#include <variant>

#include "platforms/report/document.hpp"

namespace twinlink::report {

inline void draw(const PlotPoint& point, std::ostream& out) {
  out << ' ' << point.x << ':' << point.y;
  if (point.low) out << " from " << *point.low;
  if (point.high) out << " to " << *point.high;
}

inline void draw(const Plot& plot, std::ostream& out) {
  out << "plot of " << plot.title << ", " << plot.unit << (plot.logarithmic ? ", logarithmic" : "") << '\n';
  for (const PlotCurve& curve : plot.curves) {
    out << "  " << curve.label << ", colour " << curve.colour << (curve.dashed ? ", dashed:" : ":");
    for (const PlotPoint& point : curve.points) draw(point, out);
    out << '\n';
  }
}

inline void draw(const Spans& spans, std::ostream& out) {
  out << "bars of " << spans.title << ", " << spans.unit << '\n';
  for (const auto& [label, group, start, end] : spans.spans) {
    out << "  " << label << ", " << group << ": " << start << ".." << end << '\n';
  }
}

/// Whether there is a drawing depends on Graphviz.
inline void draw(const Picture& picture, std::ostream& out) { out << "picture of " << picture.title << '\n'; }

inline void draw(const Explorer& explorer, std::ostream& out) {
  out << "explorer of " << explorer.title << ", along " << explorer.along;
  if (explorer.curves) out << ", curves " << *explorer.curves;
  out << '\n';
  for (const auto& [name, values, best] : explorer.axes) {
    out << "  " << name << (best ? ", the best:" : ":");
    for (const std::string& value : values) out << ' ' << value;
    out << '\n';
  }
  for (const auto& [name, unit] : explorer.quantities) out << "  " << name << " in " << unit << '\n';
  for (const auto& [values, quantities] : explorer.rows) {
    out << " ";
    for (const std::size_t value : values) out << ' ' << value;
    for (const PlotPoint& point : quantities) draw(point, out);
    out << '\n';
  }
}

inline void draw(const auto& /*block*/, std::ostream& /*out*/) {}

inline std::string drawn(const Document& document) {
  std::ostringstream out;
  for (const Block& block : document) {
    std::visit([&](const auto& of) { draw(of, out); }, block);
    out << to_markdown({block}) << '\n';
  }
  return out.str();
}

}  // namespace twinlink::report
