// Handles that name no memory any more, or never did.
#include <gmock/gmock.h>

#include <functional>
#include <string>

#include "protocols/core/tags.hpp"
#include "protocols/trace/decorated_rank.hpp"
#include "tests/explore/bodies.hpp"
#include "tests/explore/cuda_ipc_jobs.hpp"
#include "tests/explore/expectations.hpp"
#include "tests/support/finish.hpp"

namespace twinlink::explore {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;

constexpr Tag kHandle{64};
constexpr Tag kDone{65};

void send_control(Rank& rank, RankId peer, Tag tag, const ControlMessage& message = ControlMessage()) {
  finish(rank, rank.send_control(peer, tag, message), kLong);
}

ControlMessage recv_control(Rank& rank, RankId peer, Tag tag) {
  ControlMessage received;
  finish(rank, rank.recv_control(peer, tag, received), kLong);
  return received;
}

// ---- stale: a reader that remembers a handle ------------------------------------------------------------------------

/// Rank 0 shares a buffer, and replaces it when rank 1 has read it. Rank 1 opens what it was sent first, or last.
Scenario reads_twice(bool with_the_old_handle) {
  const Body owner = [](Rank& rank, Witness&) {
    for (int i = 0; i < 2; ++i) {
      const Buffer buffer = rank.allocate(Memory::device, kSize);
      rank.step("send the handle");
      send_control(rank, RankId{1}, kHandle, ControlMessage(rank.export_memory(buffer)));
      rank.step("receive done");
      recv_control(rank, RankId{1}, kDone);
      rank.step("free");
      rank.release(buffer);
    }
  };
  const Body reader = [=](Rank& rank, Witness& witness) {
    IpcHandle known{};
    for (int i = 0; i < 2; ++i) {
      rank.step("receive the handle");
      const auto handle = recv_control(rank, RankId{0}, kHandle).as<IpcHandle>();
      if (i == 1) {
        witness.require(handle.address == known.address && handle.size == known.size, "not the same range again");
        witness.require(handle != known, "not another handle");
      }
      if (i == 0 || !with_the_old_handle) known = handle;
      rank.step("open");
      const Buffer theirs = rank.open_memory(RankId{0}, known);
      rank.step("close");
      rank.close_memory(theirs);
      rank.step("send done");
      send_control(rank, RankId{0}, kDone);
    }
  };
  return {.bodies = {owner, reader}};
}

TEST(SeededBug, AHandleThatIsKeptTooLong) {
  clean_exploration_of(reads_twice(false), {.likeness = Likeness::bytes});
  const Finding found = finding_with(explore(reads_twice(true)), "rank 1 threw");
  EXPECT_EQ(found.what, "rank 1 threw: the handle names no memory that rank 0 has exported: it was released");
  EXPECT_THAT(found.trace, AllOf(HasSubstr("rank 0 | free | release device[0+64]\n"
                                           "rank 0 | free | allocate device[0+64]\n"),
                                 HasSubstr("rank 1 | receive the handle | recv_control rank 0 | ended\n"
                                           "rank 1 | open | VIOLATION rank 1 threw: the handle")));
}

// ---- forged ---------------------------------------------------------------------------------------------------------

using Forge = std::function<void(IpcHandle&)>;

/// Rank 1 opens a handle of rank 0 that it has changed, as memory of rank `owner`.
ExploreResult exploration_of_forged(const Forge& forge, int owner = 0) {
  const Body sharer = [](Rank& rank, Witness&) {
    const Buffer buffer = rank.allocate(Memory::device, kSize);
    rank.allocate(Memory::device, kSize);  // which is never exported
    send_control(rank, RankId{1}, kHandle, ControlMessage(rank.export_memory(buffer)));
    recv_control(rank, RankId{1}, kDone);
    rank.release(buffer);
  };
  const Body forger = [=](Rank& rank, Witness&) {
    auto handle = recv_control(rank, RankId{0}, kHandle).as<IpcHandle>();
    forge(handle);
    rank.step("open");
    rank.close_memory(rank.open_memory(RankId{owner}, handle));
    send_control(rank, RankId{0}, kDone);
  };
  const Body bystander = [](Rank& rank, Witness&) { rank.export_memory(rank.allocate(Memory::device, kSize)); };
  return explore({.bodies = {sharer, forger, bystander}});
}

TEST(ForgedHandle, IsRefused) {
  EXPECT_TRUE(exploration_of_forged([](IpcHandle&) {}).clean());
  const auto refusal = [](int owner) {
    return "rank 1 threw: the handle names no memory that rank " + std::to_string(owner) + " has exported";
  };
  const auto only_finding = [](const ExploreResult& result) {
    return result.violations.size() == 1 ? result.violations.front().what : to_string(result);
  };
  EXPECT_EQ(only_finding(exploration_of_forged([](IpcHandle& handle) { handle.token.fill({}); })), refusal(0));
  EXPECT_EQ(only_finding(exploration_of_forged([](IpcHandle& handle) { handle.size *= 2; })), refusal(0));
  EXPECT_EQ(only_finding(exploration_of_forged([](IpcHandle&) {}, 2)), refusal(2));
  // The token ends with the number of the allocation: the next one is not exported, and there is no third.
  for (const int forged : {1, 2}) {
    EXPECT_EQ(only_finding(exploration_of_forged([=](IpcHandle& handle) { handle.token[12] = std::byte(forged); })),
              refusal(0));
  }
}

// ---- a protocol that is sent a stale handle -------------------------------------------------------------------------

/// A rank whose exports of device memory give the handle of a buffer that it has released.
class ExportsWhatIsGone final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;

  IpcHandle export_memory(Buffer buffer) override {
    if (buffer.memory != Memory::device) return DecoratedRank::export_memory(buffer);
    const Buffer gone = allocate(Memory::device, buffer.size, Locality::near);
    const IpcHandle handle = DecoratedRank::export_memory(gone);
    release(gone);
    return handle;
  }
};

TEST(StaleHandle, EndsTheExchangeOfCudaIpcAtBothEnds) {
  const auto body = [](int me) {
    return [me](MeasuredRank& plain, Witness& witness) {
      ExportsWhatIsGone rank(plain);
      const View message(rank.allocate(Memory::device, kSize, Locality::near));
      {
        CudaIpcOptions options{.eager = Bytes{}};
        options.payload = kSize;
        CudaIpcChannel channel(rank, RankId{1 - me}, options, kLong);
        std::string all;
        for (int i = 0; i < 3; ++i) {
          const Outcome outcome = me == 0 ? channel.send(message) : channel.receive(message);
          all += (i == 0 ? "" : ", ") + std::string(to_string(outcome.status));
          if (i == 1) {
            witness.require(outcome.reason.find(me == 0 ? "the peer has given the exchange up" : "it was released") !=
                                std::string::npos,
                            outcome.reason);
          }
        }
        witness.ending(all);
      }
      send_control(rank, RankId{1 - me}, kDone);
      recv_control(rank, RankId{1 - me}, kDone);
      rank.release(message.buffer);
    };
  };
  const ExploreResult result = clean_exploration_of({.bodies = {body(0), body(1)}});
  // The first message is staged and needs no handle. The channel is broken after the second one.
  EXPECT_THAT(result.endings, ElementsAre(Key("delivered, peer failed, peer failed | "
                                              "delivered, peer failed, peer failed")));
}

}  // namespace
}  // namespace twinlink::explore
