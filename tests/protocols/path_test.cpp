#include "protocols/core/path.hpp"

#include <gmock/gmock.h>

namespace twinlink {
namespace {

TEST(Place, IsReadAsItIsPrinted) {
  const Place place{.node = 12, .gpu = 3};
  EXPECT_EQ(to_string(place), "12/3");
  EXPECT_EQ(parse_place("12/3"), place);
}

TEST(Place, ThatIsNoneIsRefused) {
  for (const char* text : {"", "1", "/", "1/", "/1", "1/2/3", "1/x", "-1/0", "0/-1", " 0/1", "99999999999/0"}) {
    try {
      parse_place(text);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("'" + std::string(text) + "' is no device; expected NODE/GPU"));
    }
  }
}

}  // namespace
}  // namespace twinlink
