// probe --only: what is not asked for is not measured either.
#include <gmock/gmock.h>

#include <atomic>
#include <optional>
#include <set>
#include <string>

#include "protocols/core/errors.hpp"
#include "protocols/trace/decorated_rank.hpp"
#include "tests/protocols/bench/probe_world.hpp"

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

}  // namespace
}  // namespace twinlink::bench
