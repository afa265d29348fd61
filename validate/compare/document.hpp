// A report as blocks, so that its content is written once and rendered for a terminal and as Markdown.
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace twinlink::validate {

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
};

using Block = std::variant<Heading, Paragraph, List, Table>;
using Document = std::vector<Block>;

/// For a terminal: columns aligned by spaces.
std::string to_text(const Document& document);
/// GitHub's Markdown. Cells and texts are escaped: whatever a result file holds is shown as it is.
std::string to_markdown(const Document& document);

}  // namespace twinlink::validate
