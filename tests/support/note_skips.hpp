// Skipped tests of a program whose other tests have passed: who runs many programs does not see them.
#pragma once

#include <errno.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace twinlink {

/// Why a test was skipped, in a line without tabs.
inline std::string reason_of_skip(const testing::TestInfo& test) {
  const testing::TestResult& result = *test.result();
  for (int i = 0; i < result.total_part_count(); ++i) {
    const testing::TestPartResult& part = result.GetTestPartResult(i);
    if (!part.skipped()) continue;
    std::string reason = part.message();
    for (char& c : reason) c = c == '\n' || c == '\t' ? ' ' : c;
    return reason;
  }
  return "";
}

/// Appends a line for each test of this program that was skipped to the file that TWINLINK_SKIPS names: program, test
/// and reason, with tabs between them. ./check lists them.
inline void note_skips() {
  const char* const file = std::getenv("TWINLINK_SKIPS");
  if (file == nullptr) return;
  const auto& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const testing::TestInfo& test = *suite.GetTestInfo(j);
      if (!test.should_run() || !test.result()->Skipped()) continue;
      // In one piece: other programs write to it as well.
      std::ofstream(file, std::ios::app) << std::string(program_invocation_short_name) + '\t' + suite.name() + '.' +
                                                test.name() + '\t' + reason_of_skip(test) + '\n';
    }
  }
}

}  // namespace twinlink
