#include "tests/layering/include_rules.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <regex>
#include <span>

namespace twinlink::layering {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string_view>;

/// A group of headers from outside the project. A name that ends in '*' stands for all headers that start like it.
struct Group {
  std::string_view name;
  Names headers;
};

const Group kSimgrid{"SimGrid", {"simgrid*", "xbt*", "smpi*"}};
const Group kMpi{"MPI", {"mpi*"}};
const Group kCuda{"CUDA", {"cuda*", "cub/*", "thrust/*", "cooperative_groups*", "device_launch*", "nvml*", "nvtx*"}};
const Group kYaml{"YAML", {"yaml-cpp/*"}};
const Group kClocks{"clocks", {"chrono", "ctime", "time.h", "sys/time.h", "sys/times.h"}};
const Group kThreads{"threads",
                     {"thread", "mutex", "shared_mutex", "condition_variable", "future", "semaphore", "latch",
                      "barrier", "stop_token", "execution", "pthread.h", "threads.h"}};
const Group kRandom{"random numbers", {"random"}};
const Group kFiles{"files and sockets", {"fstream", "filesystem", "iostream", "syncstream"}};
/// The standard library's headers have neither a slash nor a dot.
const Group kNotStandard{"headers outside the standard library", {"*.*", "*/*"}};

/// A part of the project. A file belongs to the part with the longest prefix that fits.
struct Part {
  std::string_view name;
  Names prefixes;
  Names may_include;  ///< parts
  std::vector<Group> forbidden;
};

const std::vector<Part>& parts() {
  static const std::vector<Part> all{
      {"protocols", {"protocols/"}, {"protocols"}, {kClocks, kThreads, kRandom, kFiles, kNotStandard}},
      {"bench",
       {"protocols/bench/"},
       {"protocols", "bench"},
       {kSimgrid, kMpi, kCuda, kYaml, kClocks, kThreads, kRandom}},
      {"platform description",
       {"model/diagnostics", "model/node_checks", "model/platform", "model/topology", "model/written", "model/yaml_"},
       {"protocols", "platform description"},
       {kSimgrid, kMpi, kCuda}},
      {"model", {"model/"}, {"protocols", "bench", "platform description", "model"}, {kMpi, kCuda}},
      {"real", {"real/"}, {"protocols", "bench", "platform description", "real"}, {kSimgrid, kYaml}},
      {"validate", {"validate/"}, {"protocols", "bench", "platform description", "validate"}, {kSimgrid, kMpi, kCuda}},
      {"tests", {"tests/"}, {"protocols", "bench", "platform description", "model", "real", "validate", "tests"}, {}}};
  return all;
}

/// Null for a file outside the folders of the project.
const Part* part_of(std::string_view file) {
  const Part* best = nullptr;
  std::size_t best_length = 0;
  for (const Part& part : parts()) {
    for (const std::string_view prefix : part.prefixes) {
      if (prefix.size() <= best_length || !file.starts_with(prefix)) continue;
      best = &part;
      best_length = prefix.size();
    }
  }
  return best;
}

bool matches(std::string_view header, std::string_view pattern) {
  if (pattern.starts_with('*')) {  // "*x*": contains x
    return header.find(pattern.substr(1, pattern.size() - 2)) != std::string_view::npos;
  }
  if (pattern.ends_with('*')) return header.starts_with(pattern.substr(0, pattern.size() - 1));
  return header == pattern;
}

/// What is wrong with including <header> in `part`; empty if nothing is.
std::string fault_of_outside(const Part& part, std::string_view header) {
  for (const Group& group : part.forbidden) {
    const auto hit = [&](std::string_view pattern) { return matches(header, pattern); };
    if (!std::ranges::any_of(group.headers, hit)) continue;
    return std::string(part.name) + " must not include <" + std::string(header) + ">: no " + std::string(group.name);
  }
  return {};
}

/// What is wrong with including "file" in `part`; empty if nothing is.
std::string fault_of_inside(const fs::path& root, const Part& part, const std::string& file) {
  const Part* target = part_of(file);
  if (target == nullptr || !fs::exists(root / file)) {
    return "\"" + file + "\" is no file of the project, named from its root";
  }
  if (std::ranges::find(part.may_include, target->name) != part.may_include.end()) return {};
  return std::string(part.name) + " must not include \"" + file + "\" of " + std::string(target->name);
}

void check_file(const fs::path& root, const std::string& name, const Part& part, std::vector<std::string>& findings) {
  static const std::regex include(R"(^\s*#\s*include\s*(.*))");
  static const std::regex operand(R"(^([<"])([^>"]+)[>"].*)");
  std::ifstream in(root / name);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    std::smatch match;
    if (!std::regex_match(line, match, include)) continue;
    const std::string text = match[1];
    std::string fault = "an include whose file cannot be read off: " + text;
    if (std::regex_match(text, match, operand)) {
      fault = match[1] == "<" ? fault_of_outside(part, match[2].str()) : fault_of_inside(root, part, match[2]);
    }
    if (!fault.empty()) findings.push_back(name + ":" + std::to_string(number) + ": " + fault);
  }
}

bool is_source(const fs::path& file) {
  static constexpr std::array kExtensions{".hpp", ".cpp", ".cu", ".cuh", ".h"};
  return std::ranges::find(kExtensions, file.extension()) != kExtensions.end();
}

}  // namespace

Report check_includes(const fs::path& root) {
  Report report;
  for (const std::string_view folder : {"protocols", "model", "real", "validate", "tests"}) {
    if (!fs::exists(root / folder)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file() || !is_source(entry.path())) continue;
      const std::string name = entry.path().lexically_relative(root).generic_string();
      const Part* part = part_of(name);
      ++report.files[std::string(part->name)];
      check_file(root, name, *part, report.findings);
    }
  }
  std::ranges::sort(report.findings);
  return report;
}

}  // namespace twinlink::layering
