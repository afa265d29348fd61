// GPUDirect v2 where a peer keeps silent: what the mover says of it. Its bytes are in tests/contract.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "protocols/core/options.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/parts/connection.hpp"
#include "protocols/registry.hpp"
#include "protocols/trace/decorated_rank.hpp"
#include "tests/support/fake_rank.hpp"
#include "tests/support/test_name.hpp"

namespace twinlink {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int kMessages = 3;
constexpr int kPlacesOfTheirOwn = kMessages - 1;

/// Sends the places of a batch to nobody, from one of them on.
class SilentAboutPlaces final : public DecoratedRank {
 public:
  SilentAboutPlaces(Rank& inner, int sent) : DecoratedRank(inner), sent_(sent) {}
  Op send_control(RankId peer, Tag tag, const ControlMessage& message) override {
    const bool place = tag == tags::kPlace && message.bytes().size() != kConnectMessageSize;
    const bool silent = place && sent_-- <= 0;
    return DecoratedRank::send_control(peer, silent ? tags::kFirstFree : tag, message);
  }

 private:
  int sent_;
};

class SilentPeer : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] static bool pulls() { return GetParam() == "kernel-pull"; }
  /// By rank: what becomes of a batch from rank 0 to rank 1 whose messages lie irregularly at both ends. The end that
  /// does not move the bytes sends the places of so many.
  [[nodiscard]] static std::array<Outcome, 2> outcomes(int sent) {
    std::array<Outcome, 2> outcomes;
    run_fake_world({}, [&](Rank& plain) {
      const bool sends = plain.id().value == 0;
      SilentAboutPlaces silent(plain, sent);
      Rank& rank = sends == pulls() ? static_cast<Rank&>(silent) : plain;
      const Buffer buffer = rank.allocate(Memory::device, 100_B, Locality::near);
      const std::vector<View> window{{buffer, 0_B, 8_B}, {buffer, 8_B, 8_B}, {buffer, 50_B, 8_B}};
      Settings settings{.depth = 1, .timeout = Seconds{1}};
      set_option(find_protocol("gpudirect-v2"), settings, "engine", GetParam());
      set_option(find_protocol("gpudirect-v2"), settings, "batch", std::to_string(kMessages));
      const auto channel = find_protocol("gpudirect-v2").connect(rank, RankId{sends ? 1 : 0}, settings);
      outcomes[sends ? 0 : 1] = sends ? channel->exchange(window, {}) : channel->exchange({}, window);
    });
    return outcomes;
  }
};

TEST_P(SilentPeer, DeliversIfItSendsAllPlaces) {
  for (const Outcome& outcome : outcomes(kPlacesOfTheirOwn)) EXPECT_TRUE(outcome.ok()) << outcome.reason;
}

TEST_P(SilentPeer, AboutThePlacesOfABatchIsATimeoutOfTheStepThatNeedsThem) {
  const std::string step = pulls() ? "'pull'" : GetParam() == "copy-engine" ? "'peer copy'" : "'push'";
  for (const int sent : {0, 1}) {
    const auto both = outcomes(sent);
    const Outcome& mover = both[pulls() ? 1 : 0];
    const Outcome& silent = both[pulls() ? 0 : 1];
    EXPECT_EQ(mover.status, Status::timed_out) << mover.reason;
    EXPECT_THAT(mover.reason,
                AllOf(HasSubstr("step " + step), HasSubstr("places of a batch were not received in time")));
    EXPECT_EQ(silent.status, Status::timed_out) << silent.reason;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, SilentPeer, testing::Values("copy-engine", "kernel-push", "kernel-pull", "resident-push"),
                         [](const auto& param) { return test_name(param.param); });

}  // namespace
}  // namespace twinlink
