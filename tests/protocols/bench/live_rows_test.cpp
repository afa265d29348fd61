#include "protocols/bench/cli/live_rows.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include "protocols/bench/cli/print.hpp"
#include "protocols/bench/results/osu_form.hpp"
#include "tests/protocols/bench/samples.hpp"

namespace twinlink::bench {
namespace {

/// What is printed of a result when so many of its points are known, and what in all.
struct Printed {
  std::string early{};
  std::string all{};
};

Printed print_live(const Result& result, Format format, std::size_t points) {
  const OutputOptions options{.format = format};
  std::ostringstream out;
  LiveRows rows({.world = result.world, .program = result.program}, options, out);
  Series so_far = result.series;
  so_far.points.resize(points);
  rows.show(so_far);
  Printed printed{.early = out.str()};
  rows.deliver(result);
  printed.all = out.str();
  return printed;
}

TEST(LiveRows, ATableIsPrintedAsItIsMeasured) {
  std::ostringstream whole;
  print_table(sample_result(), whole);
  const Printed printed = print_live(sample_result(), Format::table, 1);
  EXPECT_EQ(printed.all, whole.str());
  EXPECT_THAT(printed.early, testing::EndsWith("        1.60\n"));
}

TEST(LiveRows, TheOsuFormToo) {
  std::ostringstream whole;
  print_osu(sample_result(), whole);
  const Printed printed = print_live(sample_result(), Format::osu, 1);
  EXPECT_EQ(printed.all, whole.str());
  EXPECT_THAT(printed.early, testing::EndsWith("1.60\n"));
}

TEST(LiveRows, OtherFormsWaitForTheEnd) {
  const Printed printed = print_live(sample_result(), Format::json, 1);
  EXPECT_EQ(printed.early, "");
  EXPECT_THAT(printed.all, testing::StartsWith("{\n"));
}

}  // namespace
}  // namespace twinlink::bench
