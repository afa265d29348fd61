#include "tests/validate/cli/validate_program.hpp"

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

namespace twinlink::validate::test {

Ended ValidateProgram::run(const std::string& arguments) { return run(TWINLINK_VALIDATE_PROGRAM, arguments); }

Ended ValidateProgram::run(const std::string& program, const std::string& arguments) {
  const auto command = "cd '" + folder_.path().string() + "' && '" + program + "' " + arguments + " >out.log 2>err.log";
  const int status = std::system(command.c_str());
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1, .out = read("out.log"), .err = read("err.log")};
}

bool ValidateProgram::exists(const std::string& name) const { return std::filesystem::exists(folder_.path() / name); }

}  // namespace twinlink::validate::test
