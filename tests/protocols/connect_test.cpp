// Connections that cannot be made: every exchange says why, and nobody throws or hangs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <string>

#include "protocols/core/options.hpp"
#include "protocols/registry.hpp"
#include "protocols/trace/decorated_rank.hpp"
#include "tests/explore/explorer/fake_world.hpp"
#include "tests/support/test_name.hpp"

namespace twinlink {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

/// Opens nothing, as if what the peer has named were gone.
class OpensNothing final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;
  Buffer open_memory(RankId owner, const IpcHandle& handle) override {
    static_cast<void>(owner), static_cast<void>(handle);
    throw EnvironmentError("open", "refused on purpose");
  }
};

struct Refused {
  std::string protocol;
  std::map<std::string, std::string> options;
  std::string step;
};
void PrintTo(const Refused& refused, std::ostream* out) { *out << refused.protocol; }

class ConnectionRefused : public testing::TestWithParam<Refused> {};

TEST_P(ConnectionRefused, IsSaidByEveryExchange) {
  run_fake_world({}, [](MeasuredRank& rank) {
    OpensNothing refusing(rank);
    const bool refuses = rank.id().value == 1;
    const Protocol& protocol = find_protocol(GetParam().protocol);
    Settings settings = protocol.defaults();
    settings.timeout = Seconds{1};
    for (const auto& [option, value] : GetParam().options) set_option(protocol, settings, option, value);
    const View message(rank.allocate(Memory::device, 1_KiB));
    rank.fill(message, kSentinel);
    const auto channel =
        protocol.connect(refuses ? static_cast<Rank&>(refusing) : rank, RankId{1 - rank.id().value}, settings);
    for (int i = 0; i < 2; ++i) {
      const Outcome outcome = refuses ? channel->receive(message) : channel->send(message);
      if (refuses) {
        EXPECT_EQ(outcome.status, Status::peer_failed);
        EXPECT_THAT(outcome.reason, AllOf(HasSubstr(GetParam().step), HasSubstr("refused on purpose")));
      } else {
        // The other may have gone by then, with what it has named.
        EXPECT_FALSE(outcome.ok());
        EXPECT_THAT(outcome.reason, AnyOf(HasSubstr("'receive opened'"), HasSubstr(GetParam().step)));
      }
    }
    EXPECT_TRUE(rank.check(message, kSentinel).intact());
  });
}

INSTANTIATE_TEST_SUITE_P(Of, ConnectionRefused,
                         testing::Values(Refused{"gpudirect-v1", {{"buffers", "shared"}}, "step 'open segment'"},
                                         Refused{"cuda-ipc", {}, "step 'open fragments'"}),
                         [](const auto& param) { return test_name(param.param.protocol); });

}  // namespace
}  // namespace twinlink
