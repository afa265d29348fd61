// Questions of how long something takes: messages between two devices or, below a command's `workload`, a workload.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "model/cli/commands.hpp"
#include "model/engine/flows/platform_names.hpp"
#include "model/study/jobs/simulated_job.hpp"
#include "model/study/message_times.hpp"
#include "platforms/machine/platform.hpp"
#include "protocols/core/path.hpp"

namespace twinlink::model {

/// What is asked of: a job on a machine.
struct Question {
  PlatformOptions platform{};
  bool of_workload = false;
  SimulatedJob job{};  ///< of messages: their protocol, settings and sizes, and the file for JSON
  PairOptions pair{};  ///< of messages, and what follows
  bench::Pattern pattern = bench::Pattern::pingpong;
  std::optional<int> window{};
  int at_once = cores();  ///< simulations
};

/// The job on its places. Its words make "all-reduce of 4 ranks by ring", "A message from 0/0 to 1/0 by staging".
struct AskedJob {
  std::string name{};
  std::string where{};
  std::string by{};  ///< empty: an algorithm that its platform chooses, or none
  std::vector<Place> places{};
  std::vector<Bytes> sizes{};  ///< empty: the job has its own
  nlohmann::json words{};      ///< the same for result files
  Timed timed{};
};

/// The command of a question, and `workload` below it. `add` gives one of them its options, and says what it does when
/// it is chosen. `needed` are required of messages.
struct QuestionText {
  std::string name{};
  std::string of_messages{};
  std::string of_workload{};
};
void add_question(Program& program, const QuestionText& text, std::initializer_list<const char*> needed,
                  const std::function<std::function<ExitCode()>(CLI::App& command, bool of_workload)>& add);

/// -j.
void add_at_once_option(CLI::App& command, int& at_once);
/// What `workload` is told of a job, and -j.
void add_job_question(CLI::App& command, Question& question);

/// The platform as the job's protocols want it, which are chosen where the user names none of a workload. Says what is
/// given and changes nothing. Messages without a protocol are no job: nothing is said of them.
Platform prepare(Question& question);
/// On a platform that was read for it. Where it is timed, it has as many ranks as here.
AskedJob asked_job(const Question& question, const Platform& platform);

}  // namespace twinlink::model
