// main() of the test programs: runs each test in a process of its own, for SimGrid runs one simulation per process and
// no test shall see what another left. A fork costs a hundredth of a program's start. One test alone is not forked,
// which is what a debugger wants: --gtest_filter=Suite.Test.
#include <fnmatch.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/note_skips.hpp"

namespace {

constexpr int kSkipped = 77;

/// `patterns` as GoogleTest writes them: "Suite.*:Other.Test".
bool matches_any(const std::string& patterns, const std::string& name) {
  std::istringstream list(patterns);
  for (std::string pattern; std::getline(list, pattern, ':');) {
    if (fnmatch(pattern.c_str(), name.c_str(), 0) == 0) return true;
  }
  return false;
}

bool is_wanted(const std::string& name) {
  const std::string filter = GTEST_FLAG_GET(filter);
  const std::size_t dash = filter.find('-');
  const std::string positive = filter.substr(0, dash);
  if (!matches_any(positive.empty() ? "*" : positive, name)) return false;
  return dash == std::string::npos || !matches_any(filter.substr(dash + 1), name);
}

std::size_t number_of(const char* variable, std::size_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoul(text);
}

/// The tests that --gtest_filter leaves.
std::vector<std::string> wanted_tests() {
  std::vector<std::string> names;
  const auto& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const std::string name = std::string(suite.name()) + "." + suite.GetTestInfo(j)->name();
      if (is_wanted(name)) names.push_back(name);
    }
  }
  return names;
}

int run_here(const std::string& name) {
  GTEST_FLAG_SET(filter, name);
  const int code = RUN_ALL_TESTS();
  if (code != 0 || testing::UnitTest::GetInstance()->skipped_test_count() == 0) return code;
  twinlink::note_skips();
  return kSkipped;
}

int run_apart(const std::string& name) {
  std::cout.flush();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(TWINLINK_TEST_SECONDS);  // which ends a test that hangs
    std::exit(run_here(name));
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) {
    std::perror("fork");
    return EXIT_FAILURE;
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::cout << "[  FAILED  ] " << name << " was ended by signal " << WTERMSIG(status) << '\n';
  return EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  if (GTEST_FLAG_GET(list_tests)) return RUN_ALL_TESTS();
  const std::vector<std::string> names = wanted_tests();
  if (names.empty()) {
    std::cerr << "no test has a name like " << GTEST_FLAG_GET(filter) << '\n';
    return EXIT_FAILURE;
  }
  // The shards are made here; each child has its one test.
  const std::size_t shards = number_of("GTEST_TOTAL_SHARDS", 1);
  const std::size_t shard = number_of("GTEST_SHARD_INDEX", 0);
  unsetenv("GTEST_TOTAL_SHARDS");
  unsetenv("GTEST_SHARD_INDEX");
  if (names.size() == 1) return run_here(names.front());

  std::size_t run = 0;
  std::vector<std::string> skipped;
  std::vector<std::string> failed;
  for (std::size_t i = shard; i < names.size(); i += shards, ++run) {
    const int code = run_apart(names[i]);
    if (code != 0) (code == kSkipped ? skipped : failed).push_back(names[i]);
  }
  std::cout << run << " tests, each in a process of its own: " << failed.size() << " failed, " << skipped.size()
            << " skipped\n";
  for (const std::string& name : skipped) std::cout << "[  SKIPPED ] " << name << '\n';
  for (const std::string& name : failed) std::cout << "[  FAILED  ] " << name << '\n';
  if (!failed.empty()) return EXIT_FAILURE;
  return run > 0 && skipped.size() == run ? kSkipped : EXIT_SUCCESS;
}
