#include "protocols/workloads/goal/task_text.hpp"

#include <algorithm>

#include "protocols/workloads/goal/collectives.hpp"

namespace twinlink::workloads::goal {

Tasks::Label Tasks::add(std::string_view task, const Labels& after) {
  const std::string label = std::to_string(++last_);
  text_.append("  t").append(label).append(": ").append(task).append("\n");
  for (const Label each : after) {
    text_.append("  t").append(label).append(" requires t").append(std::to_string(each)).append("\n");
  }
  return last_;
}

Tasks::Label Tasks::calc(std::uint64_t length, std::uint64_t cpu, const Labels& after) {
  return add("calc " + std::to_string(length) + (cpu == 0 ? "" : " cpu " + std::to_string(cpu)), after);
}

Tasks::Label Tasks::message(bool sends, std::uint64_t bytes, int peer, std::uint64_t tag, const Labels& after) {
  return add((sends ? "send " : "recv ") + std::to_string(bytes) + (sends ? "b to " : "b from ") +
                 std::to_string(peer) + " tag " + std::to_string(tag),
             after);
}

Tasks::Label Tasks::collective(std::string_view what, std::uint64_t bytes, std::uint64_t group, const Labels& after) {
  std::string name(what);
  std::ranges::replace(name, '-', '_');
  return add(name + " " + std::to_string(bytes) + "b in " + std::to_string(group), after);
}

Labels Tasks::join(const Labels& all) {
  if (all.size() < 2) return all;
  return {add("calc 0", all)};
}

std::string opening_of(std::size_t ranks, const std::vector<std::vector<int>>& groups) {
  std::string text = "num_ranks " + std::to_string(ranks) + "\n";
  for (std::size_t g = 0; g < groups.size(); ++g) {
    text += "group " + std::to_string(g) + " { " + list_of(groups[g]) + " }\n";
  }
  return text;
}

}  // namespace twinlink::workloads::goal
