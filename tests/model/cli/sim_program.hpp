// twinlink-sim as a child process of a test.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace twinlink::model {

/// On the project's description of a KIDS node.
inline const std::string kKids = "--platform platforms/keeneland-kids.yaml ";

struct Ended {
  int code = -1;
  std::string text{};  ///< standard output and standard error
};

/// Runs twinlink-sim in `folder`; the project's, unless it is said.
Ended run(const std::string& arguments, const std::string& folder = TWINLINK_SOURCE_DIR);

/// What it prints; it ends with `code`.
std::string said(const std::string& arguments, int code = 0);

/// What it writes by --json, with code 0; what it prints goes to `printed`.
nlohmann::json written(const std::string& arguments, std::string* printed = nullptr);

/// The first of the points in it.
nlohmann::json first_point(const std::string& arguments, std::string* printed = nullptr);

/// Runs `script` by bash in the project's folder; the program is "$0".
Ended run_shell(const std::string& script);

}  // namespace twinlink::model
