#include "protocols/cuda_aware.hpp"

#include <gmock/gmock.h>

#include "protocols/core/options.hpp"
#include "protocols/registry.hpp"

namespace twinlink {
namespace {

using testing::HasSubstr;

Path neighbours(bool peer_access) {
  Path path{.same_node = true};
  path.peer_access = peer_access ? Answer::granted() : Answer::refused("other hub");
  path.device_mapping = Answer::granted();
  path.one_sided = Answer::granted();
  path.device_memory_on_network = Answer::refused("no adapter");
  return path;
}

Path far_apart(bool rdma) {
  Path path;
  path.peer_access = path.device_mapping = Answer::refused("other node");
  path.device_memory_on_network = path.one_sided = rdma ? Answer::granted() : Answer::refused("no RDMA");
  return path;
}

CudaAwareRules rules(const char* preset) {
  return cuda_aware_rules(find_preset(find_protocol("cuda-aware"), preset).settings);
}

TEST(CudaAware, Mvapich2TakesIpcForLargeMessagesOfPeers) {
  EXPECT_EQ(choose_protocol(rules("mvapich2"), neighbours(true), 32_KiB).protocol, "cuda-ipc");
  EXPECT_EQ(choose_protocol(rules("mvapich2"), neighbours(true), 32_KiB - 1_B).protocol, "gpudirect-v1");
  EXPECT_EQ(choose_protocol(rules("mvapich2"), neighbours(false), 1_MiB).protocol, "gpudirect-v1");
}

TEST(CudaAware, SmallMessagesAreStagedWholeAndLargeOnesInBlocks) {
  EXPECT_EQ(choose_protocol(rules("mvapich2"), far_apart(false), 16_KiB).settings.chunk, Bytes{});
  EXPECT_EQ(choose_protocol(rules("mvapich2"), far_apart(false), 16_KiB + 1_B).settings.chunk, 256_KiB);
  EXPECT_EQ(choose_protocol(rules("openmpi"), far_apart(false), 12_KiB + 1_B).settings.chunk, 256_KiB);
}

TEST(CudaAware, OpenMpiTakesSmcudaWithinANodeWhateverTheSize) {
  for (const bool peers : {true, false}) {
    EXPECT_EQ(choose_protocol(rules("openmpi"), neighbours(peers), 1_B).protocol, "cuda-ipc");
  }
}

TEST(CudaAware, AnAdapterThatReachesDeviceMemoryIsUsedBetweenNodes) {
  EXPECT_EQ(choose_protocol(rules("mvapich2"), far_apart(true), 4_B).protocol, "gpudirect-v3");
  EXPECT_EQ(choose_protocol(rules("openmpi"), far_apart(true), 64_MiB).protocol, "gpudirect-v3");
}

TEST(CudaAware, ChunkAndDepthOfTheUserAreThoseOfThePipelines) {
  const Protocol& protocol = find_protocol("cuda-aware");
  Settings settings{.depth = 4};
  set_option(protocol, settings, "MV2_CUDA_BLOCK_SIZE", "128K");
  const CudaAwareRules chosen = cuda_aware_rules(settings);
  const Settings staged = choose_protocol(chosen, far_apart(false), 1_MiB).settings;
  EXPECT_EQ(staged.chunk, 128_KiB);
  EXPECT_EQ(staged.depth, 4);
  EXPECT_EQ(staged.options.at("credits"), "4") << "no more than there are buffers";
  EXPECT_EQ(choose_protocol(chosen, far_apart(true), 1_MiB).settings.chunk, 128_KiB);
  EXPECT_EQ(choose_protocol(chosen, far_apart(false), 16_KiB).settings.chunk, Bytes{}) << "staged whole";
}

TEST(CudaAware, OneDeviceNeedsNoTransport) {
  Path path = neighbours(true);
  path.same_device = true;
  EXPECT_EQ(choose_protocol(rules("mvapich2"), path, 4_B).protocol, "gpudirect-v2");
}

TEST(CudaAware, TheRulesAreToldInTheirOrderWithTheirLimits) {
  EXPECT_THAT(describe(rules("mvapich2")), HasSubstr("from 32K: CUDA IPC"));
  EXPECT_THAT(describe(rules("openmpi")), HasSubstr("to 12K: staged whole"));
}

}  // namespace
}  // namespace twinlink
