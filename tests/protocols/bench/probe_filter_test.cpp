// probe --only: what is not asked for is not measured either.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "protocols/bench/measure/check_error.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/trace/decorated_rank.hpp"
#include "tests/protocols/bench/probe_world.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::bench {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(ProbeFilter, MeasuresOnlyWhatIsAskedFor) {
  ProbePlan plan = small_plan();
  plan.only = "peer copy read";
  EXPECT_EQ(names(probe_world({}, plan)),
            (std::set<std::string>{"peer copy read direct", "peer copy read direct of 2 GPUs",
                                   "queued peer copy read direct"}));
  plan.only = "message pageable";
  EXPECT_THAT(names(probe_world({}, plan)), testing::Each(HasSubstr("message pageable")));
}

/// Counts what a rank does that a filter may spare it.
class CountingRank final : public DecoratedRank {
 public:
  CountingRank(MeasuredRank& inner, std::atomic<int>& calls) : DecoratedRank(inner), calls_(calls) {}

  Op start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) override {
    ++calls_;
    return DecoratedRank::start_copy(to, from, blocks, stream, engine);
  }
  Op put(View to, View from, Stream stream, Engine engine, std::optional<Signal> signal) override {
    ++calls_;
    return DecoratedRank::put(to, from, stream, engine, signal);
  }
  Op send(RankId peer, Tag tag, View from) override {
    ++calls_;
    return DecoratedRank::send(peer, tag, from);
  }

 private:
  std::atomic<int>& calls_;
};

TEST(ProbeFilter, DoesNothingOfWhatIsNotAskedFor) {
  const auto calls = [](const std::string& only) {
    ProbePlan plan = small_plan();
    plan.only = only;
    plan.small.iterations = 100;
    plan.large.iterations = 100;
    std::atomic<int> count = 0;
    run_fake_world({}, [&](MeasuredRank& rank) {
      CountingRank counting(rank, count);
      probe(counting, plan);
    });
    return count.load();
  };
  // Each way of copying is tried with a byte, to see whether there is one.
  const int tried = calls("no line has this name");
  EXPECT_LT(tried, 100);
  for (const std::string name : {"handle open", "allocate device", "register device", "handle export"}) {
    EXPECT_EQ(calls(name), tried) << name;
  }
  EXPECT_LT(calls("start peer copy write direct"), 3000);
  EXPECT_GT(calls(""), 20000);
}

/// Each line has the name that it has among all, and nobody waits for a peer that has nothing to measure.
TEST(ProbeFilter, AnyLineCanBeAskedForAlone) {
  for (const std::string& name : names(probe_world({}))) {
    ProbePlan plan = small_plan();
    plan.only = name;
    EXPECT_THAT(names(probe_world({}, plan)), testing::AllOf(Contains(name), testing::Each(HasSubstr(name))));
  }
}

TEST(ProbeFilter, AFilterThatMatchesNothingIsRefusedWithWhatTheMachineLacks) {
  ProbePlan plan = small_plan();
  const FakeWorldOptions one_domain{.ranks = 1, .numa_domains = 1};
  plan.only = "copy";
  EXPECT_NO_THROW(require_found(probe_world(one_domain, plan), plan));
  plan.only = "nosuch";
  EXPECT_THAT([&] { require_found(probe_world(one_domain, plan), plan); },
              testing::ThrowsMessage<UsageError>("no primitive has 'nosuch' in its name"));
  plan.only = "far";
  EXPECT_THAT([&] { require_found(probe_world(one_domain, plan), plan); },
              testing::ThrowsMessage<UsageError>(
                  "no primitive has 'far' in its name; 0/0: no far copies: there is one NUMA domain"));
}

/// Everything that it moves lacks its last byte, or has another one there.
class LossyRank final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;
  Op start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) override {
    if (blocks.size() == 1) return inner().start_copy(to, from, blocks, stream, engine);  // whether it can at all
    if (!blocks.empty()) return inner().start_copy(to, from, blocks.first(blocks.size() - 1), stream, engine);
    return inner().start_copy(all_but_one(to), all_but_one(from), {}, stream, engine);
  }
  Op put(View to, View from, Stream stream, Engine engine, std::optional<Signal> signal) override {
    return inner().put(all_but_one(to), all_but_one(from), stream, engine, signal);
  }
  Op send(RankId peer, Tag tag, View from) override {
    if (from.length > Bytes{}) fill(from.slice(from.length - 1_B, 1_B), Payload{90});
    return inner().send(peer, tag, from);
  }

 private:
  static View all_but_one(View view) { return view.slice({}, view.length > Bytes{} ? view.length - 1_B : Bytes{}); }
};

TEST(ProbeFilter, WhatMovesBytesNoticesOneThatIsMissing) {
  std::set<std::string> unnoticed;
  for (const std::string& name : names(probe_world({}))) {
    ProbePlan plan = small_plan();
    plan.only = name;
    const std::string said = said_by<CheckError>([&] {
      run_fake_world({}, [&](MeasuredRank& rank) {
        LossyRank lossy(rank);
        probe(lossy, plan);
      });
    });
    if (said == "nothing was refused") {
      unnoticed.insert(name);
    } else {
      // "rank 0: peer copy read, 4 B: dropped at byte 3": not another one that has the name within its own.
      const std::size_t begin = said.find(": ") + 2;
      const std::string what = said.substr(begin, said.rfind(", ") - begin);
      const std::string kernel = what == "peer copy read" ? "kernel-pull" : what == "peer copy write" ? "-push" : what;
      EXPECT_THAT(name, testing::AnyOf(HasSubstr(what), testing::EndsWith(kernel))) << said;
    }
  }
  EXPECT_THAT(unnoticed,
              testing::UnorderedElementsAre(
                  "allocate device", "allocate pageable", "allocate pinned", "allocate shared-pinned",
                  "control message same-node", "deregister device", "handle close", "handle export", "handle open",
                  "queued bare control message same-node both-ways", "queued message same-node both-ways",
                  "queued put and signal by kernel same-node", "queued put and signal by resident kernel same-node",
                  "queued put and signal same-node", "register device", "release device", "release pageable",
                  "release pinned", "release shared-pinned", "start copy device-to-pinned near",
                  "start copy pinned-to-device near", "start message same-node"))
      << "nothing moves, or it is moved to be timed alone";
}

/// Notes of copies from host to device whether what they read was written just before.
class NotesFresh final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;
  Op start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) override {
    if (to.buffer.memory == Memory::device) fresh.push_back(written_ == from.buffer.id);
    written_ = to.buffer.id;
    return inner().start_copy(to, from, blocks, stream, engine);
  }
  std::vector<bool> fresh{};

 private:
  std::uint32_t written_ = 0;
};

TEST(ProbeFilter, WhatTheCpuWritesIsNewInEachRound) {
  const auto copies = [](const char* only) {
    std::array<std::ptrdiff_t, 2> counts{};
    run_fake_world({.ranks = 1}, [&](MeasuredRank& rank) {
      NotesFresh noting(rank);
      ProbePlan plan = small_plan();
      plan.only = only;
      probe(noting, plan);
      for (const bool fresh : {false, true}) counts.at(fresh ? 1 : 0) = std::ranges::count(noting.fresh, fresh);
    });
    return counts;
  };
  // Of two kinds of memory two sizes, twice each and once before that; whether it can at all is tried in any case.
  const auto others = copies("no line has this name");
  EXPECT_EQ(copies("cpu-written")[0], others[0]);
  EXPECT_EQ(copies("cpu-written")[1], others[1] + 2 * 2 * 3);
}

}  // namespace
}  // namespace twinlink::bench
