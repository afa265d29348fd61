#include "real/nccl/tuner/tuner_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace twinlink::tuner {
namespace {

using Word = std::string_view;

constexpr std::array<Word, 5> kCollectives{"broadcast", "reduce", "allgather", "reducescatter", "allreduce"};
constexpr std::array<Word, 7> kAlgorithms{"tree",      "ring", "collnet_direct", "collnet_chain", "nvls",
                                          "nvls_tree", "pat"};
constexpr std::array<Word, 3> kFormats{"ll", "ll128", "simple"};

Word trimmed(Word text) {
  constexpr Word kBlanks = " \t\r\"";
  const std::size_t first = text.find_first_not_of(kBlanks);
  return first == Word::npos ? Word() : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<Word> fields_of(Word line) {
  std::vector<Word> fields;
  while (true) {
    const std::size_t comma = line.find(',');
    fields.push_back(trimmed(line.substr(0, comma)));
    if (comma == Word::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

template <class Number>
std::optional<Number> number_in(Word text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <std::size_t N>
std::optional<int> place_in(const std::array<Word, N>& names, Word name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<int>(found - names.begin());
}

/// Nothing, and what is wrong in `why`.
std::optional<Rule> read_rule(Word line, std::string& why) {
  constexpr std::size_t kLeast = 8;
  constexpr std::size_t kMost = 10;
  const std::vector<Word> fields = fields_of(line);
  if (fields.size() < kLeast || fields.size() > kMost) {
    why = std::to_string(fields.size()) + " columns, of 8 to 10";
    return std::nullopt;
  }
  const auto wrong = [&](std::size_t column) {
    why = "'" + std::string(fields[column]) + "' in column " + std::to_string(column + 1);
    return std::nullopt;
  };
  Rule rule;
  const auto collective = place_in(kCollectives, fields[0]);
  if (!collective) return wrong(0);
  rule.collective = *collective;
  for (const std::size_t column : {std::size_t{1}, std::size_t{2}}) {
    const auto bytes = number_in<std::size_t>(fields[column]);
    if (!bytes) return wrong(column);
    (column == 1 ? rule.least : rule.most) = *bytes;
  }
  // NCCL's example writes the largest number of 32 bits for no limit.
  if (rule.most == std::numeric_limits<std::uint32_t>::max()) rule.most = std::numeric_limits<std::size_t>::max();
  if (rule.most < rule.least) return wrong(2);
  const auto algorithm = place_in(kAlgorithms, fields[3]);
  if (!algorithm) return wrong(3);
  rule.algorithm = *algorithm;
  const auto format = place_in(kFormats, fields[4]);
  if (!format) return wrong(4);
  rule.format = *format;
  const std::array<int*, 5> numbers{&rule.channels, &rule.nodes, &rule.ranks, &rule.operations, &rule.registered};
  for (std::size_t column = 5; column < fields.size(); ++column) {
    const auto value = number_in<int>(fields[column]);
    if (!value || *value < -1) return wrong(column);
    *numbers[column - 5] = *value;
  }
  if (rule.channels == 0) return wrong(5);
  return rule;
}

bool fits(int wanted, std::size_t is) { return wanted < 0 || static_cast<std::size_t>(wanted) == is; }

}  // namespace

Rules::Rules(std::istream& text, std::size_t nodes, std::size_t ranks) {
  std::string line;
  for (int number = 1; std::getline(text, line); ++number) {
    const Word content = trimmed(Word(line).substr(0, line.find('#')));
    if (content.empty() || content.starts_with("collective_type")) continue;
    std::string why;
    std::optional<Rule> rule = read_rule(content, why);
    if (!rule) {
      faults_.push_back("line " + std::to_string(number) + ": " + why);
      continue;
    }
    rule->line = number;
    if (fits(rule->nodes, nodes) && fits(rule->ranks, ranks)) rules_.push_back(*rule);
  }
}

const Rule* Rules::find(const Asked& asked) const {
  const auto found = std::ranges::find_if(rules_, [&](const Rule& rule) {
    return rule.collective == asked.collective && rule.least <= asked.bytes && asked.bytes <= rule.most &&
           (rule.operations < 0 || rule.operations == asked.operations) &&
           (rule.registered < 0 || rule.registered == asked.registered);
  });
  return found == rules_.end() ? nullptr : &*found;
}

bool prefer(const Rule& rule, float* costs, int algorithms, int formats) {
  if (rule.algorithm >= algorithms || rule.format >= formats) return false;
  float& cost = costs[rule.algorithm * formats + rule.format];
  if (cost < 0) return false;
  cost = 0;
  return true;
}

}  // namespace twinlink::tuner
