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

/// "Neither the collective reduction APIs nor the one-sided APIs are supported."
TEST(SourceDocuments, ListsTheCallsThatTakeDevicePointers) {
  EXPECT_THAT(
      run("list calls").text,
      AllOf(ContainsRegex("MPI_Sendrecv +device pointers; run by"), ContainsRegex("MPI_Alltoallv +device pointers\n"),
            ContainsRegex("MPI_Bcast +device pointers; run by workload broadcast\n"),
            ContainsRegex("MPI_Allgather +device pointers; run by workload all-gather\n"),
            ContainsRegex("MPI_Alltoall +device pointers; run by workload all-to-all\n"),
            ContainsRegex("MPI_Allreduce +no: collective reductions"), ContainsRegex("MPI_Put +no: one-sided")));
}

/// What differs in cost or order is run, and what does not is said.
TEST(SourceDocuments, SaysWhichOptionRunsWhichSend) {
  EXPECT_THAT(run("list calls").text,
              AllOf(ContainsRegex("MPI_Ssend +device pointers; run by send=synchronous\n"),
                    ContainsRegex("MPI_Ibsend +device pointers; run by send=buffered\n"),
                    ContainsRegex("MPI_Send_init +device pointers; run by send=standard: what a kept request saves"),
                    ContainsRegex("MPI_Sendrecv +device pointers; run by --pattern bidirectional --window 1\n")));
}

/// "The Open MPI library will automatically detect that the pointer being passed in is a CUDA device memory pointer."
TEST(SourceDocuments, AnEndMayLieInHostMemory) {
  const auto message = [](const std::string& more) {
    return run("run " + kKids + "--from 0/1 --to 0/2 -b 1M -e 1M --json /dev/stdout " + more);
  };
  EXPECT_THAT(message("-p cuda-aware --ends device,host").text,
              AllOf(HasSubstr("\"ends\": \"device,host\""), HasSubstr("in host memory at the other")));
  const Ended refused = message("-p cuda-ipc --ends device,host");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.text, HasSubstr("takes no messages in host memory: its bytes go from GPU to GPU"));
}

/// "Perform asynchronous copy from GPU 0 to GPU 1 using cudaMemcpyPeerAsync", in one process; and where the two are no
/// peers cudaMemcpy falls back to a copy through the host.
TEST(SourceDocuments, OneProcessMayDriveBothGpus) {
  const auto copies = [](const std::string& to) {
    return run("run " + kKids + "-p gpudirect-v2 --one-process --from 0/1 -b 1M -e 1M --json /dev/stdout --to " + to);
  };
  EXPECT_THAT(copies("0/2").text, HasSubstr("one process: peer copy by the copy engine"));
  EXPECT_THAT(copies("0/0").text, HasSubstr("one process: the driver copies through host memory: no peer access"));
  EXPECT_EQ(copies("1/1").code, 77) << "no process drives GPUs of two nodes";
}

/// "Do stuff on GPU2" between the messages: the times leave the stuff out, and the launch of its kernel in.
TEST(SourceDocuments, AReceivingGpuMayCompute) {
  const auto time_us = [](const std::string& more) {
    const std::string text =
        run("run " + kKids + "-p gpudirect-v2 --from 0/1 --to 0/2 -b 1M -e 1M --format osu " + more).text;
    return std::stod(text.substr(text.rfind("1048576") + 7));
  };
  const double without = time_us("");
  EXPECT_GT(time_us("--compute 1us"), without);
  EXPECT_NEAR(time_us("--compute 1us"), time_us("--compute 500us"), 0.2);
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
  EXPECT_THAT(said("figure keeneland-kids --platform platforms/keeneland-kids.yaml --out " + ::testing::TempDir() +
                       " --json platforms/keeneland-kids.yaml",
                   2),
              HasSubstr("would overwrite"));
}

}  // namespace
}  // namespace twinlink::model
