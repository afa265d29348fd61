// What NCCL is told to do, by three ranks with a stand-in for it.
#include "real/nccl/library_protocol.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/real/rank/lonely_rank.hpp"
#include "tests/real/rank/messages.hpp"

namespace twinlink::real {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Return;

class LibraryTest : public testing::Test, public LonelyRank {
 protected:
  LibraryTest() {
    ON_CALL(device, runs_libraries).WillByDefault(Return(Answer::granted()));
    ON_CALL(device, ended).WillByDefault(Return(true));
    ON_CALL(device, enqueue)
        .WillByDefault([this](Stream stream, int times, std::string_view key, const DeviceRuntime::Enqueue& calls) {
          EXPECT_EQ(stream, Stream{0});
          enqueued.emplace_back(key);
          for (int i = 0; i < times; ++i) calls(queue());
          return Event{1};
        });
    ON_CALL(device, forget_enqueued).WillByDefault([this](std::string_view begin) {
      forgotten.emplace_back(begin);
      told_before += told();
    });
    static_cast<void>(told());
  }

  template <class Function>
  static Function function(const char* name) {
    void* const library = ::dlopen(TWINLINK_FAKE_NCCL_FILE, RTLD_NOW | RTLD_NOLOAD);
    const auto found = reinterpret_cast<Function>(::dlsym(library, name));
    ::dlclose(library);
    return found;
  }
  static void* queue() { return function<void* (*)()>("fake_nccl_queue")(); }
  static std::string told() { return function<const char* (*)()>("fake_nccl_told")(); }

  std::string call(Communicator& all, Collective what, Bytes size, int times = 1) {
    const Outcome outcome = all.run(what, data.slice(0_B, size), times);
    EXPECT_TRUE(outcome.ok()) << outcome.reason;
    return told();
  }

