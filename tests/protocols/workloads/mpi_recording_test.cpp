// From calls of MPI to a job: what waits for what, and what is left out. Expected texts are derived by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "protocols/core/errors.hpp"
#include "protocols/workloads/goal/job.hpp"
#include "protocols/workloads/goal/mpi_recording.hpp"
#include "protocols/workloads/goal/trace.hpp"

namespace twinlink::workloads::goal {
namespace {

using mpi::Call;
using mpi::Ended;
using mpi::Kind;
using mpi::What;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using Calls = std::vector<Call>;

Call world(std::uint64_t ranks) {
  Call call{.kind = Kind::communicator};
  for (std::uint64_t r = 0; r < ranks; ++r) call.numbers.push_back(r);
  return call;
}
// Places and tags are one more than in MPI.
Call send(int to, std::uint64_t bytes, std::uint64_t gap = 0, int tag = 0) {
  return {.kind = Kind::send,
          .gap = gap,
          .took = 5,
          .peer = static_cast<std::uint64_t>(to) + 1,
          .tag = static_cast<std::uint64_t>(tag) + 1,
          .bytes = bytes};
}
Call receive(int from, std::uint64_t bytes, std::uint64_t gap = 0, int tag = 0) {
  Call call = send(from, bytes, gap, tag);
  call.kind = Kind::receive;
  return call;
}
Call begun(Call call) {
  call.requested = true;
  return call;
}
Call wait(const std::vector<Ended>& ended, std::uint64_t gap = 0) {
  Call call{.kind = Kind::wait, .gap = gap, .took = 100};
  call.ended = ended;
  return call;
}
Ended received(std::uint64_t request, int from, std::uint64_t bytes, int tag = 0) {
  return {request, mpi::End::received, static_cast<std::uint64_t>(from) + 1, static_cast<std::uint64_t>(tag) + 1,
          bytes};
}
Call collective(What what, std::uint64_t bytes, int root = -1) {
  return {
      .kind = Kind::collective, .took = 50, .bytes = bytes, .what = what, .root = static_cast<std::uint64_t>(root + 1)};
}
Call end(std::uint64_t gap = 0) { return {.kind = Kind::end, .gap = gap, .took = 3}; }

std::vector<mpi::RankCalls> ranks_of(const std::vector<Calls>& all) {
  std::vector<mpi::RankCalls> ranks;
  for (std::size_t r = 0; r < all.size(); ++r) {
    ranks.push_back({"rank" + std::to_string(r) + ".mpi", 1000 + 10 * r, "here",
                     [calls = all[r]](const std::function<void(const Call&)>& take) {
                       for (const Call& call : calls) take(call);
                       return std::uint64_t{0};
                     }});
  }
  return ranks;
}

std::string text_of(const std::vector<Calls>& all) {
  const MpiRecording recording(ranks_of(all));
  std::string text;
  recording.write({}, [&](std::string_view part) { text += part; });
  const Job job(read_trace(text, "job.goal"));  // it can be played
  return text;
}

std::string refusal(const std::vector<Calls>& all) {
  try {
    return text_of(all);
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(MpiRecording, TimeBetweenCallsIsComputingAndTimeWithinIsNot) {
  EXPECT_EQ(text_of({{world(2), send(1, 64, 100, 7), end(30)}, {world(2), receive(0, 64, 20, 7), end()}}),
            "num_ranks 2\n"
            "\nrank 0 {\n  t1: calc 100\n  t2: send 64b to 1 tag 7\n  t2 requires t1\n"
            "  t3: calc 30\n  t3 requires t2\n}\n"
            // Its clock says that it has begun 10 ns later.
            "\nrank 1 {\n  t1: calc 30\n  t2: recv 64b from 0 tag 7\n  t2 requires t1\n}\n");
}

TEST(MpiRecording, WhoWaitsForARequestWaitsForWhatItBegan) {
  // Two receives, 40 of computing beside them, and the second one is waited for first.
  const std::string text = text_of({{world(2), begun({.kind = Kind::receive, .gap = 1}), begun({.kind = Kind::receive}),
                                     wait({received(1, 1, 16)}, 40), wait({received(0, 1, 8)}), send(1, 4), end()},
                                    {world(2), send(0, 8), send(0, 16), receive(0, 4), end()}});
  EXPECT_THAT(text, HasSubstr("rank 0 {\n  t1: calc 1\n  t2: recv 8b from 1 tag 0\n  t2 requires t1\n"
                              "  t3: recv 16b from 1 tag 0\n  t3 requires t1\n"
                              "  t4: calc 40\n  t4 requires t1\n"
                              // The first wait has the computing and the second receive; the other one adds the first.
                              "  t5: calc 0\n  t5 requires t4\n  t5 requires t3\n  t5 requires t2\n"
                              "  t6: send 4b to 1 tag 0\n  t6 requires t5\n"));
}

TEST(MpiRecording, TestsInALoopComputeNothing) {
  const Call poll{.kind = Kind::poll, .gap = 70, .took = 500};
  Call again = poll;
  again.gap = mpi::kPolling - 1;
  Call late = poll;
  late.gap = mpi::kPolling;
  const std::string text =
      text_of({{world(2), begun({.kind = Kind::receive}), poll, again, late, wait({received(0, 1, 8)}, 20), end()},
               {world(2), send(0, 8), end()}});
  EXPECT_THAT(text, HasSubstr("calc 1070\n"));
}

TEST(MpiRecording, OtherRootsAndBlocksAreMessages) {
  Calls rank0{world(3),
              collective(What::broadcast, 24, 0),
              collective(What::broadcast, 8, 2),
              collective(What::reduce, 8, 2),
              collective(What::scan, 4),
              end()};
  const std::string tag = " tag " + std::to_string(std::uint64_t{1} << 62U) + "\n";
  const std::string text = text_of({rank0, rank0, rank0});
  // From rank 2: to the next one behind it, rank 0, and to the one after that.
  EXPECT_THAT(
      text, AllOf(HasSubstr("group 0 { 0-2 }"), HasSubstr("broadcast 24b in 0"), HasSubstr("send 8b to 1" + tag),
                  HasSubstr("send 8b to 0" + tag), HasSubstr("recv 8b from 2" + tag), HasSubstr("send 4b to 2" + tag)));
  Calls gathers{world(2), collective(What::gather_blocks, 5, 0), end()};
  Calls root = gathers;
  root[1].bytes = 0;
  root[1].numbers = {3, 5};
  EXPECT_THAT(text_of({root, gathers}), AllOf(HasSubstr("recv 5b from 1" + tag), HasSubstr("send 5b to 0" + tag)));
  root[1].numbers = {3};
  EXPECT_THAT(refusal({root, gathers}), HasSubstr("rank0.mpi: error: a collective has another number of blocks"));
}

TEST(MpiRecording, CommunicatorsOfTheSameRanksAreToldApart) {
  Call other = world(2);
  std::swap(other.numbers[0], other.numbers[1]);
  Call sum = collective(What::all_reduce, 8);
  Call in_other = sum;
  in_other.communicator = 1;
  const Calls all{world(2), other, sum, in_other, end()};
  EXPECT_THAT(text_of({all, all}), AllOf(HasSubstr("group 1 { 0-1 }"), HasSubstr("all_reduce 8b in 1")));
  Call message = send(0, 4);  // the first place of the other one is rank 1
  message.communicator = 1;
  Call taken = receive(1, 4);
  taken.communicator = 1;
  EXPECT_THAT(text_of({{world(2), other, message, end()}, {world(2), other, taken, end()}}),
              HasSubstr("send 4b to 1 tag 4294967296"));
}

TEST(MpiRecording, WhatHasNoOtherEndIsLeftOut) {
  const std::vector<Calls> killed{{world(2), send(1, 8), send(1, 8), collective(What::barrier, 0), end()},
                                  {world(2), receive(0, 8)}};
  EXPECT_THAT(text_of(killed), AllOf(Not(HasSubstr("t2: send")), Not(HasSubstr("barrier"))));
  EXPECT_THAT(MpiRecording(ranks_of(killed)).notes(),
              ElementsAre(HasSubstr("2 ranks"), HasSubstr("rank1.mpi ends after 5.00 ns, before MPI_Finalize"),
                          HasSubstr("2 messages and collectives have no other end")));
  // Of ranks that came to their end it is another matter.
  EXPECT_THAT(refusal({{world(2), collective(What::barrier, 0), end()}, {world(2), end()}}),
              HasSubstr("a collective of 2 ranks has 1 of them"));
}

TEST(MpiRecording, WhatIsCancelledHasNotBeen) {
  const Ended cancelled{0, mpi::End::cancelled};
  EXPECT_THAT(text_of({{world(2), begun(send(1, 8)), wait({cancelled}), end()},
                       {world(2), begun({.kind = Kind::receive}), wait({cancelled}), end()}}),
              AllOf(Not(HasSubstr("send")), Not(HasSubstr("recv"))));
}

TEST(MpiRecording, SaysWhatIsNotPlayed) {
  Call name{.kind = Kind::name};
  name.name = "MPI_Put";
  Call put{.kind = Kind::other, .took = 2000};
  Call foreign{.kind = Kind::communicator};
  Call to_foreign = send(0, 8);
  to_foreign.communicator = 1;
  Call of_device = send(1, 8);
  of_device.of_device = true;
  const std::vector<Calls> all{{world(2), name, put, put, foreign, to_foreign, of_device, end()},
                               {world(2), receive(0, 8), end()}};
  EXPECT_THAT(MpiRecording(ranks_of(all)).notes(),
              ElementsAre(HasSubstr("7 calls of MPI with 1 messages and 0 collectives"),
                          "of 8 bytes of messages 8 are sent from memory of GPUs",
                          "MPI_Put is not played, and its time counts as computing: 2 calls, 4.00 us",
                          "1 calls are with processes of another job, and are not played"));
  EXPECT_THAT(text_of(all), HasSubstr("t1: calc 4000\n"));
}

TEST(MpiRecording, RefusesWhatCannotBe) {
  const Calls alone{world(2), end()};
  for (const auto& [calls, why] : std::vector<std::pair<Calls, std::string>>{
           {{world(3), end()}, "has rank 2, which is not there"},
           {{send(0, 8)}, "names a communicator that is not there"},
           {{world(2), send(2, 8)}, "place 3 of a communicator of 2 ranks"},
           {{world(2), {.kind = Kind::other}}, "a name that is not there"},
           {{world(2), wait({received(0, 1, 8)})}, "a request that is not there"},
           {{world(2), collective(What::broadcast, 8, 4)}, "place 5 of a communicator"}}) {
    EXPECT_THAT(refusal({calls, alone}), AllOf(HasSubstr("rank0.mpi: error: "), HasSubstr(why)));
  }
  EXPECT_THAT(refusal({{world(2), collective(What::reduce, 8, 0), end()}, {world(2), collective(What::reduce, 4, 0)}}),
              HasSubstr("rank1.mpi: error: its 1. collective"));
}

}  // namespace
}  // namespace twinlink::workloads::goal
