#include "protocols/registry.hpp"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "protocols/core/edit_distance.hpp"

namespace twinlink {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

std::string refusal_of(std::string_view name) {
  try {
    static_cast<void>(find_protocol(name));
  } catch (const UsageError& error) {
    return error.what();
  }
  ADD_FAILURE() << "found '" << name << "'";
  return {};
}

TEST(Registry, NamesAreUniqueAndFitForACommandLine) { EXPECT_NO_THROW(check_names(all_protocols())); }

/// Nothing but a name.
class Named final : public Protocol {
 public:
  explicit Named(std::string_view name) : name_(name) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view description() const override { return "an added one"; }
  [[nodiscard]] Memory message_memory() const override { return Memory::device; }
  [[nodiscard]] Support supports(const Path&) const override { return {}; }
  [[nodiscard]] std::unique_ptr<Channel> connect(Rank&, RankId, const Settings&) const override { return nullptr; }

 private:
  std::string_view name_;
};

/// What is said of those that are there, with one behind them.
auto checking_with(const Protocol& added) {
  std::vector<const Protocol*> protocols(all_protocols().begin(), all_protocols().end());
  protocols.push_back(&added);
  return [protocols] { check_names(protocols); };
}

TEST(Registry, ANameThatIsTakenIsRefused) {
  EXPECT_THAT(checking_with(Named("host")),
              ThrowsMessage<UsageError>(AllOf(HasSubstr("two protocols have the name 'host'"),
                                              HasSubstr("without a GPU\" and \"an added one\""))));
  EXPECT_NO_THROW(checking_with(Named("host-2"))());
}

TEST(Registry, ANameThatNoCommandLineTakesIsRefused) {
  for (const std::string_view name : {"", "-host", "host 2", "Host", "host:2", "host,staging"}) {
    EXPECT_THAT(
        checking_with(Named(name)),
        ThrowsMessage<UsageError>(HasSubstr("the protocol's name '" + std::string(name) + "' fits no command line")));
  }
}

TEST(Registry, NothingIsAddedOnceThereIsAList) {
  const Named late("late");
  static_cast<void>(all_protocols());
  EXPECT_THAT([&] { AddedProtocol{late}; }, ThrowsMessage<UsageError>(HasSubstr("protocol 'late' is added too late")));
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
