#include "validate/nodes/anonymous.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace twinlink::validate {
namespace {

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }

/// Names and what stands for them, the longest first: "node1/run.json" before "node1".
using Aliases = std::vector<std::pair<std::string, std::string>>;

/// Every name that stands alone.
std::string replaced(std::string text, const Aliases& aliases) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const bool begins = at == 0 || !is_of_name(text[at - 1]);
    const auto fits = [&](const auto& alias) {
      const auto& name = alias.first;
      if (text.compare(at, name.size(), name) != 0) return false;
      const std::size_t end = at + name.size();
      return end == text.size() || !is_of_name(text[end]);
    };
    const auto found = begins ? std::ranges::find_if(aliases, fits) : aliases.end();
    if (found == aliases.end()) {
      result += text[at++];
    } else {
      result += found->second;
      at += found->first.size();
    }
  }
  return result;
}

}  // namespace

void make_anonymous(FleetFiles& files) {
  const std::size_t digits = fmt::format("{}", files.nodes.size()).size();
  std::map<std::string, std::string> names;
  for (std::size_t i = 0; i < files.nodes.size(); ++i) {
    const FleetNode& node = files.nodes[i];
    const std::string alias = fmt::format("node{:0{}}", i + 1, digits);
    names[node.name] = alias;
    std::size_t file = 0;
    for (const std::string& name : node.names) {
      const bool is_file = name.find('/') != std::string::npos || name.starts_with(node.name + ".");
      const bool is_gpu = name.starts_with("GPU-") || name.starts_with("MIG-");
      names.try_emplace(name, is_file ? fmt::format("{}/file{}", alias, ++file) : is_gpu ? "a UUID" : alias);
    }
  }
  Aliases aliases(names.begin(), names.end());
  std::ranges::stable_sort(aliases, std::ranges::greater{}, [](const auto& alias) { return alias.first.size(); });
  for (FleetNode& node : files.nodes) {
    for (std::string& remark : node.remarks) remark = replaced(remark, aliases);
    for (NodeFile& file : node.files) {
      file.file = names[file.file];
      file.hosts.clear();
      for (NamedGpu& gpu : file.gpus) gpu.uuid.clear();
    }
    for (NamedGpu& gpu : node.gpus) gpu.uuid.clear();
    node.name = names[node.name];
  }
  for (std::string& remark : files.remarks) remark = replaced(remark, aliases);
  files.folder = "the fleet";
}

}  // namespace twinlink::validate
