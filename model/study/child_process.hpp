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

}  // namespace twinlink::model
