// What software takes on processors of other speeds.
#include "platforms/machine/cpu_speed.hpp"

#include <gtest/gtest.h>

#include "tests/platforms/sample_platform.hpp"

namespace twinlink::model {
namespace {

using testing::sample_platform;

constexpr double kHalf = 0.5;

TEST(CpuSpeed, OneChangesNothing) {
  const Platform platform = sample_platform();
  EXPECT_EQ(on_cpu(platform.intra_node, 1).control, platform.intra_node.control);
  EXPECT_EQ(on_cpu(platform.runtime, 1).ipc_open, platform.runtime.ipc_open);
}

/// The send is a part of a control message's time; the rest of that is not the CPU's.
TEST(CpuSpeed, OfAHalfDoublesWhatTheCpuPaysOfMessages) {
  const NetworkCosts before = sample_platform().intra_node;
  const NetworkCosts after = on_cpu(before, kHalf);
  EXPECT_EQ(after.posting(1_KiB), before.posting(1_KiB) * 2);
  EXPECT_EQ(after.control.value, before.control.value + before.posting(Bytes{}));
  EXPECT_EQ(after.sending_control(), before.sending_control() * 2);
  EXPECT_EQ(after.latency.value.at(1_KiB), before.latency.value.at(1_KiB)) << "the adapter's and the wire's";
  EXPECT_EQ(after.rate, before.rate);
}

TEST(CpuSpeed, DoublesDriverCallsAndLeavesTheGpusWork) {
  const RuntimeCosts before = sample_platform().runtime;
  const RuntimeCosts after = on_cpu(before, kHalf);
  EXPECT_EQ(after.ipc_open.value, before.ipc_open.value * 2);
  EXPECT_EQ(after.register_base.value().value, before.register_base.value().value * 2);
  EXPECT_EQ(after.signal, before.signal);
  EXPECT_EQ(after.engine_block, before.engine_block);
}

TEST(CpuSpeed, DoublesTheStartOfACopyAlone) {
  const CopyCosts before = sample_platform().copies;
  const CopyCosts after = on_cpu(before, kHalf);
  for (const auto& [kind, cost] : after) {
    EXPECT_EQ(cost.overhead.value, before.at(kind).overhead.value * 2) << to_string(kind);
    EXPECT_EQ(cost.latency.value.at(Bytes{}), before.at(kind).latency.value.at(Bytes{})) << to_string(kind);
    EXPECT_EQ(cost.rate, before.at(kind).rate) << to_string(kind);
  }
}

}  // namespace
}  // namespace twinlink::model
