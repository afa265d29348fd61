#include "protocols/registry.hpp"

#include <gmock/gmock.h>

#include <set>
#include <string>

#include "protocols/core/edit_distance.hpp"

namespace twinlink {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string refusal_of(std::string_view name) {
  try {
    static_cast<void>(find_protocol(name));
  } catch (const UsageError& error) {
    return error.what();
  }
  ADD_FAILURE() << "found '" << name << "'";
  return {};
}

TEST(Registry, NamesAreUniqueAndFitForACommandLine) {
  std::set<std::string> names;
  for (const Protocol* protocol : all_protocols()) {
    const std::string name(protocol->name());
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos) << name;
    EXPECT_FALSE(name.empty());
  }
}

TEST(Registry, EveryProtocolDescribesItselfInOneLine) {
  for (const Protocol* protocol : all_protocols()) {
    EXPECT_FALSE(protocol->description().empty());
    EXPECT_EQ(protocol->description().find('\n'), std::string_view::npos) << protocol->name();
  }
}

TEST(Registry, EveryProtocolIsFoundByItsName) {
  for (const Protocol* protocol : all_protocols()) EXPECT_EQ(&find_protocol(protocol->name()), protocol);
}

TEST(Registry, EveryProtocolAcceptsItsOwnDefaults) {
  for (const Protocol* protocol : all_protocols()) EXPECT_NO_THROW(check_settings(*protocol, protocol->defaults()));
}

TEST(Registry, ATypingErrorGetsTheNearestName) {
  EXPECT_THAT(refusal_of("stagin"), HasSubstr("did you mean 'staging'?"));
  EXPECT_THAT(refusal_of("gpudirect-v4"), HasSubstr("did you mean 'gpudirect-v"));
  EXPECT_THAT(refusal_of("gpudirectv1"), HasSubstr("did you mean 'gpudirect-v1'?"));
}

TEST(Registry, AWordFromNowhereGetsTheListOnly) {
  for (const std::string_view name : {"", "carrier-pigeon"}) {
    const std::string message = refusal_of(name);
    EXPECT_THAT(message, Not(HasSubstr("did you mean")));
    for (const Protocol* protocol : all_protocols()) EXPECT_THAT(message, HasSubstr(std::string(protocol->name())));
  }
}

TEST(EditDistance, PicksTheNearestCandidate) {
  EXPECT_EQ(closest("bandwith", {"latency", "bandwidth", "band"}), "bandwidth");
  EXPECT_EQ(closest("latency", {"latency", "latencies"}), "latency");
}

TEST(EditDistance, ANameThatIsTooFarIsNoTypingError) {
  EXPECT_EQ(closest("latency", {"bandwidth"}), "");
  EXPECT_EQ(closest("x", {}), "");
}

TEST(EditDistance, AThirdOfTheLettersMayBeWrong) {
  EXPECT_EQ(closest("abcdefghi", {"abcdefxyz"}), "abcdefxyz");
  EXPECT_EQ(closest("abcdefghi", {"abcdewxyz"}), "");
}

}  // namespace
}  // namespace twinlink
