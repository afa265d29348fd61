// What software takes on processors of other speeds: which numbers of a platform it changes, and no others.
#include "platforms/costs/software_costs.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "platforms/machine/platform_numbers.hpp"
#include "tests/platforms/whole_platform.hpp"

namespace twinlink::platforms {
namespace {

using testing::whole_platform;

constexpr double kHalf = 0.5;

/// "completion, ipc_open=51": what has doubled, and what else has changed, in microseconds.
std::string changed(const Platform& before, const Platform& after) {
  const std::vector<NumberEntry> was = all_numbers(before);
  const std::vector<NumberEntry> now = all_numbers(after);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < was.size(); ++i) {
    if (now[i].value == was[i].value) continue;
    const std::string name = was[i].path.substr(was[i].path.find('.') + 1);
    names.push_back(now[i].value == 2 * was[i].value ? name : fmt::format("{}={:g}", name, now[i].value * 1e6));
  }
  return fmt::format("{}", fmt::join(names, " "));
}

TEST(CpuSpeed, OfAHalfDoublesTheCallsOfTheDriverAndLeavesTheGpusWork) {
  Platform slow = whole_platform();
  slow.runtime = on_cpu(slow.runtime, kHalf);
  EXPECT_EQ(changed(whole_platform(), slow),
            "runtime.allocate_device runtime.ipc_export runtime.ipc_open runtime.ipc_close runtime.pin_base "
            "runtime.pin_per_gib runtime.register_base runtime.register_per_gib runtime.deregister runtime.completion "
            "runtime.failed_poll runtime.program_launch runtime.graph_launch runtime.peer_check");
}

/// The send is a part of a control message's time, 21 of 30 us; the rest of that is not the CPU's.
TEST(CpuSpeed, OfAHalfDoublesWhatTheCpuPaysOfMessages) {
  Platform slow = whole_platform();
  slow.intra_node = on_cpu(slow.intra_node, kHalf);
  const std::string rest =
      " intra_node.control_receive_overhead intra_node.gap intra_node.device_pointer intra_node.completion "
      "intra_node.send_completion";
  const std::string posting = "intra_node.send_overhead intra_node.receive_overhead intra_node.control=";
  EXPECT_EQ(changed(whole_platform(), slow), posting + "51" + rest);
  EXPECT_EQ(slow.intra_node.sending_control(), whole_platform().intra_node.sending_control() * 2);
  Platform quick = whole_platform();
  quick.intra_node.control.value = 5.0_us;
  Platform after = quick;
  after.intra_node = on_cpu(after.intra_node, kHalf);
  EXPECT_EQ(after.intra_node.control.value, 10.0_us) << "all of it is the CPU's";
}

TEST(CpuSpeed, OfAHalfDoublesTheStartOfACopyAlone) {
  Platform slow = whole_platform();
  slow.copies = on_cpu(slow.copies, kHalf);
  EXPECT_EQ(changed(whole_platform(), slow), "copies.peer.overhead copies.host-to-host.overhead");
}

TEST(CpuSpeed, OfTwoHalvesThem) {
  EXPECT_EQ(on_cpu(whole_platform().runtime, 2).ipc_open.value, 1.5_us);
  EXPECT_EQ(on_cpu(whole_platform().intra_node, 2).posting(1_B), 10.5_us);
}

TEST(CpuSpeed, OneChangesNothing) {
  Platform same = whole_platform();
  same.intra_node = on_cpu(same.intra_node, 1);
  same.runtime = on_cpu(same.runtime, 1);
  same.copies = on_cpu(same.copies, 1);
  EXPECT_EQ(changed(whole_platform(), same), "");
}

}  // namespace
}  // namespace twinlink::platforms
