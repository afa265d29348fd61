#include "protocols/registry.hpp"

#include <gmock/gmock.h>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "protocols/core/options.hpp"
#include "protocols/core/text.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

std::string refusal_of(std::string_view name) {
  return said_by([&] { return &find_protocol(name); });
}

TEST(Registry, NamesAreUniqueAndFitForACommandLine) { EXPECT_NO_THROW(check_names(all_protocols())); }

/// Nothing but a name.
class Named : public Protocol {
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

/// Libraries' names of chunk and depth, two of each; the last one's value has a header.
class WithAliases final : public Named {
 public:
  WithAliases() : Named("two") {}
  [[nodiscard]] std::span<const Alias> aliases() const override {
    static constexpr std::array kAll{Alias{"D1", "depth"}, Alias{"D2", "depth"}, Alias{"C1", "chunk"},
                                     Alias{.name = "C2", .target = "chunk", .header = 32_B}};
    return kAll;
  }
};

TEST(Options, TwoNamesOfOneThingHaveOneValue) {
  const auto set = [](const std::string& first, const std::string& one, const std::string& second,
                      const std::string& other) {
    Settings settings;
    return said_by([&] {
      const std::vector<std::pair<std::string, std::string>> values{{first, one}, {second, other}};
      set_options(WithAliases(), settings, values);
    });
  };
  EXPECT_EQ(set("D1", "2", "D2", "2"), "nothing was refused");
  EXPECT_EQ(set("D1", "2", "D2", "3"), "protocol 'two': D1=2 and D2=3 are two values of one option");
  EXPECT_EQ(set("C1", "4064", "C2", "4K"), "nothing was refused");
  EXPECT_EQ(set("C1", "4K", "C2", "4K"), "protocol 'two': C1=4K and C2=4K are two values of one option");
  EXPECT_EQ(set("D1", "2", "C1", "3"), "nothing was refused");
  EXPECT_EQ(set("C2", "32", "D1", "1"), "protocol 'two', option 'C2': '32' has no room beside the header of 32");
  EXPECT_EQ(set("C1", "0", "D1", "1"), "protocol 'two', option 'C1': a block of 0 bytes moves nothing");
  EXPECT_EQ(set("D1", "0", "D2", "1"), "protocol 'two', option 'D1': '0' is not between 1 and 1024");
  EXPECT_EQ(set("D1", "1025", "D2", "1"), "protocol 'two', option 'D1': '1025' is not between 1 and 1024");
  EXPECT_EQ(set("D3", "1", "D2", "1"),
            "protocol 'two' has no option 'D3'; did you mean 'D1'? (there are: D1 D2 C1 C2)");
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
  std::string all;
  for (const Protocol* protocol : all_protocols()) {
    const Settings settings = protocol->defaults();
    EXPECT_NO_THROW(check_settings(*protocol, settings));
    all += std::string(protocol->name()) + " " +
           (settings.chunk ? std::to_string(settings.chunk->count() >> 10U) + "K" : "-") + " " +
           (settings.depth ? std::to_string(*settings.depth) : "-") + "\n";
  }
  EXPECT_EQ(all,
            "gpudirect-v2 0K 16\ngpudirect-v3 256K 8\nsymmetric-put 0K 64\ncuda-ipc 128K 3\ngpudirect-v1 0K 2\n"
            "cuda-aware - -\nstaging 0K 2\nhost 0K 64\nnccl 512K 8\n");
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
