#include "validate/nodes/node_list.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "protocols/bench/results/output_files.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::validate {
namespace {

constexpr std::size_t kMostNames = 1'000'000;

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw UsageError(fmt::format("'{}' is no list of nodes such as node[01-64]: {}", text, why));
}

/// The numbers of "01-03,7", with their zeros in front.
std::vector<std::string> numbers_of(std::string_view text, std::string_view whole) {
  std::vector<std::string> numbers;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view range = text.substr(at, comma - at);
    const std::size_t dash = range.find('-');
    const std::string first(range.substr(0, dash));
    const std::string last(dash == std::string_view::npos ? first : range.substr(dash + 1));
    const auto is_number = [](const std::string& each) {
      constexpr std::size_t kMostDigits = 9;
      return !each.empty() && each.size() <= kMostDigits && each.find_first_not_of("0123456789") == std::string::npos;
    };
    if (!is_number(first) || !is_number(last)) refuse(whole, fmt::format("'{}' is no range of numbers", range));
    const std::size_t end = std::stoul(last);
    if (end < std::stoul(first)) refuse(whole, fmt::format("'{}' ends before it begins", range));
    for (std::size_t number = std::stoul(first); number <= end; ++number) {
      if (numbers.size() == kMostNames) refuse(whole, "these are more than a million");
      numbers.push_back(fmt::format("{:0{}}", number, first.size()));
    }
    at = comma + 1;
  }
  return numbers;
}

/// The names of one entry, from its first bracket on.
std::vector<std::string> names_of(std::string_view entry, std::string_view whole) {
  const std::size_t open = entry.find('[');
  if (open == std::string_view::npos) {
    if (entry.find(']') != std::string_view::npos) refuse(whole, "a ']' without a '['");
    return {std::string(entry)};
  }
  const std::size_t close = entry.find(']', open);
  if (close == std::string_view::npos) refuse(whole, "a '[' without a ']'");
  const std::vector<std::string> rest = names_of(entry.substr(close + 1), whole);
  std::vector<std::string> names;
  for (const std::string& number : numbers_of(entry.substr(open + 1, close - open - 1), whole)) {
    for (const std::string& end : rest) {
      if (names.size() == kMostNames) refuse(whole, "these are more than a million");
      names.push_back(fmt::format("{}{}{}", entry.substr(0, open), number, end));
    }
  }
  return names;
}

}  // namespace

std::vector<std::string> expand_hostlist(std::string_view text) {
  std::vector<std::string> names;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const char c = at < text.size() ? text[at] : ',';
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c != ',' || (depth > 0 && at < text.size())) continue;
    const std::string_view entry = text.substr(begin, at - begin);
    if (entry.empty()) refuse(text, "a name is missing");
    std::ranges::move(names_of(entry, text), std::back_inserter(names));
    if (names.size() > kMostNames) refuse(text, "these are more than a million");
    begin = at + 1;
  }
  return names;
}

std::vector<std::string> read_node_list(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) throw InputError(fmt::format("{}: error: cannot be read; --nodes wants a file", file.string()));
  bench::note_input(file);
  std::set<std::string> names;
  std::size_t number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    line.resize(std::min(line.find('#'), line.size()));
    std::erase_if(line, [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
    if (line.empty()) continue;
    try {
      for (std::string& name : expand_hostlist(line)) names.insert(std::move(name));
    } catch (const UsageError& error) {
      throw InputError(fmt::format("{}:{}: error: {}", file.string(), number, error.what()));
    }
  }
  if (names.empty()) throw InputError(fmt::format("{}: error: names no node", file.string()));
  return {names.begin(), names.end()};
}

void expect_nodes(FleetFiles& files, const std::vector<std::string>& names) {
  std::vector<FleetNode> missing;
  for (const std::string& name : names) {
    if (std::ranges::find(files.nodes, name, &FleetNode::name) == files.nodes.end()) {
      missing.push_back({.name = name, .remarks = {"is on the list of nodes, and has nothing here"}});
    }
  }
  for (FleetNode& node : files.nodes) {
    if (!std::ranges::binary_search(names, node.name)) {
      node.remarks.emplace_back("is not on the list of nodes");
    }
  }
  std::ranges::move(missing, std::back_inserter(files.nodes));
  std::ranges::sort(files.nodes, {}, &FleetNode::name);
}

}  // namespace twinlink::validate
