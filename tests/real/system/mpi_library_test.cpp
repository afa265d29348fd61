// Which MPI libraries take device pointers, as they say themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "real/system/mpi.hpp"

namespace twinlink::real {
namespace {

using testing::HasSubstr;

Answer ask(std::string_view library, std::optional<bool> says, std::map<std::string, std::string> environment = {}) {
  return library_reads_cuda_memory(library, says, [&](const char* name) { return environment[name]; });
}

TEST(DevicePointers, OpenMpiSaysItself) {
  EXPECT_TRUE(ask("Open MPI v5.0.3", true));
  EXPECT_THAT(ask("Open MPI v4.1.6", false).reason, HasSubstr("not CUDA-aware"));
  EXPECT_FALSE(ask("Open MPI v4.1.6", std::nullopt));
}

/// "This support can be enabled by ... setting the environment variable MV2_USE_CUDA to 1."
TEST(DevicePointers, Mvapich2NeedsItsSwitch) {
  EXPECT_TRUE(ask("MVAPICH2 Version : 2.3.7", std::nullopt, {{"MV2_USE_CUDA", "1"}}));
  EXPECT_THAT(ask("MVAPICH2 Version : 2.3.7", std::nullopt, {{"MV2_USE_CUDA", "0"}}).reason,
              HasSubstr("MV2_USE_CUDA=1"));
  EXPECT_FALSE(ask("MVAPICH2 Version : 2.3.7", std::nullopt));
}

TEST(DevicePointers, MpichSaysItselfOrHasCraysSwitch) {
  EXPECT_TRUE(ask("MPICH Version: 4.2.0", true));
  EXPECT_TRUE(ask("MPI VERSION : CRAY MPICH version 8.1", std::nullopt, {{"MPICH_GPU_SUPPORT_ENABLED", "1"}}));
  EXPECT_THAT(ask("MPICH Version: 4.2.0", false).reason, HasSubstr("MPICH_GPU_SUPPORT_ENABLED=1"));
}

}  // namespace
}  // namespace twinlink::real
