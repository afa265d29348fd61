// Texts through other programs, and what becomes of them where these fail.
#include "platforms/tools/filter_program.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocols/core/errors.hpp"

namespace twinlink::platforms {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(FilterProgram, GivesBackWhatTheProgramWrites) {
  EXPECT_EQ(filter_through({"tr", "a-z", "A-Z"}, "text\nof lines", ""), "TEXT\nOF LINES");
  const std::string large(200'000, 'x');
  EXPECT_EQ(filter_through({"cat"}, large, ""), large);
  EXPECT_EQ(filter_through({"sh", "-c", "echo aside >&2; cat"}, "text", ""), "text")
      << "what it says beside means nothing";
}

TEST(FilterProgram, SaysWhyThereIsNothing) {
  const auto why = [](const std::vector<std::string>& command) -> std::string {
    try {
      return "no error: " + filter_through(command, "text", "the advice");
    } catch (const EnvironmentError& error) {
      return error.what();
    }
  };
  EXPECT_THAT(why({"no-such-program"}), AllOf(HasSubstr("no-such-program"), HasSubstr("no such program; the advice")));
  EXPECT_THAT(why({"sh", "-c", "echo the reason >&2; exit 3"}), AllOf(HasSubstr("sh"), HasSubstr("the reason")));
  EXPECT_THAT(why({"sh", "-c", "echo killed >&2; kill -9 $$"}), HasSubstr("killed"));
}

}  // namespace
}  // namespace twinlink::platforms
