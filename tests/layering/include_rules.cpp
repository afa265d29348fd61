#include "tests/layering/include_rules.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <regex>
#include <set>

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

/// A room: the files of one folder, or those of it whose names begin alike. A file belongs to the room with the longest
/// prefix that fits.
struct Part {
  std::string_view name;
  std::string_view prefix;
  Names may_include;  ///< rooms of the same top folder, besides itself; each stands above it here
  std::vector<Group> forbidden;
};

/// Who may include whom: top folders, whole. `real`, `model` and `validate` are equals.
struct TopFolder {
  std::string_view name;
  Names may_include;
};

const std::vector<TopFolder>& top_folders() {
  static const std::vector<TopFolder> all{{"protocols", {}},
                                          {"platforms", {"protocols"}},
                                          {"model", {"protocols", "platforms"}},
                                          {"real", {"protocols", "platforms"}},
                                          {"validate", {"protocols", "platforms"}},
                                          {"tests", {"protocols", "platforms", "model", "real", "validate"}}};
  return all;
}

const std::vector<Part>& parts() {
  static const std::vector<Group> core{kClocks, kThreads, kRandom, kFiles, kNotStandard};
  static const std::vector<Group> stacks{kSimgrid, kMpi, kCuda, kYaml, kClocks, kThreads, kRandom, kFiles};
  static const std::vector<Group> bench{kSimgrid, kMpi, kCuda, kYaml, kClocks, kThreads, kRandom};
  static const std::vector<Group> machine{kSimgrid, kMpi, kCuda};
  static const std::vector<Group> model{kMpi, kCuda, kYaml};
  static const std::vector<Group> real{kSimgrid, kYaml};
  static const std::vector<Group> validate{kSimgrid, kMpi, kCuda, kYaml};
  static const std::vector<Part> all{
      {"core", "protocols/core/", {}, core},
      {"measured rank", "protocols/core/measured_rank", {"core"}, core},  // what protocols do not see
      {"gpu", "protocols/gpu/", {"core"}, core},
      {"parts", "protocols/parts/", {"core"}, core},
      {"layout", "protocols/layout/", {"core"}, core},
      {"heap", "protocols/heap/", {"core", "parts"}, core},
      {"trace", "protocols/trace/", {"core", "measured rank", "gpu"}, core},
      {"cuda_ipc", "protocols/cuda_ipc/", {"core", "parts"}, core},
      {"gpudirect_v2", "protocols/gpudirect_v2/", {"core", "parts"}, core},
      {"nccl", "protocols/nccl/", {"core", "gpu", "parts"}, core},
      {"puts", "protocols/puts/", {"core", "gpu", "heap", "nccl"}, core},
      {"protocols", "protocols/", {"core", "parts", "cuda_ipc", "gpudirect_v2", "nccl", "puts"}, core},
      {"fibers", "protocols/fibers/", {}, stacks},
      {"workloads", "protocols/workloads/", {"core", "measured rank", "fibers", "heap", "puts", "trace"}, stacks},
      {"arrays", "protocols/workloads/arrays/", {"core", "measured rank", "heap", "trace", "workloads"}, stacks},
      {"goal", "protocols/workloads/goal/", {"core", "trace", "workloads"}, stacks},
      {"results", "protocols/bench/results/", {"core", "layout", "protocols"}, bench},
      {"measure", "protocols/bench/measure/", {"core", "measured rank", "layout", "trace", "results"}, bench},
      {"probe", "protocols/bench/probe/", {"core", "measured rank", "gpu", "results", "measure"}, bench},
      {"bench cli", "protocols/bench/cli/", {"core", "layout", "protocols", "results", "measure", "probe"}, bench},
      {"bench workload",
       "protocols/bench/workload/",
       {"core", "measured rank", "heap", "puts", "protocols", "workloads", "arrays", "goal", "results", "measure",
        "bench cli"},
       bench},
      {"database", "platforms/database/", {}, machine},
      {"yaml", "platforms/yaml/", {}, machine},
      {"machine", "platforms/machine/", {"yaml"}, machine},
      {"topology", "platforms/topology/", {"yaml", "machine"}, machine},
      {"costs", "platforms/costs/", {"yaml", "machine", "topology"}, machine},
      {"reader", "platforms/reader/", {"yaml", "machine", "topology"}, machine},
      {"tools", "platforms/tools/", {"yaml", "machine", "topology", "reader"}, machine},
      {"import topology", "platforms/import/", {"yaml", "machine", "topology", "reader"}, machine},
      {"report", "platforms/report/", {}, bench},
      {"flows", "model/engine/flows/", {}, model},
      {"simulated memory", "model/engine/memory/", {"flows"}, model},
      {"simulated rank", "model/engine/rank/", {"flows", "simulated memory"}, model},
      {"engine", "model/engine/", {"flows", "simulated memory", "simulated rank"}, model},
      {"study", "model/study/", {"flows", "engine"}, model},
      {"model cli", "model/cli/", {"flows", "engine", "study"}, model},
      {"system", "real/system/", {}, real},
      {"device", "real/device/", {"system"}, real},
      {"cuda", "real/device/cuda/", {"device"}, real},
      {"rank", "real/rank/", {"system", "device"}, real},
      {"nccl library", "real/nccl/", {"system", "device", "rank"}, real},
      {"pace", "real/pace/", {"system", "device", "rank"}, real},
      {"discover", "real/discover/", {"system"}, real},
      {"job", "real/job/", {"system", "device", "cuda", "rank", "nccl library", "pace", "discover"}, real},
      {"record", "real/record/", {}, real},
      {"real cli", "real/cli/", {"system", "discover", "job", "record"}, real},
      {"import", "validate/import/", {}, validate},
      {"compare", "validate/compare/", {"import"}, validate},
      {"primitives", "validate/primitives/", {}, validate},
      {"calibrate", "validate/calibrate/", {"compare", "primitives"}, validate},
      {"suspect", "validate/suspect/", {"compare", "primitives", "calibrate"}, validate},
      {"nodes", "validate/nodes/", {"import", "compare", "primitives", "suspect"}, validate},
      {"history", "validate/history/", {"compare", "nodes"}, validate},
      {"validate cli", "validate/cli/", {"import", "compare", "calibrate", "suspect", "nodes", "history"}, validate},
      {"tests", "tests/", {}, {}}};
  return all;
}

