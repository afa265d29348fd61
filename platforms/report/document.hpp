// A report as blocks, so that its content is written once and rendered for a terminal, as Markdown and as a web page.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace twinlink::report {

struct Heading {
  int level = 1;  ///< 1 is the document's title
  std::string text{};
};

struct Paragraph {
  std::string text{};
};

struct List {
  std::vector<std::string> items{};
};

struct Column {
  enum class Align { left, right };
  std::string title{};
  Align align = Align::right;
};

struct Table {
  std::vector<Column> columns{};
  std::vector<std::vector<std::string>> rows{};  ///< as many cells in each as there are columns
  /// Colours behind the cells of a heat map, on a page: from -1, much too small, by 0, as it should be, to 1. Empty, or
  /// as many as there are cells; an empty one has no colour.
  std::vector<std::vector<std::optional<double>>> shades{};
};

struct PlotPoint {
  double x = 0;
  double y = 0;
  std::optional<double> low{};   ///< of the values that `y` stands for, as their 5th percentile
  std::optional<double> high{};  ///< their 95th
};

struct PlotCurve {
  std::string label{};
  std::vector<PlotPoint> points{};  ///< ascending by x
  int colour = 0;                   ///< curves that belong together have the same number
  bool dashed = false;
};

/// Curves over message sizes, or over what has names, with the table of the same numbers. Text and Markdown have the
/// table alone.
struct Plot {
  std::string title{};
  std::string unit{};                ///< of the values
  bool logarithmic = false;          ///< the values' axis; that of the sizes, in bytes, always is
  std::vector<std::string> names{};  ///< along the axis, counted by x from 0; empty: x are sizes
  std::vector<PlotCurve> curves{};
  Table table{};
};

struct Span {
  std::string label{};
  std::string group{};  ///< those of a group have one colour
  double start = 0;     ///< 0: a bar is an amount
  double end = 0;
};

/// What follows each other or goes on at the same time, as bars along an axis, with the table of the same numbers. Text
/// and Markdown have the table alone.
struct Spans {
  std::string title{};
  std::string unit{};  ///< of start and end
  std::vector<Span> spans{};
  Table table{};
};

/// A drawing, with the table of what it shows. Text and Markdown have the table alone.
struct Picture {
  std::string title{};
  std::string svg{};  ///< as Graphviz writes it; empty: there is none
  Table table{};
};

/// Rows that each have a value of every axis: a reader chooses along which axis to look, which one has a curve for
/// each value, and what value each other one has, or that of them whatever takes least. Text and Markdown have the
/// table alone.
struct Explorer {
  struct Axis {
    std::string name{};
    std::vector<std::string> values{};  ///< all that there are; sizes as "64K"
    bool best = false;                  ///< at first the rows count that take least, and not one of its values
  };
  struct Quantity {
    std::string name{};
    std::string unit{};
  };
  struct Row {
    std::vector<std::size_t> values{};    ///< places in those of each axis
    std::vector<PlotPoint> quantities{};  ///< the first is what is least where it is best; x is of no use
  };
  std::string title{};
  std::vector<Axis> axes{};
  std::vector<Quantity> quantities{};
  std::vector<Row> rows{};
  std::size_t along = 0;                ///< at first
  std::optional<std::size_t> curves{};  ///< likewise
  Table table{};
};

using Block = std::variant<Heading, Paragraph, List, Table, Plot, Spans, Picture, Explorer>;
using Document = std::vector<Block>;

/// `blocks` behind `document`.
void append(Document& document, Document blocks);

/// For a terminal: columns aligned by spaces.
std::string to_text(const Document& document);
/// GitHub's Markdown. Cells and texts are escaped: whatever a result file holds is shown as it is.
std::string to_markdown(const Document& document);

/// A file that a page carries within it, for its readers to save.
struct Attachment {
  std::string name{};
  std::string content{};  ///< UTF-8
};

/// One HTML page that needs no other file and no network: plots by Chart.js, tables, and the attachments. Whatever a
/// text holds is shown as it is. An UnavailableError as of require_html().
std::string to_html(const Document& document, std::span<const Attachment> attachments = {});
/// To be asked before the work that gives a page its content. An UnavailableError that names the package if the program
/// was built without Chart.js.
void require_html();

/// 0.0312 as "3.12 %".
std::string exact_percent(double fraction);

/// `text` between tags, or in an attribute, of HTML and XML. What XML cannot hold becomes U+FFFD.
std::string escaped_markup(std::string_view text);

}  // namespace twinlink::report
