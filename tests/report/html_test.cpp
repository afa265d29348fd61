#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "platforms/report/document.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::report {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kNasty = "</script><b>&\"'\x01";

/// With attachments by their own list.
std::string page_of(const Document& document, const std::vector<Attachment>& attachments = {}) {
  return to_html(document, attachments);
}

class Html : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      require_html();
    } catch (const UnavailableError& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

/// What stands between the two in the page, once.
std::string between(const std::string& page, std::string_view before, std::string_view after) {
  const auto start = page.find(before) + before.size();
  return page.substr(start, page.find(after, start) - start);
}

TEST_F(Html, ShowsWhatATextHoldsAsItIs) {
  const std::string nasty(kNasty);
  const Table table{.columns = {{nasty}}, .rows = {{nasty}}};
  const std::string page =
      page_of({Heading{1, nasty}, Paragraph{nasty}, List{{nasty}},
               Plot{.title = nasty, .unit = nasty, .curves = {{.label = nasty, .points = {{1, 2}}}}, .table = table},
               Picture{.title = nasty, .table = table}},
              {{.name = nasty, .content = nasty}});
  EXPECT_THAT(page, HasSubstr("<p>&lt;/script&gt;&lt;b&gt;&amp;&quot;&#39;\uFFFD</p>"));
  EXPECT_THAT(page, HasSubstr("<title>&lt;/script&gt;"));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("</script><b>")), Not(HasSubstr(nasty))));
  const auto data = nlohmann::json::parse(between(page, "class=\"data\">", "</script>"));
  EXPECT_EQ(data.at("unit"), nasty);
  EXPECT_EQ(data.at("curves").at(0).at("label"), nasty);
  EXPECT_EQ(nlohmann::json::parse(between(page, "&#39;\uFFFD\">\"", "</script>").insert(0, "\"")), nasty);
}

TEST_F(Html, APlotCarriesItsNumbersUnrounded) {
  const Plot plot{.title = "t",
                  .unit = "us",
                  .logarithmic = true,
                  .curves = {{.label = "a", .points = {{4, 1.0 / 3, 0.25, 0.5}, {8, 2}}, .colour = 3, .dashed = true}}};
  EXPECT_EQ(nlohmann::json::parse(between(page_of({plot}), "class=\"data\">", "</script>")),
            nlohmann::json::parse(R"({"kind": "curves", "unit": "us", "logarithmic": true, "curves": [{"label": "a",
              "colour": 3, "dashed": true, "points": [[4.0, 0.3333333333333333, 0.25, 0.5], [8.0, 2.0, null, null]]}]})"));
}

TEST_F(Html, APlotNamesWhatItsPointsAreOf) {
  const Plot plot{.names = {"Monday", "Tuesday"}, .curves = {{.points = {{0, 1}, {1, 2}}}}};
  const auto data = nlohmann::json::parse(between(page_of({plot}), "class=\"data\">", "</script>"));
  EXPECT_EQ(data.at("names"), (nlohmann::json{"Monday", "Tuesday"}));
}

TEST_F(Html, ADrawingHasNoNamesOfItsOwn) {
  const std::string svg =
      "<?xml version=\"1.0\"?>\n<!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\" \"http://www.w3.org/svg11.dtd\">\n"
      "<svg width=\"8pt\" xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\">\n"
      "<!-- a&#45;&gt;b -->\n<g id=\"node1\" class=\"node\"><title>a</title></g>\n</svg>\n";
  const std::string page = page_of({Picture{.title = "machine", .svg = svg}});
  EXPECT_THAT(page, HasSubstr("<svg width=\"8\">\n<g class=\"node\"><title>a</title></g>\n</svg>"));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("w3.org")), Not(HasSubstr("<?xml")), HasSubstr("role=\"img\"")));
  EXPECT_THAT(page, HasSubstr("<figcaption>machine</figcaption>"));
}

TEST_F(Html, AHeatMapSaysTooMuchAndTooLittleApart) {
  const Table table{
      .columns = {{"a"}, {"b"}, {"c"}}, .rows = {{"-1", "", "+2"}}, .shades = {{-0.5, std::nullopt, 1.0}}};
  EXPECT_THAT(page_of({table}), HasSubstr("<tr><td data-shade=\"less\" style=\"--shade:0.500\">-1</td><td></td>"
                                          "<td data-shade=\"more\" style=\"--shade:1.000\">+2</td></tr>"));
}

TEST(Document, APictureIsItsTableInATerminal) {
  const Table table{.columns = {{"a"}}, .rows = {{"1"}}};
  for (const Block& block :
       {Block{Plot{.table = table}}, Block{Spans{.table = table}}, Block{Picture{.table = table}}}) {
    EXPECT_EQ(to_text({block}), "a\n1\n");
    EXPECT_EQ(to_markdown({block}), "| a |\n| ---: |\n| 1 |\n");
  }
}

}  // namespace
}  // namespace twinlink::report
