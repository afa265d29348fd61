// What the cuda-ipc protocol makes of handles that lie, sizes that differ and peers that are silent: both ends learn
// it, nothing hangs, and nothing is called delivered that was not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "protocols/trace/decorated_rank.hpp"
#include "tests/model/engine/ipc_pair.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: IpcPair and its kin
using ::testing::HasSubstr;

/// Changes the handles of device memory before they leave.
class LyingRank final : public DecoratedRank {
 public:
  using Lie = std::function<void(IpcHandle&)>;
  LyingRank(MeasuredRank& inner, Lie lie) : DecoratedRank(inner), lie_(std::move(lie)) {}

  IpcHandle export_memory(Buffer buffer) override {
    IpcHandle handle = inner().export_memory(buffer);
    if (buffer.memory == Memory::device) lie_(handle);
    return handle;
  }

 private:
  Lie lie_;
};

void run_with_lies(const LyingRank::Lie& lie, const std::function<void(const IpcEnd&)>& body) {
  std::vector<std::unique_ptr<LyingRank>> ranks;
  run_ipc_pair({}, body, [&](MeasuredRank& rank) -> MeasuredRank& {
    return *ranks.emplace_back(std::make_unique<LyingRank>(rank, lie));
  });
}

Outcome exchange(const IpcEnd& end, View message) {
  return end.sending() ? end.channel.send(message) : end.channel.receive(message);
}

TEST(CudaIpcFailures, AForgedHandleEndsBothSidesAtOnce) {
  run_with_lies([](IpcHandle& handle) { handle.token[0] ^= std::byte{1}; },
                [](const IpcEnd& end) {
                  end.shake_hands();
                  const View message(end.device(1_MiB));
                  const Outcome outcome = exchange(end, message);
                  EXPECT_EQ(outcome.status, Status::peer_failed);
                  EXPECT_THAT(outcome.reason, HasSubstr(end.sending() ? "given the exchange up" : "was refused"));
                  EXPECT_LT(end.rank.now(), Seconds{0.5}) << "not by the deadline";
                });
}

TEST(CudaIpcFailures, AHandleThatClaimsMoreThanThereIsIsRefused) {
  run_with_lies([](IpcHandle& handle) { handle.size *= 2; },
                [](const IpcEnd& end) {
                  end.shake_hands();
                  EXPECT_EQ(exchange(end, View(end.device(1_MiB))).status, Status::peer_failed);
                });
}

/// The sender's allocator gives the same address again, and the handle alone tells the memories apart.
TEST(CudaIpcFailures, AStaleEntryOfTheCacheIsNoticedByItsHandle) {
  run_with_lies([](IpcHandle& handle) { handle.address = 4096; },
                [](const IpcEnd& end) {
                  end.shake_hands();
                  for (int i = 0; i < 3; ++i) {
                    end.one_message(View(end.device(1_MiB)));
                    end.connect_ends();
                  }
                  if (end.sending()) return;
                  EXPECT_EQ(end.channel.cache_counts().misses, 1U);
                  EXPECT_EQ(end.channel.cache_counts().invalid, 2U);
                });
}

/// A released buffer's address is used again by the simulated machine too: what was closed is opened anew.
TEST(CudaIpcFailures, AReleasedBuffersSuccessorIsNotTakenForIt) {
  run_ipc_pair({.options = {{"cache", "1"}}}, [](const IpcEnd& end) {
    end.shake_hands();
    const View other(end.device(2_MiB));
    const Buffer old = end.device(1_MiB);
    const std::uint64_t address = end.rank.export_memory(old).address;
    end.one_message(View(old));
    end.one_message(other);  // The receiver closes the first buffer.
    end.connect_ends();
    end.rank.release(old);
    const Buffer fresh = end.device(1_MiB);
    EXPECT_EQ(end.rank.export_memory(fresh).address, address);
    end.one_message(View(fresh));
  });
}

TEST(CudaIpcFailures, AWrongSizeOfAStagedMessageEndsBothSidesAtOnce) {
  run_ipc_pair({}, [](const IpcEnd& end) {
    const Outcome outcome = exchange(end, View(end.device(end.sending() ? 1_MiB : 2_MiB)));
    EXPECT_EQ(outcome.status, Status::wrong_size);
    EXPECT_FALSE(outcome.reason.empty());
    EXPECT_LT(end.rank.now(), Seconds{0.5}) << "not by the deadline";
  });
}

