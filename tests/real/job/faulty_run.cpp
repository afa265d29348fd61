// A measurement between two ranks whose peer access drops what it should move: faulty_run [host|cuda] PROTOCOL. Says on
// standard output what was verified, which must be nothing.
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "protocols/bench/measure/driver.hpp"
#include "protocols/registry.hpp"
#include "real/job/job.hpp"
#include "tests/support/fault_rank.hpp"

namespace twinlink::real {
namespace {

bench::Plan small_plan() {
  return {.sizes = {4_B, 1_MiB},
          .small = {.warmup = 1, .iterations = 2},
          .large = {.warmup = 1, .iterations = 2},
          .settings = {}};
}

int main(const std::string& device, const std::string& protocol) {
  try {
    Job job({.device = device == "cuda" ? DeviceKind::cuda : DeviceKind::host});
    job.run([&](MeasuredRank& self) {
      FaultRank rank(self, FaultRank::Fault::lost_peer_copies);
      const bench::Series series = bench::measure(rank, find_protocol(protocol), small_plan());
      for (const bench::Point& point : series.points) fmt::print("verified: {} B\n", point.size.count());
    });
    return 0;
  } catch (const Error& error) {
    return static_cast<int>(error.exit_code());
  }
}

}  // namespace
}  // namespace twinlink::real

int main(int argc, char** argv) {
  if (argc != 3) return static_cast<int>(twinlink::ExitCode::bad_usage);
  return twinlink::real::main(argv[1], argv[2]);
}
