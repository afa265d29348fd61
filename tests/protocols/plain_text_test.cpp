#include "protocols/core/text.hpp"

#include <string>

#include <gtest/gtest.h>

namespace twinlink {
namespace {

const std::string kReplaced = "\xEF\xBF\xBD";

TEST(PlainText, LeavesTextAsItIs) {
  for (const char* text : {"", "a b\n\tc", "\xC3\xBC \xE2\x82\xAC \xF0\x9F\x98\x80", "\xC2\xA0", "\xEF\xBF\xBD"}) {
    EXPECT_EQ(plain_text(text), text);
    EXPECT_TRUE(is_utf8(text));
  }
}

TEST(PlainText, HoldsNothingThatATerminalObeysOrXmlForbids) {
  EXPECT_EQ(plain_text("a\x1B[31mb\rc\x07"), "a" + kReplaced + "[31mb" + kReplaced + "c" + kReplaced);
  EXPECT_EQ(plain_text(std::string_view("\0\x7F", 2)), kReplaced + kReplaced);
  EXPECT_EQ(plain_text("\xC2\x9B"
                       "31m"),
            kReplaced + "31m")
      << "CSI as one character";
  EXPECT_EQ(plain_text("\xEF\xBF\xBE"
                       "\xEF\xBF\xBF"),
            kReplaced + kReplaced)
      << "no characters";
}

/// RFC 3629: overlong forms, surrogates, what lies beyond U+10FFFF, and what is cut off.
TEST(PlainText, ReplacesEachByteThatIsNoUtf8) {
  for (const char* wrong : {"\xFF", "\x80", "\xC0", "\xC3", "\xF5", "\xE2", "\xF0"}) {
    EXPECT_FALSE(is_utf8(wrong));
    EXPECT_EQ(plain_text(wrong), kReplaced);
    EXPECT_EQ(plain_text(std::string(wrong) + "x"), kReplaced + "x");
  }
  for (const char* wrong : {"\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF0\x80\x80\x80"}) {
    EXPECT_FALSE(is_utf8(wrong));
  }
}

}  // namespace
}  // namespace twinlink
