// Which algorithm, place, protocols, limits, chunk and depth make a job fast, size by size: a search whose simulations
// are processes of their own.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "model/engine/flows/platform_names.hpp"
#include "model/study/jobs/simulated_job.hpp"
#include "model/study/survey.hpp"
#include "platforms/machine/platform.hpp"
#include "protocols/bench/cli/progress.hpp"
#include "protocols/core/options.hpp"

namespace twinlink::model {

/// All that is chosen of a job but its algorithm.
struct JobSetting {
  std::string place{};
  std::string within{};   ///< protocol of pairs within a node, or of all
  std::string between{};  ///< empty: the same
  std::optional<Bytes> chunk{};
  std::optional<int> depth{};
  std::map<std::string, std::string> options{};          ///< of the first protocol, besides those of the user
  std::map<std::string, std::string> options_between{};  ///< of the second

  auto operator<=>(const JobSetting&) const = default;
};

struct JobSample {
  JobSetting setting{};
  std::string algorithm{};
  double time_us = 0;
};

/// What is searched.
struct JobSearch {
  const Platform* platform = nullptr;
  SimulatedJob job{};        ///< with protocols: the user's or the chosen ones
  bool any_place = false;    ///< packed and spread are both tried
  bool any_within = false;   ///< the user names no first protocol
  bool any_between = false;  ///< nor a second one
  bool any_chunk = false;
  bool any_depth = false;
  int at_once = 1;
  bench::OnProgress on_progress{};
};

struct JobSizeAdvice {
  Bytes size{};
  JobSample given{};                 ///< the job as the user has it
  std::vector<JobSample> ranking{};  ///< of each algorithm the simplest of its fastest; the fastest first
  std::vector<JobSample> samples{};  ///< all that was simulated, each once
  std::optional<JobSample> own{};    ///< what the first one's library does without the options that are added
};

struct JobAdvice {
  std::string workload{};
  int ranks = 0;
  std::vector<JobSizeAdvice> sizes{};
  std::vector<Remark> left_out{};  ///< settings that were refused: what, and why
  std::size_t simulations = 0;
  bool predicted = false;  ///< algorithms were not all simulated: `workload` left out what it predicts to be slow
};

/// One choice after the other, each from the best so far of its size: places and protocols, then of the two fastest
/// algorithms options and limits, one and then another one, chunk and depth. Options of a library are advised where
/// they lead by more than the model errs over what it does by itself. An UnavailableError where the job as it is given
/// cannot run.
JobAdvice advise_job(const JobSearch& search);

/// What is added to `workload` for a setting: "--place packed --chunk 1M"; without what the job has anyway.
std::string words_of(const JobSetting& setting, const JobSearch& search);

/// The least time with each value of a choice.
struct ChoiceTimes {
  std::string choice{};
  std::vector<std::pair<std::string, double>> values{};  ///< in the order in which they were tried; two at least
};
std::vector<ChoiceTimes> choices_of(const JobSizeAdvice& size);

void print_job_advice(const JobAdvice& advice, const JobSearch& search, std::ostream& out);
nlohmann::json to_json(const JobAdvice& advice, const JobSearch& search);
std::string to_csv(const JobAdvice& advice, const JobSearch& search);

}  // namespace twinlink::model
