// A job from the execution traces of MLCommons Chakra.
//
//   1. A node begins when those have ended that it names, of data and of control. Of control, PyTorch's names callers.
//   2. Computing nodes take their recorded duration: of the host on a cpu for each thread, of the GPU on one for each
//      stream.
//   3. Collectives and messages take what the machine makes of them. Those of a group follow each other in the order
//      in which they may begin if nothing takes time, the lowest id first.
//   4. A group is everybody, or what a node of metadata ("process_group:init") or a file of groups says.
//   5. comm_size is what a rank gives: of an all-gather its own part, of a reduce-scatter and an all-to-all the whole.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace twinlink::bench {

/// The text is a job in GOAL's form, but for `heading`, whose lines become comments before it.
class ChakraJob {
 public:
  /// Of NAME.RANK.et for each rank from 0 on, and at most one JSON file {"1": [0, 1]} of groups. An InputError that
  /// names the file, and the node: for circles, nodes that wait for none that is there, kinds and groups that nobody
  /// explains, and computing that says no duration, as in traces made before execution.
  explicit ChakraJob(const std::vector<std::filesystem::path>& files);

  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// For the heading: goal::recorded_times().
  [[nodiscard]] const std::vector<std::string>& times() const { return times_; }
  [[nodiscard]] std::string text(const std::vector<std::string>& heading) const;

 private:
  std::vector<std::string> notes_{};
  std::vector<std::string> times_{};
  std::vector<std::vector<int>> groups_{};
  std::vector<std::string> ranks_{};
};

/// Is any of these an .et file?
bool is_chakra_job(const std::vector<std::filesystem::path>& files);

}  // namespace twinlink::bench
