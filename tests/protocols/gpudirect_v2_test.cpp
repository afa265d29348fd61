// GPUDirect v2 where a peer keeps silent, or is refused: what both ends say of it. Its bytes are in tests/contract.
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
#include "tests/explore/explorer/fake_world.hpp"
#include "tests/support/fault_rank.hpp"
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
  SilentAboutPlaces(MeasuredRank& inner, int sent) : DecoratedRank(inner), sent_(sent) {}
  Op send_control(RankId peer, Tag tag, const ControlMessage& message) override {
    const bool place = tag == tags::kPlace && message.bytes().size() != kConnectMessageSize;
    const bool silent = place && sent_-- <= 0;
    return DecoratedRank::send_control(peer, silent ? tags::kFirstFree : tag, message);
  }

 private:
  int sent_;
};

/// The first copy that it starts ends in time and has failed.
class FirstCopyFails final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;
  Op start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) override {
    const Op op = DecoratedRank::start_copy(to, from, blocks, stream, engine);
    if (failing_ == Op{}) failing_ = op;
    return op;
  }
  std::optional<Completion> wait_any(std::span<const Op> ops, Seconds deadline) override {
    auto ended = DecoratedRank::wait_any(ops, deadline);
    if (ended && ops[ended->index] == failing_) ended->status = Status::peer_failed;
    return ended;
  }

 private:
  Op failing_{};
};

class EveryEngine : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] static bool pulls() { return GetParam() == "kernel-pull"; }
};

/// Of whoever moves the bytes, and of the other end.
struct Ends {
  Outcome mover{};
  Outcome other{};
};

/// What becomes of a batch from rank 0 to rank 1 whose messages lie irregularly at both ends, so that they take two
/// copies, of which the mover waits for the last. The other end sends the places of so many.
Ends batch_by(const std::string& engine, int sent, bool first_copy_fails = false) {
  Ends ends;
  run_fake_world({}, [&](MeasuredRank& plain) {
    const bool sends = plain.id().value == 0;
    const bool moves = sends == (engine != "kernel-pull");
    SilentAboutPlaces silent(plain, sent);
    FirstCopyFails failing(plain);
    Rank& mover = first_copy_fails ? static_cast<Rank&>(failing) : plain;
    Rank& rank = moves ? mover : silent;
    const Buffer buffer = rank.allocate(Memory::device, 100_B, Locality::near);
    const std::vector<View> window{{buffer, 0_B, 8_B}, {buffer, 8_B, 8_B}, {buffer, 50_B, 8_B}};
    Settings settings{.depth = 1, .timeout = Seconds{1}};
    set_option(find_protocol("gpudirect-v2"), settings, "engine", engine);
    set_option(find_protocol("gpudirect-v2"), settings, "batch", std::to_string(kMessages));
    const auto channel = find_protocol("gpudirect-v2").connect(rank, RankId{sends ? 1 : 0}, settings);
    (moves ? ends.mover : ends.other) = sends ? channel->exchange(window, {}) : channel->exchange({}, window);
  });
  return ends;
}

TEST_P(EveryEngine, DeliversABatchIfThePeerSendsAllPlaces) {
  const Ends ends = batch_by(GetParam(), kPlacesOfTheirOwn);
  EXPECT_TRUE(ends.mover.ok()) << ends.mover.reason;
  EXPECT_TRUE(ends.other.ok()) << ends.other.reason;
}

TEST_P(EveryEngine, TimesOutInTheStepThatNeedsPlacesThatDoNotCome) {
  const std::string step = pulls() ? "'pull'" : GetParam() == "copy-engine" ? "'peer copy'" : "'push'";
  for (const int sent : {0, 1}) {
    const Ends ends = batch_by(GetParam(), sent);
    EXPECT_EQ(ends.mover.status, Status::timed_out) << ends.mover.reason;
    EXPECT_THAT(ends.mover.reason,
                AllOf(HasSubstr("step " + step), HasSubstr("places of a batch were not received in time")));
    EXPECT_EQ(ends.other.status, Status::timed_out) << ends.other.reason;
  }
}

TEST_P(EveryEngine, DeliversNoBatchWhoseFirstCopyFails) {
  const Ends ends = batch_by(GetParam(), kPlacesOfTheirOwn, true);
  EXPECT_EQ(ends.mover.status, Status::peer_failed);
  EXPECT_EQ(ends.mover.reason, "one of the copies of a batch");
}

/// By rank: what becomes of one message of `sent` bytes from rank 0 to rank 1, which expects `expected`. The driver
/// refuses whoever moves the bytes the other's memory, if asked to.
std::array<Outcome, 2> one_message(const std::string& engine, Bytes sent, Bytes expected, bool refused) {
  std::array<Outcome, 2> outcomes;
  run_fake_world({}, [&](MeasuredRank& plain) {
    const bool sends = plain.id().value == 0;
    FaultRank faulty(plain, FaultRank::Fault::refused_opening);
    Rank& rank = refused && sends == (engine == "copy-engine") ? static_cast<Rank&>(faulty) : plain;
    const View message(rank.allocate(Memory::device, sends ? sent : expected, Locality::near));
    // Nobody is there to end a wait that nothing will end: whoever is not told times out at once.
    Settings settings{.depth = 1, .timeout = Seconds{1000}};
    set_option(find_protocol("gpudirect-v2"), settings, "engine", engine);
    const auto channel = find_protocol("gpudirect-v2").connect(rank, RankId{sends ? 1 : 0}, settings);
    outcomes[sends ? 0 : 1] = sends ? channel->send(message) : channel->receive(message);
  });
  return outcomes;
}

TEST(WhoMovesTheBytes, TellsThePeerThatItsBufferCannotBeOpened) {
  for (const std::string engine : {"copy-engine", "kernel-pull"}) {
    const auto both = one_message(engine, 8_B, 8_B, true);
    const std::size_t mover = engine == "copy-engine" ? 0 : 1;
    EXPECT_EQ(both[mover].status, Status::peer_failed) << both[mover].reason;
    EXPECT_THAT(both[mover].reason, HasSubstr("the peer's buffer cannot be opened: "));
    EXPECT_EQ(both[1 - mover].status, Status::peer_failed) << both[1 - mover].reason;
    EXPECT_THAT(both[1 - mover].reason, HasSubstr("the peer could not open this rank's buffer"));
  }
}

TEST_P(EveryEngine, TellsBothEndsThatTheyHaveMessagesOfOtherSizes) {
  const auto [sender, receiver] = one_message(GetParam(), 8_B, 16_B, false);
  EXPECT_EQ(sender.status, Status::wrong_size) << sender.reason;
  EXPECT_THAT(sender.reason, HasSubstr("this side has 8 B, the other 16 B"));
  EXPECT_EQ(receiver.status, Status::wrong_size) << receiver.reason;
  EXPECT_THAT(receiver.reason, HasSubstr("this side has 16 B, the other 8 B"));
}

INSTANTIATE_TEST_SUITE_P(Of, EveryEngine, testing::Values("copy-engine", "kernel-push", "kernel-pull", "resident-push"),
                         [](const auto& param) { return test_name(param.param); });

}  // namespace
}  // namespace twinlink
