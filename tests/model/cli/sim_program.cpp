#include "tests/model/cli/sim_program.hpp"

#include <array>
#include <cstdio>

#include <sys/wait.h>

namespace twinlink::model {

Ended run(const std::string& arguments, const std::string& folder) {
  const std::string command = "cd '" + folder + "' && '" TWINLINK_SIM_PROGRAM "' " + arguments + " 2>&1";
  std::FILE* output = popen(command.c_str(), "r");
  if (output == nullptr) return {};
  Ended ended;
  std::array<char, 4096> block{};
  for (std::size_t count = 1; count > 0;) {
    count = std::fread(block.data(), 1, block.size(), output);
    ended.text.append(block.data(), count);
  }
  const int status = pclose(output);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

}  // namespace twinlink::model
