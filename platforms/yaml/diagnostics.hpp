// Findings about input files, collected so that a user sees all of them at once.
#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace twinlink::platforms {

/// A place in a file. Line and column count from 1; line 0 is the file as a whole.
struct Position {
  std::shared_ptr<const std::string> file{};  ///< null: of what the program has added for the command line
  int line = 0;
  int column = 0;
};

/// "platforms/x.yaml:12:5", or the file alone.
std::string to_string(const Position& position);

class Diagnostics {
 public:
  void error(const Position& position, const std::string& message);
  [[nodiscard]] bool empty() const { return findings_.empty(); }
  /// Throws an InputError with every finding, one line "file:line:col: error: text" each, in the order of the files and
  /// of the places in them.
  [[noreturn]] void throw_all() const;
  void throw_if_any() const {
    if (!empty()) throw_all();
  }

 private:
  struct Finding {
    Position position;
    std::string message;
  };
  std::vector<Finding> findings_{};
};

}  // namespace twinlink::platforms
