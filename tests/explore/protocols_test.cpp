// Every protocol of the registry through all interleavings, both directions at once.
#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "protocols/core/options.hpp"
#include "protocols/registry.hpp"
#include "tests/explore/bodies.hpp"
#include "tests/support/test_name.hpp"

namespace twinlink::explore {
namespace {

using testing::ElementsAre;
using testing::Pair;

/// The others' thread blocks have an explorer of their own: gpu_blocks_test.
std::vector<std::string> explored() {
  std::vector<std::string> names;
  for (const Protocol* protocol : protocols_without_programs()) names.emplace_back(protocol->name());
  return names;
}

class ExploredProtocol : public testing::TestWithParam<std::string> {
 protected:
  /// All that a protocol may do with messages that are both sent and received: deliver them, whatever ends first.
  static void expect_delivered(Scenario scenario, const Limits& limits = {.likeness = Likeness::looks}) {
    // cuda-ipc has so many in flight that the orders of their ends would hide all else; its own tests have some.
    scenario.late_sends = GetParam() != "cuda-ipc";
    // Between neighbours, unless only the adapter can do it.
    if (!find_protocol(GetParam()).supports(scenario.path).usable()) scenario.path = apart();
    const ExploreResult result = explore(scenario, limits);
    EXPECT_TRUE(result.clean()) << to_string(result);
    EXPECT_THAT(result.endings, ElementsAre(Pair("delivered | delivered", testing::Gt(0U))));
    EXPECT_EQ(result.ambiguous, 0U);
  }

  [[nodiscard]] Exchange exchange(int forth, int back, int depth, Bytes size = 64_B) const {
    return {.protocol = GetParam(), .forth = forth, .back = back, .size = size, .settings = {.depth = depth}};
  }
};

TEST_P(ExploredProtocol, DeliversManyMessagesEachWay) {
  // Of cuda-ipc, whose exchanges have most steps, the benchmark explores seven.
  const int messages = GetParam() == "cuda-ipc" ? std::min(4, kMany) : kMany;
  expect_delivered(exchange_of(exchange(messages, messages, 1)));
}

TEST_P(ExploredProtocol, DeliversMessagesTwoAtATime) { expect_delivered(exchange_of(exchange(kSome, kSome, 2))); }

TEST_P(ExploredProtocol, DeliversUnequalNumbersEachWay) { expect_delivered(exchange_of(exchange(5, 1, 3))); }

TEST_P(ExploredProtocol, DeliversChunks) {
  Exchange chunks = exchange(1, 1, 2, 100_B);
  // A chunk of cuda-ipc is a fragment with its header of 32 B.
  chunks.settings.chunk = GetParam() == "cuda-ipc" ? 82_B : 30_B;
  expect_delivered(exchange_of(chunks));
}

TEST_P(ExploredProtocol, DeliversWhatIsSentOnlyToAPostedReceive) {
  Scenario scenario = exchange_of(exchange(3, 3, 2));
  scenario.eager_limit = 0_B;
  expect_delivered(scenario);
}

TEST_P(ExploredProtocol, DeliversBetweenNodes) {
  Scenario scenario = exchange_of(exchange(3, 3, 2));
  scenario.path = apart();
  if (!find_protocol(GetParam()).supports(scenario.path).usable()) GTEST_SKIP() << "not between nodes";
  expect_delivered(scenario);
}

/// Every choice of every option that is a list of words, alone.
TEST_P(ExploredProtocol, DeliversWithEveryOption) {
  const Protocol& protocol = find_protocol(GetParam());
  for (const Option& option : protocol.options()) {
    if (option.values.find('|') == std::string_view::npos) continue;
    // An MPI library that takes device pointers is not in this world; one that takes none refuses.
    if (protocol.delegates() && (option.name == "library" || option.name == "use_cuda")) continue;
    std::istringstream values{std::string(option.values)};
    for (std::string value; std::getline(values, value, '|');) {
      SCOPED_TRACE(std::string(option.name) + "=" + value);
      if (option.name == "engine" && value == "blocks") continue;  // explored as a program, in gpu_blocks_test
      Exchange chosen = exchange(2, 1, 2, 100_B);
      chosen.settings.chunk = 82_B;  // some choices need one
      set_option(protocol, chosen.settings, option.name, value);
      Scenario scenario = exchange_of(chosen);
      scenario.path.cpu_reaches_device = Answer::granted();
      expect_delivered(scenario);
    }
  }
}

/// GPUDirect v3 with either side direct and either side staged: its own messages are all below its limits.
TEST(ExploredGpuDirectV3, DeliversInBothRegimesOfEitherSide) {
  for (const char* send_limit : {"0", "1M"}) {
    for (const char* receive_limit : {"0", "1M"}) {
      SCOPED_TRACE(std::string(send_limit) + " and " + receive_limit);
      Exchange chosen{.protocol = "gpudirect-v3", .forth = 2, .back = 1, .size = 100_B};
      chosen.settings = {.chunk = 60_B, .depth = 2};
      set_option(find_protocol(chosen.protocol), chosen.settings, "send_limit", send_limit);
      set_option(find_protocol(chosen.protocol), chosen.settings, "receive_limit", receive_limit);
      Scenario scenario = exchange_of(chosen);
      scenario.path = apart();
      const ExploreResult result = explore(scenario, {.likeness = Likeness::looks});
      EXPECT_TRUE(result.clean()) << to_string(result);
      EXPECT_THAT(result.endings, ElementsAre(Pair("delivered | delivered", testing::Gt(0U))));
    }
  }
}

/// Every byte of stacks and heaps is compared here, so this is slower, and it shows that looks are enough to compare.
TEST_P(ExploredProtocol, GoesOnAlikeWhereItLooksAlike) {
  const Limits limits{.likeness = Likeness::bytes, .compare_looks = true};
  expect_delivered(exchange_of(exchange(1, GetParam() == "cuda-ipc" ? 0 : 1, 1)), limits);
  if (GetParam() != "cuda-ipc") expect_delivered(exchange_of(exchange(2, 1, 1)), limits);
}

INSTANTIATE_TEST_SUITE_P(Of, ExploredProtocol, testing::ValuesIn(explored()),
                         [](const auto& param) { return test_name(param.param); });

}  // namespace
}  // namespace twinlink::explore
