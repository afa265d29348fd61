// Rules about programs of thread blocks: what collectives of a protocol that has them leave in every rank's memory, and
// which launches are refused.
#include <array>
#include <string>

#include "protocols/gpu/work.hpp"
#include "protocols/registry.hpp"
#include "tests/contract/helpers.hpp"

namespace twinlink::contract {
namespace {

using gpu::Operation;

bool can_run(const Rank& rank) {
  for (int r = 0; r < rank.ranks(); ++r) {
    if (RankId{r} != rank.id() && !rank.path_to(RankId{r}).gpu_programs) return false;
  }
  return true;
}

std::uint64_t value_of(int rank) { return 1000 * (static_cast<std::uint64_t>(rank) + 1); }
std::uint64_t sum_of(int ranks) {
  std::uint64_t sum = 0;
  for (int r = 0; r < ranks; ++r) sum += value_of(r);
  return sum;
}

View part_of(const View& whole, int ranks, int rank) {
  const gpu::Share part =
      gpu::share(whole.length.count(), static_cast<std::uint64_t>(ranks), static_cast<std::uint64_t>(rank), 8);
  return whole.slice(Bytes{part.begin}, Bytes{part.length});
}

void run(Communicator& all, MeasuredRank& rank, Collective what, View data) {
  const Outcome outcome = all.run(what, data);
  ASSERT_TRUE(outcome.ok()) << "rank " << rank.id().value << ": " << to_string(outcome.status) << ": "
                            << outcome.reason;
}

void check(MeasuredRank& rank, View view, std::uint64_t value, const std::string& what) {
  const Verdict verdict = rank.check(view, summable(value));
  EXPECT_TRUE(verdict.intact()) << what << ", rank " << rank.id().value << ": " << to_string(verdict);
}

/// One of each, on `elements`.
void run_each(Communicator& all, MeasuredRank& rank, std::uint64_t elements, const std::string& how) {
  const int ranks = rank.ranks();
  const int self = rank.id().value;
  const std::string what = how + ", " + std::to_string(elements) + " elements";
  const Scratch data(rank, Memory::device, Bytes{8 * elements});

  rank.fill(data.view(), summable(value_of(self)));
  run(all, rank, Collective::all_reduce, data.view());
  check(rank, data.view(), sum_of(ranks), "all-reduce, " + what);

  rank.fill(data.view(), kSentinel);
  rank.fill(part_of(data.view(), ranks, self), summable(value_of(self)));
  run(all, rank, Collective::all_gather, data.view());
  for (int r = 0; r < ranks; ++r) check(rank, part_of(data.view(), ranks, r), value_of(r), "all-gather, " + what);

  for (int r = 0; r < ranks; ++r) rank.fill(part_of(data.view(), ranks, r), summable(value_of(self) + value_of(r)));
  run(all, rank, Collective::reduce_scatter, data.view());
  check(rank, part_of(data.view(), ranks, self), sum_of(ranks) + static_cast<std::uint64_t>(ranks) * value_of(self),
        "reduce-scatter, " + what);

  rank.fill(data.view(), self == 0 ? summable(value_of(0)) : kSentinel);
  run(all, rank, Collective::broadcast, data.view());
  check(rank, data.view(), value_of(0), "broadcast, " + what);

  const Bytes block{8 * elements};
  const Scratch blocks(rank, Memory::device, block * static_cast<std::uint64_t>(2 * ranks));
  const auto at = [&](int place) { return blocks.slice(block * static_cast<std::uint64_t>(place), block); };
  for (int r = 0; r < ranks; ++r) {
    rank.fill(at(r), summable(value_of(self) + static_cast<std::uint64_t>(r)));
    rank.fill(at(ranks + r), kSentinel);
  }
  run(all, rank, Collective::all_to_all, blocks.view());
  for (int r = 0; r < ranks; ++r) {
    check(rank, at(ranks + r), value_of(r) + static_cast<std::uint64_t>(self), "all-to-all, " + what);
  }
}

void collectives_in(const std::string& format, const std::string& channels, Bytes slot, int slots) {
  on_every_rank([&](MeasuredRank& rank) {
    if (!can_run(rank)) return;
    Settings settings{.chunk = slot, .depth = slots};
    settings.options = {{"proto", format}, {"channels", channels}};
    const auto all = find_protocol("nccl").join(rank, settings);
    for (const std::uint64_t elements : {1U, 2U, 7U, 100U, 4099U}) {
      run_each(*all, rank, elements, format + ", " + channels + " channels");
    }
  });
}

TEST(Programs, CollectivesAreRightInLl) { collectives_in("ll", "3", 64_B, 2); }
TEST(Programs, CollectivesAreRightInLl128) { collectives_in("ll128", "2", 256_B, 3); }
TEST(Programs, CollectivesAreRightInSimple) { collectives_in("simple", "2", 128_B, 2); }
TEST(Programs, ThroughOneSlotNoCollectiveGoes) {
  on_every_rank([&](MeasuredRank& rank) {
    if (!can_run(rank) || rank.ranks() < 2) return;
    EXPECT_THROW(static_cast<void>(find_protocol("nccl").join(rank, Settings{.chunk = 64_B, .depth = 1})), UsageError);
  });
}
TEST(Programs, CollectivesAreRightAsTheRuleChooses) { collectives_in("auto", "0", 512_KiB, 8); }

/// A rank that does not come: the others' programs are given up, and their memory is free again.
TEST(Programs, ARankThatDoesNotComeEndsACollectiveInTime) {
  on_every_rank([](MeasuredRank& rank) {
    if (!can_run(rank)) return;
    Settings settings{.chunk = 4_KiB, .depth = 2, .timeout = Seconds{5.0}};
    settings.options = {{"channels", "2"}};
    const auto all = find_protocol("nccl").join(rank, settings);
    const Scratch data(rank, Memory::device, 64_KiB);
    run(*all, rank, Collective::all_reduce, data.view());  // all are connected
    if (rank.id().value == rank.ranks() - 1) return;
    const auto late = all->run(Collective::all_reduce, data.view());
    EXPECT_EQ(late.status, Status::timed_out) << late.reason;
    const auto again = all->run(Collective::all_reduce, data.view());
    EXPECT_EQ(again.status, Status::timed_out) << "what has failed fails again, at once";
  });
}

/// A launch of an all-reduce with the given buffers and links of nothing is refused.
template <class Change>
void refuses(MeasuredRank& rank, View data, Change change) {
  gpu::Work work{
      .program = {.operation = Operation::all_reduce, .ranks = 2, .bytes = data.length.count(), .slot = 64, .slots = 2},
      .input = data,
      .output = data};
  change(work);
  EXPECT_THROW(static_cast<void>(rank.launch(work, Stream{0})), UsageError);
}

TEST(Programs, LaunchesThatMakeNoSenseAreRefused) {
  on_every_rank([](MeasuredRank& rank) {
    const Scratch data(rank, Memory::device, 1024_B);
    if (!can_run(rank)) return;
    const std::uint64_t counts = 0;
    const gpu::Link link{.mine = data.view(), .theirs = data.view(), .sent = {&counts, 1}, .received = {&counts, 1}};
    const std::array<gpu::Link, 2> links{link, link};
    refuses(rank, data.view(), [&](gpu::Work&) {});                            // no links
    refuses(rank, data.view(), [&](gpu::Work& work) { work.links = links; });  // FIFOs that no peer has
    refuses(rank, data.slice(0_B, 20_B), [&](gpu::Work& work) { work.links = links; });
    refuses(rank, data.view(), [&](gpu::Work& work) { work.output = data.slice(0_B, 512_B); });
    refuses(rank, data.view(), [&](gpu::Work& work) { work.program.channels = 0; });
    refuses(rank, data.view(), [&](gpu::Work& work) { work.program.slot = 24; });
    refuses(rank, data.view(), [&](gpu::Work& work) { work.program.rank = 2; });
    refuses(rank, data.view(), [&](gpu::Work& work) { work.program.slots = 1; });
    for (const bool wide : {true, false}) {
      refuses(rank, data.slice(0_B, 64_B), [&](gpu::Work& work) {  // more than a slot in one channel
        work.program.operation = Operation::echo;
        work.program.channels = wide ? 2 : 1;
        if (!wide) work.program.slot = 32;
        work.output = data.slice(512_B, 64_B);
        work.links = {links.data(), 1};
      });
    }
    refuses(rank, data.view(), [&](gpu::Work& work) {  // CPUs carry what it moves, once
      gpu::Link carried = link;
      carried.carried = true;
      work.program.operation = Operation::exchange;
      work.output = {};
      work.links = {&carried, 1};
      work.times = 2;
    });
    refuses(rank, data.view(), [&](gpu::Work& work) {  // its blocks lie over each other
      work.program.operation = Operation::all_to_all;
      work.links = {links.data(), 1};
    });
  });
}

/// A graph of programs that move nothing, whose FIFO only their own rank knows.
TEST(Programs, OneThatMovesNothingNeedsNoPeer) {
  on_every_rank([](MeasuredRank& rank) {
    if (!can_run(rank)) return;
    const Scratch fifo(rank, Memory::device, 4096_B);
    const std::uint64_t none = 0;
    const gpu::Link link{.mine = fifo.view(),
                         .theirs = fifo.view(),
                         .carried = true,
                         .sent = {&none, 1},
                         .received = {&none, 1},
                         .sent_each = {&none, 1},
                         .received_each = {&none, 1}};
    for (const int times : {1, 3}) {
      const gpu::Work work{
          .program = {.operation = Operation::exchange, .slot = 64, .slots = 2}, .links = {&link, 1}, .times = times};
      finish(rank, rank.launch(work, Stream{0}));
    }
  });
}

TEST(Programs, WhereNothingRunsThemALaunchSaysSo) {
  on_every_rank([](MeasuredRank& rank) {
    if (rank.ranks() < 2 || can_run(rank)) return;
    const Scratch fifos(rank, Memory::device, 4096_B);
    const gpu::Link link{.mine = fifos.view()};
    const gpu::Work work{.program = {.slot = 64, .slots = 2}, .links = {&link, 1}};
    bool nowhere = true;
    for (int r = 0; r < rank.ranks(); ++r)
      nowhere = nowhere && (RankId{r} == rank.id() || !rank.path_to(RankId{r}).gpu_programs);
    if (nowhere && rank.path_to(RankId{rank.id().value == 0 ? 1 : 0}).same_node) {
      EXPECT_THROW(static_cast<void>(rank.launch(work, Stream{0})), UnavailableError);
    }
  });
}

}  // namespace
}  // namespace twinlink::contract