  const int self = mpi->rank();
  std::vector<std::string> enqueued;
  std::vector<std::string> forgotten;
  std::string told_before;  ///< what was forgotten
  const LibraryProtocol protocol{lonely, TWINLINK_FAKE_NCCL_FILE};
  const Settings settings{.timeout = Seconds{20}};
  const View data{rank.allocate(Memory::device, 96_B)};
};

TEST_F(LibraryTest, EveryCollectiveIsACallOfItsOwn) {
  auto all = protocol.join(rank, settings);
  EXPECT_EQ(told(), fmt::format("{}init rank {} of 3 with id\n", self == 0 ? "get id\n" : "", self));
  EXPECT_EQ(call(*all, Collective::all_reduce, 40_B), "all-reduce +0 +0 of 5 numbers sum\n");
  EXPECT_EQ(call(*all, Collective::broadcast, 40_B), "broadcast +0 +0 of 5 numbers from 0\n");
  EXPECT_EQ(call(*all, Collective::reduce, 40_B), "reduce +0 +0 of 5 numbers sum to 0\n");
  EXPECT_EQ(call(*all, Collective::all_gather, 96_B), fmt::format("all-gather +{} +0 of 4 numbers\n", 32 * self));
  EXPECT_EQ(call(*all, Collective::reduce_scatter, 96_B),
            fmt::format("reduce-scatter +0 +{} of 4 numbers sum\n", 32 * self));
  EXPECT_EQ(call(*all, Collective::all_to_all, 96_B),
            "group start\n"
            "send +0 of 2 numbers to 0\nrecv +48 of 2 numbers from 0\n"
            "send +16 of 2 numbers to 1\nrecv +64 of 2 numbers from 1\n"
            "send +32 of 2 numbers to 2\nrecv +80 of 2 numbers from 2\n"
            "group end\n");
  EXPECT_EQ(call(*all, Collective::all_reduce, 0_B), "");
  EXPECT_EQ(
      call(*all, Collective::all_reduce, 8_B, 3),
      "all-reduce +0 +0 of 1 numbers sum\nall-reduce +0 +0 of 1 numbers sum\nall-reduce +0 +0 of 1 numbers sum\n");
  // Graphs are kept by collective, memory and size.
  EXPECT_EQ(std::set<std::string>(enqueued.begin(), enqueued.end()).size(), enqueued.size());
  all.reset();
  EXPECT_EQ(told(), "destroy\n");
  EXPECT_EQ(told_before, "") << "graphs go before the communicator that made them";
  ASSERT_EQ(forgotten.size(), 1U);
  for (const std::string& key : enqueued) EXPECT_TRUE(key.starts_with(forgotten[0])) << key;
}

TEST_F(LibraryTest, WhatItDoesNotDoIsRefused) {
  for (const auto& [what, size] :
       {std::pair(Collective::all_gather, 88_B), {Collective::reduce_scatter, 88_B}, {Collective::all_to_all, 72_B}}) {
    const auto refused = protocol.join(rank, settings);
    const View part = data.slice(0_B, size);
    EXPECT_THAT(message_of<UsageError>([&, what = what] { static_cast<void>(refused->run(what, part)); }),
                HasSubstr("NCCL has parts of equal size"));
  }
  for (const Collective what : {Collective::dispatch, Collective::combine}) {
    EXPECT_THROW(static_cast<void>(protocol.join(rank, settings)->run(what, data)), UsageError);
  }
  EXPECT_THAT(enqueued, IsEmpty());
}

/// Nothing may wait for the device's stream before NCCL's kernels are ended.
TEST_F(LibraryTest, AKernelThatDoesNotEndIsGivenUpWithItsGraphs) {
  Settings hasty = settings;
  hasty.timeout = Seconds{1};
  std::string told_at_the_end;
  ON_CALL(device, synchronize).WillByDefault([&](Stream) {
    told_at_the_end += told();
    ON_CALL(device, ended).WillByDefault(Return(true));
  });
  mpi->barrier();
  auto all = protocol.join(rank, hasty);
  static_cast<void>(told());
  ON_CALL(device, ended).WillByDefault(Return(false));
  EXPECT_EQ(all->run(Collective::all_reduce, data).status, Status::timed_out);
  EXPECT_EQ(forgotten.size(), 1U);
  EXPECT_EQ(told_before, "all-reduce +0 +0 of 12 numbers sum\n");
  EXPECT_EQ(told_at_the_end, "abort\n");
  all.reset();
  EXPECT_EQ(told_before + told(), "all-reduce +0 +0 of 12 numbers sum\n") << "it is gone already";
  mpi->barrier();
  if (self == 1) return;
  const auto channel = protocol.connect(rank, RankId{2 - self}, hasty);
  static_cast<void>(told());
  told_at_the_end.clear();
  ON_CALL(device, ended).WillByDefault(Return(false));
  const std::vector<View> out{data, data};
  EXPECT_EQ(channel->exchange(out, {}).status, Status::timed_out);
  EXPECT_THAT(told_at_the_end, testing::EndsWith("group end\nabort\n"));
  EXPECT_NO_THROW(rank.release(data.buffer)) << "no operation uses it any more";
}

TEST_F(LibraryTest, TwoRanksSendAndReceiveTogether) {
  if (self == 1) return;
  const auto channel = protocol.connect(rank, RankId{2 - self}, settings);
  EXPECT_EQ(told(), self == 0 ? "get id\ninit rank 0 of 2 with id\n" : "init rank 1 of 2 with id\n");
  const std::vector<View> out{data.slice(0_B, 10_B), data.slice(30_B, 1_B), data.slice(0_B, 0_B)};
  const std::vector<View> in{data.slice(40_B, 20_B)};
  const int peer = self == 0 ? 1 : 0;
  EXPECT_TRUE(channel->exchange(out, in).ok());
  EXPECT_EQ(told(), fmt::format("group start\nsend +0 of 10 bytes to {0}\nrecv +40 of 20 bytes from {0}\ngroup end\n"
                                "group start\nsend +30 of 1 bytes to {0}\ngroup end\n",
                                peer));
  EXPECT_TRUE(channel->exchange({}, in).ok());
  EXPECT_EQ(told(), fmt::format("group start\nrecv +0 of 20 bytes from {}\ngroup end\n", peer));
  EXPECT_TRUE(channel->path_taken().starts_with("NCCL 2.28.3"));
}

TEST_F(LibraryTest, ItsErrorsAndSwitchesAreNamed) {
  const auto all = protocol.join(rank, settings);
  ::setenv("NCCL_PROTO", "LL", 1);
  EXPECT_EQ(all->path_taken(Collective::all_reduce, data), "NCCL 2.28.3, NCCL_PROTO=LL");
  ::unsetenv("NCCL_PROTO");
  ::setenv("TWINLINK_FAKE_NCCL", "all-reduce", 1);
  EXPECT_THAT(message_of<EnvironmentError>([&] { static_cast<void>(all->run(Collective::all_reduce, data)); }),
              HasSubstr("ncclAllReduce: made to fail"));
  ::unsetenv("TWINLINK_FAKE_NCCL");
}

TEST_F(LibraryTest, WhereNoneRunsOrIsThereThatIsSaid) {
  EXPECT_THAT(message_of<UnavailableError>([&] { const LibraryProtocol none(lonely, "libnot-there.so"); }),
              HasSubstr("no NCCL: libnot-there.so: cannot open"));
  EXPECT_THAT(message_of<UnavailableError>([&] { const LibraryProtocol none(lonely, "libc.so.6"); }),
              HasSubstr("no NCCL: "));
  EXPECT_TRUE(protocol.supports({}).usable());
  EXPECT_TRUE(protocol.does(Collective::all_reduce, settings));
  EXPECT_EQ(protocol.message_memory(), Memory::device);
  ON_CALL(device, runs_libraries).WillByDefault(Return(Answer::refused("no libraries here")));
  EXPECT_EQ(protocol.supports({}).reason, "no libraries here");
  EXPECT_THROW(static_cast<void>(protocol.join(rank, settings)), UnavailableError);
}

}  // namespace
}  // namespace twinlink::real
