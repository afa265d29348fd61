// The handshake's table for people, and as a graph.
#include <algorithm>
#include <array>
#include <vector>

#include "protocols/cuda_ipc/ipc_handshake.hpp"

namespace twinlink::handshake {
namespace {

constexpr std::array<std::pair<Condition, std::string_view>, 7> kConditions{{{kGpuBuffer, "of a GPU buffer"},
                                                                             {kCudaInUse, "CUDA in use"},
                                                                             {kCudaNotInUse, "CUDA not in use"},
                                                                             {kTriesLeft, "tries < 5"},
                                                                             {kNoTriesLeft, "tries = 5"},
                                                                             {kOutranksPeer, "my rank > peer's"},
                                                                             {kOutranked, "my rank < peer's"}}};

std::string condition_text(Condition condition) {
  std::string text;
  for (const auto& [bit, words] : kConditions) {
    if ((condition & bit) == 0) continue;
    if (!text.empty()) text += ", ";
    text += words;
  }
  return text;
}

std::string actions_text(const Row& row) {
  std::string text;
  for (const Action action : row.actions.list()) {
    if (!text.empty()) text += ", ";
    text += to_string(action);
  }
  return text;
}

TextRow row_of(const Row& row) {
  return {std::string(to_string(row.from)), std::string(to_string(row.on)),
          condition_text(row.condition),    actions_text(row),
          std::string(to_string(row.to)),   std::string(row.note)};
}

}  // namespace

std::vector<TextRow> table_rows(Fidelity fidelity) {
  std::vector<TextRow> rows{{"state", "event", "if", "do", "next", "note"}};
  for (const Row& row : table()) {
    if (row.applies_to(fidelity)) rows.push_back(row_of(row));
  }
  return rows;
}

std::string table_text(Fidelity fidelity) {
  const std::vector<TextRow> lines = table_rows(fidelity);
  std::array<std::size_t, std::tuple_size_v<TextRow>> widths{};
  for (const TextRow& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text =
      "handshake '" + std::string(to_string(fidelity)) + "': " + std::string(describe(fidelity)) + "\n\n";
  for (const TextRow& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < line.size(); ++i) row += line[i] + std::string(widths[i] - line[i].size() + 2, ' ');
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text + "\nAn event without a row is ignored.\n";
}

std::string dot_text(Fidelity fidelity) {
  std::string text = "digraph \"" + std::string(to_string(fidelity)) + "\" {\n  rankdir=LR;\n  node [shape=box];\n";
  for (const Row& row : table()) {
    if (!row.applies_to(fidelity)) continue;
    std::string label = std::string(to_string(row.on));
    if (row.condition != kAlways) label += " [" + condition_text(row.condition) + "]";
    if (!row.actions.list().empty()) label += " / " + actions_text(row);
    text += "  " + std::string(to_string(row.from)) + " -> " + std::string(to_string(row.to)) + " [label=\"" + label +
            "\"];\n";
  }
  return text + "}\n";
}

}  // namespace twinlink::handshake
