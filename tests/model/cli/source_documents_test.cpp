// What the program says and does of the documents that it was written for: see tests/sources.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/cli/sim_program.hpp"

namespace twinlink::model {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

const std::string kKids = "--platform platforms/keeneland-kids.yaml ";

/// "Neither the collective reduction APIs nor the one-sided APIs are supported."
TEST(SourceDocuments, ListsTheCallsThatTakeDevicePointers) {
  EXPECT_THAT(
      run("list calls").text,
      AllOf(ContainsRegex("MPI_Sendrecv +device pointers\n"), ContainsRegex("MPI_Alltoallv +device pointers\n"),
            ContainsRegex("MPI_Allreduce +no: collective reductions"), ContainsRegex("MPI_Put +no: one-sided")));
}

/// "The loopback interface is used if MV2_USE_CUDA=1 and MV2_CUDA_IPC=0", and no IPC then.
TEST(SourceDocuments, TakesTheSwitchesOfMvapich2) {
  const auto message = [](const std::string& more) {
    return run("run " + kKids + "-p cuda-aware --from 0/1 --to 0/2 -b 1M -e 1M --json /dev/stdout " + more);
  };
  EXPECT_THAT(message("").text, HasSubstr("\"path\": \"cuda-ipc"));
  EXPECT_THAT(message("-o MV2_CUDA_IPC=0").text,
              AllOf(HasSubstr("\"path\": \"gpudirect-v1"), HasSubstr("\"intra_node\": \"loopback\"")));
  EXPECT_THAT(message("-o MV2_CUDA_IPC=0 -o MV2_USE_SHARED_MEM=1 -o MV2_SMP_SEND_BUF_SIZE=65536").text,
              AllOf(HasSubstr("\"intra_node\": \"shared-memory\""), HasSubstr("\"smp_copy_size_bytes\": 65536")));
  const Ended off = message("-o MV2_USE_CUDA=0");
  EXPECT_EQ(off.code, 77);
  EXPECT_THAT(off.text, HasSubstr("MV2_USE_CUDA=0"));
}

/// A rank whose host buffers lie on the far socket stages through far memory.
TEST(SourceDocuments, BuffersHaveAPlace) {
  const auto time = [](const std::string& more) {
    const std::string text = run("run " + kKids + "-p gpudirect-v1 -b 1M -e 1M --format csv " + more).text;
    return text.substr(text.rfind("\nsimulated"));
  };
  EXPECT_NE(time(""), time("--set nodes.gpus.gpu0.memory_near=numa1"));
  EXPECT_NE(time("--from 0/0 --to 1/0"), time("--from 0/1 --to 1/1")) << "one of them crosses QPI";
}

}  // namespace
}  // namespace twinlink::model
