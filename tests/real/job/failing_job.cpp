// A job in which something goes wrong, for run_job.cmake: failing_job WHAT [host|cuda]. The other ranks wait without a
// deadline, so that only a clean end of the job lets this program end.
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

#include "real/job/job.hpp"
#include "real/system/mpi.hpp"

namespace twinlink::real {
namespace {

void wait_for_ever(Rank& rank, RankId peer) {
  ControlMessage message;
  const Op op = rank.recv_control(peer, Tag{1}, message);
  static_cast<void>(rank.wait_any({&op, 1}, Seconds{std::numeric_limits<double>::infinity()}));
}

/// Small pieces, so that little is left when the device refuses.
[[noreturn]] void fill_the_device(Rank& rank) {
  for (;;) static_cast<void>(rank.allocate(Memory::device, 256_MiB));
}

void fail(const std::string& what, Rank& rank) {
  // Memory that the end of the job must take back.
  static_cast<void>(rank.export_memory(rank.allocate(Memory::device, 1_MiB)));
  static_cast<void>(rank.allocate(Memory::shared_pinned, 1_MiB));
  if (rank.id() != RankId{1}) return wait_for_ever(rank, RankId{1});
  if (what == "throw") throw EnvironmentError("frobnicate", "the frob is broken");
  if (what == "throw-foreign") throw std::out_of_range("too far");
  if (what == "misuse") rank.release(Buffer{.id = 77});
  if (what == "mpi-error") static_cast<void>(rank.send(RankId{5}, Tag{1}, View{}));
  if (what == "kill") ::raise(SIGKILL);
  if (what == "fill") fill_the_device(rank);
  wait_for_ever(rank, RankId{0});
}

/// Ranks 2 and on do not come to the second barrier.
[[noreturn]] void miss_a_barrier() {
  const Mpi mpi(Seconds{2});
  mpi.barrier();
  if (mpi.rank() > 1) ::pause();
  try {
    mpi.barrier();
  } catch (const EnvironmentError& error) {
    std::cerr << error.what() << "\n" << std::flush;
  }
  mpi.abort(static_cast<int>(ExitCode::failed));
}

int main(const std::string& what, bool on_gpus) {
  try {
    if (what == "late") miss_a_barrier();
    const Seconds timeout{what == "stop" ? 0.5 : 30};
    Job job(on_gpus ? JobOptions{.device = DeviceKind::cuda} : JobOptions{.host_memory = 1_GiB, .timeout = timeout});
    if (what == "stop" && job.rank().id() == RankId{1}) ::raise(SIGSTOP);
    if (what == "stop") job.agree([] {});
    if (what == "leave") {
      if (job.rank().id() == RankId{1}) throw std::runtime_error("outside of run()");
      wait_for_ever(job.rank(), RankId{1});
    }
    if (what == "agree") {
      job.agree([&] {
        if (job.rank().id() == RankId{1}) throw UnavailableError("no adapter");
      });
    }
    job.run([&](Rank& rank) { fail(what, rank); });
    return 0;
  } catch (const Error& error) {
    return static_cast<int>(error.exit_code());
  } catch (const std::exception&) {
    return static_cast<int>(ExitCode::failed);
  }
}

}  // namespace
}  // namespace twinlink::real

int main(int argc, char** argv) {
  return twinlink::real::main(argc > 1 ? argv[1] : "", argc > 2 && std::string_view(argv[2]) == "cuda");
}
