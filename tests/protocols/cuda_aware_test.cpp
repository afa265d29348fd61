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
  EXPECT_EQ(choose_protocol(rules("openmpi"), far_apart(false), 12_KiB + 1_B).settings.chunk, 128_KiB - 32_B);
}

TEST(CudaAware, OpenMpiTakesSmcudaWithinANodeWhateverTheSize) {
  for (const bool peers : {true, false}) {
    EXPECT_EQ(choose_protocol(rules("openmpi"), neighbours(peers), 1_B).protocol, "cuda-ipc");
  }
}

/// By how many of the two ends lie in host memory.
TEST(CudaAware, MessagesInHostMemoryTakeNoPeerCopy) {
  Path device = neighbours(true);
  device.same_device = true;
  const auto chosen = [](const char* preset, const Path& path, int on_host) {
    CudaAwareChoice choice = choose_protocol(rules(preset), path, 1_MiB, on_host);
    return choice.protocol + " " + choice.settings.options["copies"];
  };
  for (const Path& path : {neighbours(true), neighbours(false), far_apart(true), device}) {
    EXPECT_EQ(chosen("mvapich2", path, 2), "host ");
    EXPECT_EQ(chosen("openmpi", path, 2), "host ");
  }
  for (const Path& path : {neighbours(true), device}) {
    EXPECT_EQ(chosen("mvapich2", path, 1), chosen("mvapich2", far_apart(false), 0)) << "the pipeline";
    EXPECT_EQ(chosen("openmpi", path, 1), "gpudirect-v1 synchronous") << "smcuda's fragments";
  }
  EXPECT_EQ(chosen("openmpi", far_apart(true), 1), "gpudirect-v3 ");
}

TEST(CudaAware, AnAdapterThatReachesDeviceMemoryIsUsedBetweenNodes) {
  EXPECT_EQ(choose_protocol(rules("mvapich2"), far_apart(true), 4_B).protocol, "gpudirect-v3");
  EXPECT_EQ(choose_protocol(rules("openmpi"), far_apart(true), 64_MiB).protocol, "gpudirect-v3");
}

/// Where the CPU has device memory mapped (GDRCopy): up to a limit, and UCX within a node alone.
TEST(CudaAware, TheCpuCopiesSmallMessagesByItself) {
  const auto copies = [](const char* preset, Path path, Bytes size) {
    path.cpu_reaches_device = Answer::granted();
    const CudaAwareChoice choice = choose_protocol(rules(preset), path, size);
    const auto found = choice.settings.options.find("copies");
    return choice.protocol + (found == choice.settings.options.end() ? "" : " by " + found->second);
  };
  EXPECT_EQ(copies("ucx", neighbours(false), 8_KiB), "gpudirect-v1 by cpu");
  EXPECT_EQ(copies("ucx", neighbours(false), 8_KiB + 1_B), "gpudirect-v1 by synchronous");
  EXPECT_EQ(copies("ucx", far_apart(true), 4_B), "gpudirect-v3");
  EXPECT_EQ(copies("mvapich2-gdr", far_apart(true), 4_B), "gpudirect-v1 by cpu");
  EXPECT_EQ(copies("mvapich2-gdr", far_apart(true), 8_KiB + 1_B), "gpudirect-v3");
  EXPECT_EQ(copies("mvapich2", neighbours(true), 4_B), "gpudirect-v1");
  EXPECT_EQ(choose_protocol(rules("ucx"), neighbours(false), 4_B).settings.options.count("copies"), 0U);
}

