#include "tests/model/cli/sim_program.hpp"

#include <array>
#include <cstdio>

#include <sys/wait.h>

namespace twinlink::model {
namespace {

Ended ended(const std::string& command) {
  std::FILE* output = popen(command.c_str(), "r");
  if (output == nullptr) return {};
  Ended end;
  std::array<char, 4096> block{};
  for (std::size_t count = 1; count > 0;) {
    count = std::fread(block.data(), 1, block.size(), output);
    end.text.append(block.data(), count);
  }
  const int status = pclose(output);
  end.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return end;
}

}  // namespace

Ended run(const std::string& arguments, const std::string& folder) {
  return ended("cd '" + folder + "' && '" TWINLINK_SIM_PROGRAM "' " + arguments + " 2>&1");
}

Ended run_shell(const std::string& script) {
  return ended("cd '" TWINLINK_SOURCE_DIR "' && bash -c '" + script + "' '" TWINLINK_SIM_PROGRAM "' 2>&1");
}

}  // namespace twinlink::model
