#include "tests/model/cli/sim_program.hpp"

#include <array>
#include <cstdio>
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "protocols/bench/results/files.hpp"

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

std::string said(const std::string& arguments, int code) {
  Ended ended = run(arguments);
  EXPECT_EQ(ended.code, code) << arguments << '\n' << ended.text;
  return std::move(ended.text);
}

nlohmann::json written(const std::string& arguments, std::string* printed) {
  const std::string file = ::testing::TempDir() + "twinlink-written-" + std::to_string(::getpid()) + ".json";
  std::string text = said(arguments + " --json '" + file + "'");
  if (printed != nullptr) *printed = std::move(text);
  nlohmann::json json = bench::read_json_file(file);
  std::filesystem::remove(file);
  return json;
}

nlohmann::json first_point(const std::string& arguments, std::string* printed) {
  return written(arguments, printed).at("points").at(0);
}

Ended run_shell(const std::string& script) {
  return ended("cd '" TWINLINK_SOURCE_DIR "' && bash -c '" + script + "' '" TWINLINK_SIM_PROGRAM "' 2>&1");
}

}  // namespace twinlink::model
