#include "real/rank/range_rank.hpp"

#include <gmock/gmock.h>

#include <array>
#include <vector>

#include "tests/protocols/scripted_rank.hpp"
#include "tests/support/finish.hpp"

namespace twinlink::real {
namespace {

using testing::ElementsAre;

constexpr Seconds kNoDeadline{1000};

/// Writes down when ranges begin and end.
class Diary final : public RangeSink {
 public:
  std::uint64_t begin(const std::string& name) override {
    names_.push_back(name);
    lines.push_back("begin " + name);
    return names_.size() - 1;
  }
  void end(std::uint64_t range) override { lines.push_back("end " + names_.at(range)); }

  std::vector<std::string> lines;

 private:
  std::vector<std::string> names_;
};

class RangeRankTest : public testing::Test {
 protected:
  ScriptedRank scripted_;
  Diary diary_;
  RangeRank rank_{scripted_, diary_};
};

TEST_F(RangeRankTest, AnOperationLastsUntilItsEndIsSeen) {
  rank_.step("peer copy");
  const Op copy = rank_.copy({}, {}, Stream{}, Engine::dma);
  rank_.step("send delivered");
  const Op sent = rank_.send_control(RankId{1}, Tag{3}, ControlMessage());
  finish(rank_, sent, kNoDeadline);
  finish(rank_, copy, kNoDeadline);
  EXPECT_THAT(diary_.lines, ElementsAre("begin peer copy: copy", "begin send delivered: send_control",
                                        "end send delivered: send_control", "end peer copy: copy"));
}

TEST_F(RangeRankTest, AnAbandonedOperationEndsToo) {
  const Op op = rank_.copy({}, {}, Stream{}, Engine::dma);
  rank_.abandon(op);
  EXPECT_THAT(diary_.lines, ElementsAre("begin copy", "end copy"));
}

TEST_F(RangeRankTest, ACallIsARangeOfItsOwn) {
  rank_.step("receive place");
  static_cast<void>(rank_.open_memory(RankId{1}, IpcHandle{.size = 8}));
  EXPECT_THAT(diary_.lines, ElementsAre("begin receive place: open memory", "end receive place: open memory"));
}

TEST_F(RangeRankTest, TheInnerRankLearnsEveryStep) {
  rank_.step("send");
  EXPECT_THAT(scripted_.steps(), ElementsAre("send"));
}

}  // namespace
}  // namespace twinlink::real