TEST(CudaIpcFailures, AWrongSizeByIpcEndsBothSidesAtOnce) {
  run_ipc_pair({}, [](const IpcEnd& end) {
    end.shake_hands();
    const Outcome outcome = exchange(end, View(end.device(end.sending() ? 2_MiB : 1_MiB)));
    EXPECT_EQ(outcome.status, Status::wrong_size);
    EXPECT_LT(end.rank.now(), Seconds{0.5}) << "not by the deadline";
  });
}

TEST(CudaIpcFailures, MoreMessagesThanExpectedEndBothSidesAtOnce) {
  run_ipc_pair({}, [](const IpcEnd& end) {
    const std::vector<View> window(end.sending() ? 3 : 2, View(end.device(1_MiB)));
    const Outcome outcome = end.sending() ? end.channel.exchange(window, {}) : end.channel.exchange({}, window);
    EXPECT_EQ(outcome.status, Status::wrong_size);
    EXPECT_LT(end.rank.now(), Seconds{0.5}) << "not by the deadline";
  });
}

TEST(CudaIpcFailures, ASilentReceiverEndsASendByIpcInTime) {
  run_ipc_pair({}, [](const IpcEnd& end) {
    end.shake_hands();
    if (end.sending()) {
      const Seconds start = end.rank.now();
      const Outcome outcome = end.channel.send(View(end.device(1_MiB)));
      EXPECT_EQ(outcome.status, Status::timed_out);
      EXPECT_THAT(outcome.reason, HasSubstr("waits for FIN"));
      EXPECT_NEAR((end.rank.now() - start).value(), 1.0, 1e-3) << "the pair's timeout";
    }
    end.connect_ends();
  });
}

TEST(CudaIpcFailures, ASilentSenderEndsAReceiveInTime) {
  run_ipc_pair({}, [](const IpcEnd& end) {
    end.shake_hands();
    if (!end.sending()) {
      const Outcome outcome = end.channel.receive(View(end.device(1_MiB)));
      EXPECT_EQ(outcome.status, Status::timed_out);
      EXPECT_THAT(outcome.reason, HasSubstr("waits for its header"));
    }
    end.connect_ends();
  });
}

TEST(CudaIpcFailures, AfterAFailureTheChannelIsNotUsedAgain) {
  run_ipc_pair({}, [](const IpcEnd& end) {
    const View message(end.device(end.sending() ? 1_MiB : 2_MiB));
    EXPECT_FALSE(exchange(end, message).ok());
    const Seconds before = end.rank.now();
    const Outcome again = exchange(end, message);
    EXPECT_EQ(again.status, Status::wrong_size);
    EXPECT_EQ(end.rank.now(), before);
  });
}

/// What an earlier connection left in the FIFO does not reach the next one.
TEST(CudaIpcFailures, ANewConnectionStartsAfresh) {
  run_ipc_pair({}, [](const IpcEnd& end) {
    EXPECT_FALSE(exchange(end, View(end.device(end.sending() ? 1_MiB : 2_MiB))).ok());
    end.connect_ends();
    {
      CudaIpcChannel second(end.rank, end.peer, {}, Seconds{1});
      const IpcEnd fresh{end.rank, end.peer, second};
      fresh.shake_hands();
      fresh.one_message(View(end.device(1_MiB)));
      EXPECT_EQ(second.counts().ipc_messages, 1U);
      end.connect_ends();
    }
  });
}

TEST(CudaIpcFailures, APeerThatNeverConnectsEndsInATimeout) {
  run_ipc_pair({}, [](const IpcEnd& end) {
    if (end.sending()) {
      CudaIpcChannel alone(end.rank, end.peer, {}, Seconds{1});
      const Outcome outcome = alone.send(View(end.device(1_KiB)));
      EXPECT_EQ(outcome.status, Status::timed_out);
      EXPECT_THAT(outcome.reason, HasSubstr("did not connect"));
    }
    end.connect_ends();
  });
}

}  // namespace
}  // namespace twinlink::model
