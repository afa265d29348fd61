// JUnit's XML, which schedulers and CI read.
#pragma once

#include <string>
#include <string_view>

namespace twinlink::report {

/// The test cases of one suite. Names and messages are plain text; what an outcome holds is XML already.
class JUnitCases {
 public:
  void add(std::string_view of, std::string_view name, std::string_view outcome = {});
  void fail(std::string_view of, std::string_view name, std::string_view message, std::string_view content = {});
  void skip(std::string_view of, std::string_view name, std::string_view message);
  /// The whole file.
  [[nodiscard]] std::string file(std::string_view suite) const;

 private:
  std::string text_;
  int tests_ = 0;
  int failures_ = 0;
  int skipped_ = 0;
};

}  // namespace twinlink::report
