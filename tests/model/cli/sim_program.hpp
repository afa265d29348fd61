// twinlink-sim as a child process of a test.
#pragma once

#include <string>

namespace twinlink::model {

struct Ended {
  int code = -1;
  std::string text{};  ///< standard output and standard error
};

/// Runs twinlink-sim in the project's folder.
Ended run(const std::string& arguments);

}  // namespace twinlink::model
