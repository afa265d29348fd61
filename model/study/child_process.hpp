// One simulation per process: a command that needs several runs each in a child.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace twinlink::model {

/// Runs `work` in a child process and returns its text. If it threw, an error of the same exit code
/// with its message; an EnvironmentError if it died. This process must be single-threaded and have no simulation of its
/// own.
std::string in_child_process(const std::function<std::string()>& work);

/// As in_child_process() for each of `works`, `at_once` (at least 1) at a time; the texts in the order of `works`. If
/// several threw, the error of the first of them in that order, once all children have ended. Where the system refuses
/// another child, an EnvironmentError, and the others are ended. `on_end`, which may be empty, hears how many have
/// ended, and how many there are.
std::vector<std::string> in_child_processes(std::span<const std::function<std::string()>> works, int at_once,
                                            const std::function<void(std::size_t, std::size_t)>& on_end = {});

/// How a child ended: with its text, or with the error that it threw.
struct ChildEnd {
  std::size_t number = 0;  ///< of its work
  int exit_status = 0;     ///< 0: there is a text
  std::string text{};

  /// Died, or the environment failed it: it might end well another time.
  [[nodiscard]] bool lost() const;
  /// The text; or throws the child's error again, as in_child_process().
  [[nodiscard]] const std::string& get() const;
};

/// As in_child_processes() for `work(0)` to `work(count - 1)`, but `on_end` gets each end at once, and what others
/// threw ends nothing. What `on_end` throws ends all.
void in_each_child_process(std::size_t count, const std::function<std::string(std::size_t)>& work, int at_once,
                           const std::function<void(const ChildEnd&)>& on_end);

}  // namespace twinlink::model
