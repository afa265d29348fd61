#include "platforms/report/document.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace twinlink::report {
namespace {

/// The characters that a terminal shows for UTF-8 text: all bytes but the continuations.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

class TextRenderer {
 public:
  std::string operator()(const Heading& heading) const {
    return heading.text + '\n' + std::string(width(heading.text), heading.level == 1 ? '=' : '-') + '\n';
  }
  std::string operator()(const Paragraph& paragraph) const { return paragraph.text + '\n'; }
  std::string operator()(const List& list) const {
    std::string out;
    for (const auto& item : list.items) out += "* " + item + '\n';
    return out;
  }
  std::string operator()(const Table& table) const {
    std::vector<std::size_t> widths;
    std::vector<std::string> titles;
    for (const auto& column : table.columns) {
      widths.push_back(width(column.title));
      titles.push_back(column.title);
    }
    for (const auto& row : table.rows) {
      assert(row.size() == widths.size());
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
    }
    std::string out = line(table, widths, titles);
    for (const auto& row : table.rows) out += line(table, widths, row);
    return out;
  }
  /// The picture of whatever has one.
  template <class Pictured>
  std::string operator()(const Pictured& pictured) const {
    return (*this)(pictured.table);
  }

 private:
  static std::string line(const Table& table, const std::vector<std::size_t>& widths,
                          const std::vector<std::string>& cells) {
    std::string out;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) out += "  ";
      const std::string padding(widths[i] - width(cells[i]), ' ');
      out += table.columns[i].align == Column::Align::left ? cells[i] + padding : padding + cells[i];
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out + '\n';
  }
};

class MarkdownRenderer {
 public:
  std::string operator()(const Heading& heading) const {
    return std::string(static_cast<std::size_t>(heading.level), '#') + ' ' + escaped(heading.text) + '\n';
  }
  std::string operator()(const Paragraph& paragraph) const { return escaped(paragraph.text) + '\n'; }
  std::string operator()(const List& list) const {
    std::string out;
    for (const auto& item : list.items) out += "- " + escaped(item) + '\n';
    return out;
  }
  std::string operator()(const Table& table) const {
    std::string titles = "|";
    std::string rule = "|";
    for (const auto& column : table.columns) {
      titles += ' ' + escaped(column.title) + " |";
      rule += column.align == Column::Align::left ? " --- |" : " ---: |";
    }
    std::string out = titles + '\n' + rule + '\n';
    for (const auto& row : table.rows) {
      out += '|';
      for (const auto& cell : row) out += ' ' + escaped(cell) + " |";
      out += '\n';
    }
    return out;
  }
  template <class Pictured>
  std::string operator()(const Pictured& pictured) const {
    return (*this)(pictured.table);
  }

 private:
  static std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
      if (c == '\n' || c == '\r') {
        out += ' ';
        continue;
      }
      if (std::string_view{"\\`*_[]<>|#"}.find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
    return out;
  }
};

template <typename Renderer>
std::string render(const Document& document) {
  std::string out;
  for (const auto& block : document) {
    if (!out.empty()) out += '\n';
    out += std::visit(Renderer{}, block);
  }
  return out;
}

}  // namespace

std::string exact_percent(double fraction) { return fmt::format("{:.2f} %", fraction * 100); }

void append(Document& document, Document blocks) { std::ranges::move(blocks, std::back_inserter(document)); }

std::string to_text(const Document& document) { return render<TextRenderer>(document); }
std::string to_markdown(const Document& document) { return render<MarkdownRenderer>(document); }

}  // namespace twinlink::report