TEST(CudaAware, NodesOfOneDomainMapEachOthersMemory) {
  Path joined = far_apart(true);
  joined.peer_access = joined.device_mapping = Answer::granted();
  EXPECT_EQ(choose_protocol(rules("openmpi"), joined, 8_B).protocol, "gpudirect-v2");
  EXPECT_EQ(choose_protocol(rules("mvapich2"), joined, 32_KiB).protocol, "gpudirect-v2");
  EXPECT_EQ(choose_protocol(rules("mvapich2"), joined, 8_KiB).protocol, "gpudirect-v3") << "below ipc_from";
  EXPECT_EQ(choose_protocol(rules("openmpi"), joined, 1_MiB, 1).protocol, "gpudirect-v3") << "one end on the host";
  joined.peer_access = Answer::refused("no NVLink");
  EXPECT_EQ(choose_protocol(rules("openmpi"), joined, 1_MiB).protocol, "gpudirect-v3");
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

/// No depth stands for "not set", nor does a chunk of zero.
TEST(CudaAware, WhatIsSetIsNeverTakenForADefault) {
  for (int depth = 1; depth <= kMaxDepth; ++depth) {
    for (const Bytes chunk : {0_B, 4_KiB, 64_KiB, 256_KiB}) {
      const CudaAwareRules chosen = cuda_aware_rules({.chunk = chunk, .depth = depth});
      for (const bool rdma : {true, false}) {
        const Settings settings = choose_protocol(chosen, far_apart(rdma), 4_MiB).settings;
        ASSERT_EQ(settings.depth, depth);
        ASSERT_EQ(settings.chunk, chunk);
      }
    }
  }
  const Settings own =
      choose_protocol(cuda_aware_rules(find_protocol("cuda-aware").defaults()), far_apart(false), 4_MiB).settings;
  EXPECT_EQ(own.depth, 8) << "the preset mvapich2 of gpudirect-v1";
  EXPECT_EQ(own.chunk, 256_KiB);
}

Settings switched(const std::vector<std::pair<const char*, const char*>>& switches) {
  const Protocol& protocol = find_protocol("cuda-aware");
  Settings settings = find_preset(protocol, "mvapich2").settings;
  for (const auto& [name, value] : switches) set_option(protocol, settings, name, value);
  return settings;
}

/// "The loopback interface is used on machines with InfiniBand adapters if MV2_USE_CUDA=1 and MV2_CUDA_IPC=0."
TEST(CudaAware, Mvapich2WithoutIpcTakesTheLoopbackUnlessItIsToldToUseSharedMemory) {
  EXPECT_FALSE(cuda_aware_rules(switched({})).loopback());
  EXPECT_TRUE(cuda_aware_rules(switched({{"MV2_CUDA_IPC", "0"}})).loopback());
  EXPECT_FALSE(cuda_aware_rules(switched({{"MV2_CUDA_IPC", "0"}, {"MV2_USE_SHARED_MEM", "1"}})).loopback());
  EXPECT_EQ(cuda_aware_rules(switched({{"MV2_SMP_SEND_BUF_SIZE", "65536"}})).smp_copy_size, 64_KiB);
}

TEST(CudaAware, NoIpcWhereItIsOffOrMessagesGoInLoopback) {
  const CudaAwareRules off = cuda_aware_rules(switched({{"MV2_CUDA_IPC", "0"}}));
  EXPECT_EQ(choose_protocol(off, neighbours(true), 1_MiB).protocol, "gpudirect-v1");
  Path loopback = neighbours(true);
  loopback.loopback = true;
  EXPECT_EQ(choose_protocol(rules("mvapich2"), loopback, 1_MiB).protocol, "gpudirect-v1");
  EXPECT_EQ(choose_protocol(rules("openmpi"), loopback, 1_MiB).protocol, "gpudirect-v1");
}

/// Without GPUDirect v1 the data are copied once more in host memory, on both sides.
TEST(CudaAware, WithoutSharedBuffersTheCpuCopiesBetweenTwo) {
  Path path = far_apart(false);
  path.shared_buffers = Answer::refused("CUDA 3.0");
  for (const Bytes size : {4_B, 1_MiB}) {
    const CudaAwareChoice choice = choose_protocol(rules("mvapich2"), path, size);
    EXPECT_EQ(choice.protocol, "staging");
    EXPECT_EQ(choice.settings.options.at("memory"), "pinned");
    EXPECT_THAT(choice.reason, HasSubstr("CUDA 3.0"));
  }
}

/// Open MPI "substitutes cuMemcpy for memcpy": each side waits for its copy of every fragment.
TEST(CudaAware, OpenMpiBetweenNodesHasAPipelineOfItsOwn) {
  const Settings openmpi = choose_protocol(rules("openmpi"), far_apart(false), 1_MiB).settings;
  EXPECT_EQ(openmpi.options.at("copies"), "synchronous");
  EXPECT_FALSE(openmpi.options.contains("credits"));
  EXPECT_EQ(choose_protocol(rules("mvapich2-1.8"), far_apart(false), 1_MiB).settings.chunk, 64_KiB);
}

TEST(CudaAware, EachLibraryHasLimitsOfItsOwnBetweenNodes) {
  const auto limit = [](const char* library) {
    const CudaAwareChoice way = choose_protocol(rules(library), far_apart(true), 1_MiB);
    EXPECT_EQ(way.protocol, "gpudirect-v3") << library;
    return way.settings.options.at("send_limit");
  };
  EXPECT_EQ(limit("mvapich2"), "8K");
  EXPECT_EQ(limit("mvapich2-gdr"), "64K");
  EXPECT_EQ(limit("spectrum"), "128K");
  EXPECT_EQ(limit("cray-mpich-gni"), "64K");
  EXPECT_EQ(limit("ucx"), limit("cray-mpich")) << "whatever the size";
  const CudaAwareChoice staged = choose_protocol(rules("ucx"), far_apart(false), 1_MiB);
  EXPECT_EQ(staged.protocol, "gpudirect-v1");
  EXPECT_EQ(staged.settings.chunk, 512_KiB);
  EXPECT_EQ(staged.settings.depth, 3);
  EXPECT_EQ(choose_protocol(rules("ucx"), neighbours(true), 8_KiB).protocol, "cuda-ipc");
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
