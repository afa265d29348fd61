// What NCCL should do otherwise than its own rule would: the CSV that tuner plugins of NCCL and RCCL read.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/study/jobs/job_advice.hpp"

namespace twinlink::model {

struct TunerRule {
  Bytes from{};  ///< sizes as NCCL counts them, both ends included
  Bytes to{};
  std::string algorithm{};  ///< as the CSV has it: "nvls_tree"
  std::string format{};     ///< "ll128"
  std::string own{};        ///< what NCCL does by itself: "ring ll"
  double time_us = 0;       ///< of the size within that was simulated, or of that which gains least
  double own_us = 0;
  [[nodiscard]] double gain() const { return 1 - time_us / own_us; }
};

struct TunerRules {
  std::string collective{};  ///< "allreduce"
  int nodes = 0;
  int ranks = 0;
  std::vector<TunerRule> rules{};  ///< those that gain more than the model errs
  std::size_t sizes = 0;           ///< that were tried
};

/// Every algorithm and line format that NCCL has on this machine, size by size, each simulated; LL128 only where NCCL
/// has it on. A UsageError for another protocol or workload, an UnavailableError where NCCL cannot run.
TunerRules tuner_rules(const JobSearch& search);

/// With a line of why before each rule.
std::string to_csv(const TunerRules& rules, const std::string& command);

}  // namespace twinlink::model
