// One simulation per process: a command that needs several runs each in a child.
#pragma once

#include <functional>
#include <string>

namespace twinlink::model {

/// Runs `work` in a child process and returns its text. If it threw, an error of the same exit code
/// with its message; an EnvironmentError if it died. This process must be single-threaded and have no simulation of its
/// own.
std::string in_child_process(const std::function<std::string()>& work);

}  // namespace twinlink::model
