#include "tests/model/engine/push_pair.hpp"
#include "tests/support/said_by.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "protocols/core/tags.hpp"

namespace twinlink::model::testing {
namespace {

constexpr Tag kDone{3};
constexpr double kPerSecond = 1e12;  // signals carry whole numbers: picoseconds

}  // namespace

void push(const Platform& platform, const std::vector<Place>& places, std::size_t signals,
          const std::function<void(MeasuredRank&, Buffer own, Buffer theirs)>& body, const OpObserver& observer) {
  const auto both = [&](MeasuredRank& rank) {
    const RankId peer{1 - rank.id().value};
    const Buffer own = rank.allocate(Memory::device, 1_MiB);
    ControlMessage message;
    if (rank.id().value == 0) {
      EXPECT_EQ(wait(rank, rank.recv_control(peer, tags::kReady, message), kLong), Status::delivered);
      rank.fill(View(own), Payload{5});
      const Buffer theirs = rank.open_memory(peer, message.as<IpcHandle>());
      body(rank, own, theirs);
      rank.close_memory(theirs);
      EXPECT_EQ(wait(rank, rank.send_control(peer, tags::kReady, ControlMessage(1)), kLong), Status::delivered);
      return;
    }
    message = ControlMessage(rank.export_memory(own));
    EXPECT_EQ(wait(rank, rank.send_control(peer, tags::kReady, message), kLong), Status::delivered);
    for (std::size_t i = 0; i < signals; ++i) {
      std::uint64_t value = 0;
      EXPECT_EQ(wait(rank, rank.await_signal(peer, kDone, value), kLong), Status::delivered);
      expect_near(rank.now(), Seconds{static_cast<double>(value) / kPerSecond});
      EXPECT_TRUE(rank.check(View(own), Payload{5}).intact());
    }
    EXPECT_EQ(wait(rank, rank.recv_control(peer, tags::kReady, message), kLong), Status::delivered);
  };
  simulate(platform, places, both, {.observer = observer});
}

Signal signal_due(Seconds time) { return {kDone, static_cast<std::uint64_t>(std::llround(time.value() * kPerSecond))}; }

std::string refusal(const std::function<void()>& call) { return said_by(call); }

}  // namespace twinlink::model::testing
