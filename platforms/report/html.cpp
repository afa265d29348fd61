#include <cmath>
#include <regex>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "platforms/report/document.hpp"
#include "platforms/report/page_parts.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/core/text.hpp"

namespace twinlink::report {
namespace {

using nlohmann::json;

/// JSON within a script element, which no text of it can end.
std::string script_json(const json& value) {
  std::string out;
  for (const char c : value.dump(-1, ' ', false, json::error_handler_t::replace)) {
    out += c == '<' ? std::string("\\u003c") : std::string(1, c);
  }
  return out;
}

std::string data_element(const json& value, std::string_view attributes) {
  return fmt::format("<script type=\"application/json\"{}>{}</script>\n", attributes, script_json(value));
}

json optional_number(const std::optional<double>& value) { return value ? json(*value) : json(nullptr); }

json data_of(const Plot& plot) {
  auto curves = json::array();
  for (const PlotCurve& curve : plot.curves) {
    auto points = json::array();
    for (const PlotPoint& point : curve.points) {
      points.push_back({point.x, point.y, optional_number(point.low), optional_number(point.high)});
    }
    curves.push_back(
        {{"label", curve.label}, {"colour", curve.colour}, {"dashed", curve.dashed}, {"points", std::move(points)}});
  }
  json data{{"kind", "curves"}, {"unit", plot.unit}, {"logarithmic", plot.logarithmic}, {"curves", std::move(curves)}};
  if (!plot.names.empty()) data["names"] = plot.names;
  return data;
}

json data_of(const Spans& spans) {
  auto all = json::array();
  for (const Span& span : spans.spans) all.push_back({span.label, span.group, span.start, span.end});
  return {{"kind", "spans"}, {"unit", spans.unit}, {"spans", std::move(all)}};
}

json data_of(const Explorer& explorer) {
  auto axes = json::array();
  for (const Explorer::Axis& axis : explorer.axes) {
    axes.push_back({{"name", axis.name}, {"values", axis.values}, {"best", axis.best}});
  }
  auto quantities = json::array();
  for (const Explorer::Quantity& quantity : explorer.quantities) {
    quantities.push_back({{"name", quantity.name}, {"unit", quantity.unit}});
  }
  auto rows = json::array();
  for (const Explorer::Row& row : explorer.rows) {
    auto numbers = json::array();
    for (const PlotPoint& point : row.quantities) {
      numbers.push_back({point.y, optional_number(point.low), optional_number(point.high)});
    }
    rows.push_back({row.values, std::move(numbers)});
  }
  return {{"kind", "explorer"},
          {"axes", std::move(axes)},
          {"quantities", std::move(quantities)},
          {"rows", std::move(rows)},
          {"along", explorer.along},
          {"curves", explorer.curves ? json(*explorer.curves) : json(-1)}};
}

/// What Graphviz writes before the picture is for files of their own, and its names would meet those of other pictures.
std::string inline_svg(const std::string& svg) {
  const std::size_t start = svg.find("<svg");
  if (start == std::string::npos) return {};
  static const std::regex own(R"re( (?:id="[^"]*"|xmlns(?::\w+)?="[^"]*"))re");
  static const std::regex comment("<!--[^>]*-->\n?");
  static const std::regex points("=\"([0-9.]+)pt\"");  // in pixels it is small enough for a page, and can be read
  std::string text = std::regex_replace(svg.substr(start), own, "");
  text = std::regex_replace(text, comment, "");
  return std::regex_replace(text, points, "=\"$1\"");
}

class HtmlRenderer {
 public:
  std::string operator()(const Heading& heading) const {
    return fmt::format("<h{0}>{1}</h{0}>\n", heading.level, escaped_markup(heading.text));
  }
  std::string operator()(const Paragraph& paragraph) const {
    return fmt::format("<p>{}</p>\n", escaped_markup(paragraph.text));
  }
  std::string operator()(const List& list) const {
    std::string out = "<ul>\n";
    for (const auto& item : list.items) out += fmt::format("<li>{}</li>\n", escaped_markup(item));
    return out + "</ul>\n";
  }
  std::string operator()(const Table& table) const {
    // It scrolls by itself where it is wider than a phone, by keys too.
    std::string out = "<div class=\"wide\" role=\"region\" aria-label=\"table\" tabindex=\"0\"><table>\n<thead><tr>";
    for (const auto& column : table.columns) {
      out += fmt::format("<th scope=\"col\"{}>{}</th>", align(column), escaped_markup(column.title));
    }
    out += "</tr></thead>\n<tbody>\n";
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      out += "<tr>";
      for (std::size_t i = 0; i < table.rows[row].size(); ++i) {
        const auto& cell = table.rows[row][i];
        out += fmt::format("<td{}{}>{}</td>", align(table.columns[i]), shade(table, row, i), escaped_markup(cell));
      }
      out += "</tr>\n";
    }
    return out + "</tbody>\n</table></div>\n";
  }
  std::string operator()(const Plot& plot) const { return chart(plot.title, data_of(plot), plot.table); }
  std::string operator()(const Spans& spans) const { return chart(spans.title, data_of(spans), spans.table); }
  std::string operator()(const Explorer& explorer) const {
    return chart(explorer.title, data_of(explorer), explorer.table);
  }
  std::string operator()(const Picture& picture) const {
    const std::string svg = inline_svg(picture.svg);
    const std::string drawn =
        svg.empty()
            ? std::string{}
            : fmt::format("<div class=\"picture wide\" role=\"img\" aria-label=\"{}\" tabindex=\"0\">{}</div>\n",
                          escaped_markup(picture.title + ": the table holds what it shows"), svg);
    return figure(picture.title, drawn, picture.table);
  }

