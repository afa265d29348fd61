// The contract on a real machine: one MPI job for all tests of a run.
//   mpirun -n 2 contract_real [host|host-without-peers|host-nodes|host-paced|host-paced-rdma|cuda] [--gtest_filter=...]
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "protocols/core/errors.hpp"
#include "real/job/job.hpp"
#include "tests/contract/world.hpp"
#include "tests/support/note_skips.hpp"

namespace twinlink::contract {
namespace {

real::Job* running_job = nullptr;

/// Says what failed on a rank whose output would otherwise repeat the first rank's.
class FailuresOnly : public testing::EmptyTestEventListener {
 public:
  explicit FailuresOnly(int rank) : rank_(rank) {}

  void OnTestStart(const testing::TestInfo& test) override {
    test_ = std::string(test.test_suite_name()) + "." + test.name();
  }
  // GoogleTest holds its lock meanwhile: nothing of it may be asked here.
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "rank %d: %s: %s:%d: %s\n", rank_, test_.c_str(),
                 result.file_name() != nullptr ? result.file_name() : "unknown file", result.line_number(),
                 result.message());
  }

 private:
  int rank_;
  std::string test_;
};

real::JobOptions job_on(std::string_view devices) {
  if (devices == "host") return {};
  if (devices == "host-without-peers") return {.host_peers = real::HostPeers::none};
  if (devices == "host-nodes") return {.host_nodes = 2};
  if (devices == "host-paced") return {.pace = {.platform = TWINLINK_PLATFORMS "/keeneland-kids.yaml"}};
  if (devices == "host-paced-rdma") {
    return {.pace = {.platform = TWINLINK_PLATFORMS "/keeneland-kfs-rdma.yaml", .places = "0/0,1/1"}};
  }
  if (devices == "cuda") return {.device = real::DeviceKind::cuda};
  throw UsageError("unknown devices '" + std::string(devices) +
                   "' (there are: host, host-without-peers, host-nodes, host-paced, host-paced-rdma, cuda)");
}

}  // namespace

void on_every_rank(const std::function<void(MeasuredRank&)>& body) {
  try {
    body(running_job->rank());
  } catch (const std::exception& error) {
    ADD_FAILURE() << "rank " << running_job->rank().id().value << " threw: " << error.what();
  }
  // A test has failed on all ranks if it has failed on one: every rank's report, and its exit code, is the job's. Tests
  // also start together, so that none meets what another has not finished.
  int failed = testing::Test::HasFailure() ? 1 : 0;
  int failures = 0;
  MPI_Allreduce(&failed, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (failures > 0 && failed == 0) ADD_FAILURE() << "failed on other ranks: " << failures;
}

}  // namespace twinlink::contract

int main(int argc, char** argv) {
  using namespace twinlink;
  testing::InitGoogleTest(&argc, argv);
  try {
    real::Job job(contract::job_on(argc > 1 ? argv[1] : "host"));
    contract::running_job = &job;
    if (const int rank = job.rank().id().value; rank != 0) {
      auto& listeners = testing::UnitTest::GetInstance()->listeners();
      delete listeners.Release(listeners.default_result_printer());
      listeners.Append(new contract::FailuresOnly(rank));
    }
    const int result = RUN_ALL_TESTS();
    const auto& tests = *testing::UnitTest::GetInstance();
    if (tests.test_to_run_count() == 0) {
      std::fprintf(stderr, "the filter selects no test\n");
      return static_cast<int>(ExitCode::bad_usage);
    }
    if (job.rank().id().value == 0) note_skips();
    if (tests.skipped_test_count() == tests.test_to_run_count()) return static_cast<int>(ExitCode::unavailable);
    return result;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.exit_code());
  }
}
