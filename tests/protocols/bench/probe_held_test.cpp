// What a CPU has read, and what it has written, lies in its cache in other ways: rounds of copies into what was just
// read must not be prepared by writing there.
#include <map>

#include <gtest/gtest.h>

#include "protocols/bench/probe/probe.hpp"
#include "protocols/trace/decorated_rank.hpp"
#include "tests/support/fake_rank.hpp"

namespace twinlink::bench {
namespace {

constexpr Bytes kSize = 64_KiB;

/// Counts copies of kSize out of the device into a buffer that the CPU has read, and those before which it wrote there,
/// too.
class WatchedRank final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;

  void fill(View view, twinlink::Pattern pattern) override {
    touched_[view.buffer.id] = {.written = true};
    DecoratedRank::fill(view, pattern);
  }
  Op copy(View to, View from, Stream stream, Engine engine) override {
    if (from.buffer.memory != Memory::device && to.buffer.memory != Memory::device) {
      touched_[from.buffer.id].read = true;
      touched_[to.buffer.id].written = true;
    }
    if (from.buffer.memory == Memory::device) {
      const Touched touched = std::exchange(touched_[to.buffer.id], {});
      rounds += touched.read && to.length == kSize ? 1 : 0;
      spoiled += touched.read && touched.written && to.length == kSize ? 1 : 0;
    }
    return DecoratedRank::copy(to, from, stream, engine);
  }

  int rounds = 0;
  int spoiled = 0;

 private:
  struct Touched {
    bool read = false;
    bool written = false;
  };
  std::map<std::uint64_t, Touched> touched_;
};

TEST(ProbeOfHeldTargets, WritesThereOnceAndThenOnlyReads) {
  const ProbePlan plan{.sizes = {kSize}, .small = {.iterations = 5}, .large = {.warmup = 0, .iterations = 5}};
  run_fake_world({.ranks = 1}, [&](Rank& rank) {
    WatchedRank watched(rank);
    probe(watched, plan);
    EXPECT_EQ(watched.spoiled, 2) << "the sentinel before the first round, of an engine's copies and of a thread's";
    EXPECT_GE(watched.rounds, 2 * 5);
  });
}

}  // namespace
}  // namespace twinlink::bench