 private:
  static std::string_view align(const Column& column) {
    return column.align == Column::Align::left ? " class=\"left\"" : "";
  }
  static std::string shade(const Table& table, std::size_t row, std::size_t i) {
    if (table.shades.empty() || !table.shades[row][i]) return {};
    const double shade = *table.shades[row][i];
    return fmt::format(" data-shade=\"{}\" style=\"--shade:{:.3f}\"", shade < 0 ? "less" : "more", std::abs(shade));
  }
  std::string chart(const std::string& title, const json& data, const Table& table) const {
    const std::string canvas =
        fmt::format("<div class=\"chart\"><canvas role=\"img\" aria-label=\"{}\"></canvas></div>\n",
                    escaped_markup(title + ": the table holds the numbers"));
    return figure(title, canvas + data_element(data, " class=\"data\""), table);
  }
  std::string figure(const std::string& title, const std::string& drawn, const Table& table) const {
    return fmt::format(
        "<figure>\n<figcaption>{0}</figcaption>\n{1}<details{2}><summary>Table: {0}</summary>\n{3}"
        "</details>\n</figure>\n",
        escaped_markup(title), drawn, table.shades.empty() && !drawn.empty() ? "" : " open", (*this)(table));
  }
};

std::string title_of(const Document& document) {
  for (const Block& block : document) {
    if (const auto* heading = std::get_if<Heading>(&block)) return heading->text;
  }
  return "Twinlink";
}

}  // namespace

std::string escaped_markup(std::string_view text) {
  std::string out;
  for (const char c : plain_text(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

void require_html() {
  if (!kChartLibrary.empty()) return;
  throw UnavailableError(
      "this program was built without Chart.js, which a page carries within it: 'apt-get install libjs-chart.js', and "
      "build it again");
}

std::string to_html(const Document& document, std::span<const Attachment> attachments) {
  require_html();
  // The policy forbids the page itself to load anything.
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; img-src data:\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n"
      "<body>\n<main>\n",
      escaped_markup(title_of(document)), kPageStyle);
  for (const auto& block : document) out += std::visit(HtmlRenderer{}, block);
  if (!attachments.empty()) out += "<h2>Data</h2>\n<p class=\"files\"></p>\n";
  for (const auto& [name, content] : attachments) {
    out += data_element(json(content), fmt::format(" class=\"file\" data-name=\"{}\"", escaped_markup(name)));
  }
  return out + fmt::format("</main>\n<script>{}</script>\n<script>\n{}</script>\n</body>\n</html>\n", kChartLibrary,
                           kPageScript);
}

}  // namespace twinlink::report
