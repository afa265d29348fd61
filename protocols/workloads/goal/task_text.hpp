// GOAL's text as recordings are written in it: trace.hpp has its form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace twinlink::workloads::goal {

/// The tasks of one rank, each of which waits for those `after` which it comes.
class Tasks {
 public:
  using Label = std::size_t;
  using Labels = std::vector<Label>;

  Label add(std::string_view task, const Labels& after);
  /// ns; cpu 0 is not written.
  Label calc(std::uint64_t length, std::uint64_t cpu, const Labels& after);
  Label message(bool sends, std::uint64_t bytes, int peer, std::uint64_t tag, const Labels& after);
  /// By the catalogue's name.
  Label collective(std::string_view what, std::uint64_t bytes, std::uint64_t group, const Labels& after);
  /// One task that has all of these before it; none for none.
  Labels join(const Labels& all);
  [[nodiscard]] const std::string& text() const { return text_; }
  /// The text so far is somebody else's from now on.
  void forget() { text_.clear(); }

 private:
  std::string text_{};
  Label last_ = 0;
};
using Labels = Tasks::Labels;

/// What stands before the ranks; the members of a group ascend.
std::string opening_of(std::size_t ranks, const std::vector<std::vector<int>>& groups);

}  // namespace twinlink::workloads::goal
