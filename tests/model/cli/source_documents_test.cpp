// What the program says and does of the documents that it was written for: see tests/sources.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

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

/// A rank whose host buffers lie on the far socket stages through far memory, and one whose GPU is far from the adapter
/// crosses the link between the sockets.
TEST(SourceDocuments, BuffersHaveAPlace) {
  const auto time_us = [](const std::string& more) {
    const std::string text = run("run " + kKids + "-p gpudirect-v1 -b 1M -e 1M --format csv " + more).text;
    std::istringstream row(text.substr(text.rfind("\nsimulated") + 1));
    std::string cell;
    constexpr int kTimeColumn = 13;
    for (int column = 0; column < kTimeColumn; ++column) std::getline(row, cell, ',');
    return std::stod(cell);
  };
  const double near = time_us("");
  EXPECT_NEAR(near, 671.416, 1e-3);
  EXPECT_GT(time_us("--set nodes.gpus.gpu0.memory_near=numa1"), near * 1.1);
  EXPECT_NEAR(time_us("--from 0/1 --to 1/1"), near + 3 * 0.25, 1e-3)
      << "QPI: read by one adapter, written by the other";
}

/// A switch that makes no sense is refused before anything runs.
TEST(SourceDocuments, RefusesSwitchesThatMakeNoSense) {
  for (const std::string wrong :
       {"-o MV2_SMP_SEND_BUF_SIZE=0", "-o MV2_CUDA_BLOCK_SIZE=0", "--preset openmpi -o MV2_CUDA_IPC=0"}) {
    EXPECT_EQ(run("run " + kKids + "-p cuda-aware --from 0/0 --to 0/1 -b 1M -e 1M " + wrong).code, 2) << wrong;
  }
}

/// The figure reads no file that it writes.
TEST(SourceDocuments, AFigureOverwritesNoPlatform) {
  const Ended ended = run("figure keeneland-kids --platform platforms/keeneland-kids.yaml --out " +
                          ::testing::TempDir() + " --json platforms/keeneland-kids.yaml");
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.text, HasSubstr("would overwrite"));
}

}  // namespace
}  // namespace twinlink::model
