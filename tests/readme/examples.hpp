// The example blocks of the texts: commands with what they print.
//
// An example is a block that is fenced as `console`. A line that begins with "$ " is a command, which goes on in the
// next line behind a backslash; the lines up to the next command are what it prints. A line "..." stands for any number
// of lines, also none, and "..." within a line for any text.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace twinlink::readme {

struct Example {
  int line = 0;  ///< of the command in its file, from 1
  std::string command{};
  std::vector<std::string> expected{};  ///< lines, without spaces at their ends
};

/// All examples of a Markdown file, in their order.
std::vector<Example> examples_of(const std::filesystem::path& file);

/// The lines of `text`, without spaces at their ends and without empty lines at its end.
std::vector<std::string> lines_of(const std::string& text);

/// Does `printed` look as `expected` says? Empty, or what the first line that does not fit is.
std::string first_difference(const std::vector<std::string>& expected, const std::vector<std::string>& printed);

}  // namespace twinlink::readme
