#include "platforms/report/document.hpp"

#include <gtest/gtest.h>

namespace twinlink::report {
namespace {

const Document kDocument{Heading{.level = 1, .text = "Title"}, Paragraph{"Some text."},
                         Table{.columns = {{"name", Column::Align::left}, {"value", Column::Align::right}},
                               .rows = {{"µs", "1.5"}, {"long name", "20"}}},
                         List{{"one", "two"}}};

TEST(Document, TextAlignsColumnsByCharacters) {
  EXPECT_EQ(to_text(kDocument), R"(Title
=====

Some text.

name       value
µs           1.5
long name     20

* one
* two
)");
}

TEST(Document, MarkdownHasARuleUnderTheTitles) {
  EXPECT_EQ(to_markdown(kDocument), R"(# Title

Some text.

| name | value |
| --- | ---: |
| µs | 1.5 |
| long name | 20 |

- one
- two
)");
}

TEST(Document, TextEndsNoLineWithSpaces) {
  const Document document{Table{.columns = {{"a"}, {"b", Column::Align::left}}, .rows = {{"1", "x"}, {"2", "longer"}}}};
  EXPECT_EQ(to_text(document), "a  b\n1  x\n2  longer\n");
}

TEST(Document, MarkdownShowsWhatAFileHoldsAsItIs) {
  const Document document{Table{.columns = {{"a"}}, .rows = {{"x|y\n<b>*z*`_[1]\\"}}}};
  EXPECT_EQ(to_markdown(document), "| a |\n| ---: |\n| x\\|y \\<b\\>\\*z\\*\\`\\_\\[1\\]\\\\ |\n");
}

TEST(Document, NothingIsEmpty) {
  EXPECT_EQ(to_text({}), "");
  EXPECT_EQ(to_markdown({}), "");
}

}  // namespace
}  // namespace twinlink::report