/// Null for a file outside the folders of the project.
const Part* part_of(std::string_view file) {
  const Part* best = nullptr;
  std::size_t best_length = 0;
  for (const Part& part : parts()) {
    if (part.prefix.size() <= best_length || !file.starts_with(part.prefix)) continue;
    best = &part;
    best_length = part.prefix.size();
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

std::string_view top_folder(const Part& part) { return part.prefix.substr(0, part.prefix.find('/')); }

/// Does the top folder of `other` lie below that of `part`?
bool is_below(const Part& part, const Part& other) {
  const auto own = std::ranges::find(top_folders(), top_folder(part), &TopFolder::name);
  return std::ranges::find(own->may_include, top_folder(other)) != own->may_include.end();
}

/// What is wrong with including "file" in `part`; empty if nothing is.
std::string fault_of_inside(const fs::path& root, const Part& part, const std::string& file) {
  const Part* target = part_of(file);
  if (target == nullptr || !fs::exists(root / file)) {
    return "\"" + file + "\" is no file of the project, named from its root";
  }
  if (target == &part || is_below(part, *target)) return {};
  if (std::ranges::find(part.may_include, target->name) != part.may_include.end()) return {};
  return std::string(part.name) + " must not include \"" + file + "\" of " + std::string(target->name);
}

/// By folder: the folders that its files include, each with one such file.
using Folders = std::map<std::string, std::map<std::string, std::string>>;

std::string folder_of(const std::string& file) { return fs::path(file).parent_path().generic_string(); }

/// "a -> b -> a" for a circle that `path`, of folders that include each other, leads to; empty if there is none.
std::string circle_from(const Folders& folders, std::vector<std::string>& path, std::set<std::string>& done) {
  const std::string here = path.back();
  const auto includes = folders.find(here);
  if (includes == folders.end() || done.contains(here)) return {};
  for (const auto& [next, by] : includes->second) {
    const auto begin = std::ranges::find(path, next);
    if (begin != path.end()) {
      std::string text;
      for (auto at = begin; at != path.end(); ++at) text += *at + " -> ";
      return text + next;
    }
    path.push_back(next);
    if (std::string circle = circle_from(folders, path, done); !circle.empty()) return circle;
    path.pop_back();
  }
  done.insert(here);
  return {};
}

void check_circles(const Folders& folders, std::vector<std::string>& findings) {
  std::set<std::string> done;
  for (const auto& [folder, includes] : folders) {
    std::vector<std::string> path{folder};
    const std::string circle = circle_from(folders, path, done);
    if (circle.empty()) continue;
    findings.push_back("a circle of folders: " + circle);
    return;
  }
}

void check_file(const fs::path& root, const std::string& name, const Part& part, Folders& folders,
                std::vector<std::string>& findings) {
  static const std::regex include(R"(^\s*#\s*include\s*(.*))");
  static const std::regex operand(R"(^([<"])([^>"]+)[>"].*)");
  static const std::regex over_an_object(R"(^\s*template\s*<.*\bauto\s*[&*].*)");
  std::ifstream in(root / name);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    std::smatch match;
    if (name.ends_with(".hpp") && std::regex_match(line, over_an_object)) {
      findings.push_back(name + ":" + std::to_string(number) +
                         ": a template over an object: g++ 14 makes one symbol of all that have one name");
    }
    if (!std::regex_match(line, match, include)) continue;
    const std::string text = match[1];
    std::string fault = "an include whose file cannot be read off: " + text;
    if (std::regex_match(text, match, operand)) {
      const bool outside = match[1] == "<";
      const std::string operand_text = match[2];
      fault = outside ? fault_of_outside(part, operand_text) : fault_of_inside(root, part, operand_text);
      const std::string folder = folder_of(operand_text);
      if (!outside && folder != folder_of(name)) folders[folder_of(name)].emplace(folder, name);
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
  Folders folders;
  for (const auto& [folder, below] : top_folders()) {
    if (!fs::exists(root / folder)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file() || !is_source(entry.path())) continue;
      const std::string name = entry.path().lexically_relative(root).generic_string();
      const Part* part = part_of(name);
      if (part == nullptr) {
        report.findings.push_back(name + ": the rules know no room for it");
        continue;
      }
      ++report.files[std::string(part->name)];
      check_file(root, name, *part, folders, report.findings);
    }
  }
  check_circles(folders, report.findings);
  std::ranges::sort(report.findings);
  return report;
}

}  // namespace twinlink::layering
