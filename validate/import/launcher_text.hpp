// Text as a program wrote it, where a launcher has put its own words before each line.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace twinlink::validate {

/// The same lines, without line ends of Windows and without what launchers put before them: `[1,0]<stdout>:` of Open
/// MPI, `0: ` of srun, `[0] ` and `[node01:0] ` of others, the time that logs of containers begin with, and the blanks
/// by which a page sets them apart.
std::string without_launcher(std::string_view text);

/// What is between the blanks of a line.
std::vector<std::string> words(const std::string& line);

/// All of a word as a number.
template <class T>
std::optional<T> number(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Is it what a library or a tool has to complain of?
bool is_complaint(const std::string& line);

/// What was complained of between the figures, for the notes of a file. Each once, and not more than anybody reads.
class Complaints {
 public:
  explicit Complaints(std::string file) : file_(std::move(file)) {}
  void add(int line, const std::string& text);
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  static constexpr std::size_t kMost = 8;
  std::string file_;
  std::vector<std::string> notes_{};
};

}  // namespace twinlink::validate
