#include "protocols/core/path.hpp"

#include <gmock/gmock.h>

#include <string>

#include "tests/support/said_by.hpp"

namespace twinlink {
namespace {

TEST(Place, IsReadAsItIsPrinted) {
  const Place place{.node = 12, .gpu = 3};
  EXPECT_EQ(to_string(place), "12/3");
  EXPECT_EQ(parse_place("12/3"), place);
}

TEST(Place, ThatIsNoneIsRefused) {
  for (const char* text : {"", "1", "/", "1/", "/1", "1/2/3", "1/x", "-1/0", "0/-1", " 0/1", "99999999999/0"}) {
    EXPECT_THAT(said_by([&] { parse_place(text); }),
                testing::HasSubstr("'" + std::string(text) + "' is no device; expected NODE/GPU"));
  }
}

}  // namespace
}  // namespace twinlink
