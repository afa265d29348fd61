// Peer access that drops what it should move, although all calls succeed: whichever protocol relies on it, nothing is
// reported as delivered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "protocols/bench/measure/check_error.hpp"
#include "protocols/bench/measure/driver.hpp"
#include "protocols/registry.hpp"
#include "tests/explore/explorer/fake_world.hpp"
#include "tests/support/fault_rank.hpp"
#include "tests/support/said_by.hpp"
#include "tests/support/test_name.hpp"

namespace twinlink::bench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// What the first error says; or that nothing was refused, if all sizes were measured and verified.
std::string error_of(const Protocol& protocol) {
  const Plan plan{.sizes = {4_B, 1_MiB},
                  .small = {.warmup = 1, .iterations = 2},
                  .large = {.warmup = 1, .iterations = 2},
                  .settings = {}};
  return said_by<CheckError>([&] {
    run_fake_world({}, [&](MeasuredRank& rank) {
      FaultRank broken(rank, FaultRank::Fault::lost_peer_copies);
      const Series series = measure(broken, protocol, plan);
      for (const Point& point : series.points) EXPECT_TRUE(point.verified);
    });
  });
}

TEST(LostCopies, AreNoticedByTheOwnerOfTheMemory) {
  std::set<std::string> noticed;
  for (const Protocol* protocol : protocols_without_programs()) {
    const std::string error = error_of(*protocol);
    if (error == "nothing was refused") continue;
    noticed.emplace(protocol->name());
    EXPECT_THAT(error, AllOf(HasSubstr(std::string(protocol->name()) + ", "), HasSubstr(" B: dropped at byte 0")));
  }
  EXPECT_THAT(noticed, testing::IsSupersetOf({"gpudirect-v2", "cuda-ipc", "symmetric-put"}));
  EXPECT_FALSE(noticed.contains("staging")) << "it needs no peer access";
}

}  // namespace
}  // namespace twinlink::bench
