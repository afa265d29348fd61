// Execution traces of Chakra.
#include "protocols/bench/workload/recorded/chakra_job.hpp"
#include "protocols/workloads/goal/trace.hpp"
#include "tests/fuzz/targets.hpp"

namespace twinlink::fuzz {

/// The job of one rank's file, as if it were alone, can be read again.
void read_chakra(const std::string& text) {
  const bench::ChakraJob job({scratch_file("trace.0.et", text)});
  promise(workloads::goal::read_trace(job.text({}), "a.goal").ranks.size() == 1, "a job of one rank has one");
}

}  // namespace twinlink::fuzz
