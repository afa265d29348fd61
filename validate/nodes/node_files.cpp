#include "validate/nodes/node_files.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "protocols/bench/results/output_files.hpp"
#include "protocols/core/errors.hpp"
#include "validate/nodes/dates.hpp"
#include "validate/nodes/file_facts.hpp"

namespace twinlink::validate {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBegun = "begun.txt";  // what validate/node leaves in its folder first

/// The files of one node, before they are read.
struct Found {
  std::string node{};
  std::vector<fs::path> files{};
  std::vector<std::string> remarks{};
  std::vector<std::string> parts{};  ///< files and folders that remarks mention
};

bool may_hold_results(const fs::path& file) {
  static const std::set<std::string> extensions{"", ".json", ".txt", ".out", ".log", ".stdout"};
  return extensions.contains(file.extension().string());
}

std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
  std::error_code failed;
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    entries.push_back(*entry);
  }
  if (failed) throw InputError(fmt::format("{}: error: {}", folder.string(), failed.message()));
  std::ranges::sort(entries, {}, [](const fs::directory_entry& entry) { return entry.path(); });
  return entries;
}

bool is_part(const fs::path& file) { return file.stem().extension() == ".part"; }

class Finder {
 public:
  explicit Finder(fs::path folder) : folder_(std::move(folder)) {}

  std::vector<Found> find() {
    for (const fs::directory_entry& entry : entries_of(folder_)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with('.')) continue;
      if (entry.is_directory()) {
        add_folder(of_node(name), entry.path());
      } else if (entry.is_regular_file() && may_hold_results(entry.path())) {
        of_node(name.substr(0, name.find('.'))).files.push_back(entry.path());
      }
    }
    return std::move(found_);
  }

 private:
  Found& of_node(const std::string& name) {
    auto place = std::ranges::find(found_, name, &Found::node);
    if (place == found_.end()) place = found_.insert(place, {.node = name});
    return *place;
  }

  [[nodiscard]] std::string below(const fs::path& path) const { return path.lexically_relative(folder_).string(); }

  void add_folder(Found& node, const fs::path& folder) const {
    if (fs::exists(folder / kBegun)) return add_run(node, folder);
    for (const fs::directory_entry& entry : entries_of(folder)) {
      if (entry.path().filename().string().starts_with('.')) continue;
      if (entry.is_directory()) {
        add_folder(node, entry.path());
      } else if (entry.is_regular_file() && may_hold_results(entry.path())) {
        add_file(node, entry.path());
      }
    }
  }

  void add_file(Found& node, const fs::path& file) const {
    if (is_part(file)) {
      node.remarks.push_back(fmt::format("{} was not finished: left out", below(file)));
      node.parts.push_back(below(file));
    } else {
      node.files.push_back(file);
    }
  }

  /// Of validate/node what it measured; the rest are predictions, platforms and reports.
  void add_run(Found& node, const fs::path& folder) const {
    const fs::path measured = folder / "measured";
    bool probed = false;
    if (fs::is_directory(measured)) {
      for (const fs::directory_entry& entry : entries_of(measured)) {
        const fs::path& file = entry.path();
        if (!entry.is_regular_file() || file.extension() != ".json") continue;
        add_file(node, file);
        probed = probed || (!is_part(file) && file.stem().string().find("-probes") != std::string::npos);
      }
    }
    if (!probed) {
      node.parts.push_back(below(folder));
      node.remarks.push_back(
          fmt::format("{} was begun by validate/node and has no probes: half a folder", below(folder)));
    }
  }

  fs::path folder_;
  std::vector<Found> found_{};
};

bool holds_host(const NodeFile& file, const std::string& host) {
  return std::ranges::find(file.hosts, host) != file.hosts.end();
}

class NodeReader {
 public:
  NodeReader(const fs::path& folder, const Found& found, const FleetWishes& wishes)
      : folder_(folder), wishes_(wishes), node_{.name = found.node, .remarks = found.remarks} {
    node_.names.insert(found.parts.begin(), found.parts.end());
  }

  FleetNode read(const Found& found) {
    for (const fs::path& file : found.files) {
      node_.names.insert(file.lexically_relative(folder_).string());
      read_file(file);
    }
    keep_one_host();
    name_gpus();
    node_.names.erase("");
    return std::move(node_);
  }

 private:
  void read_file(const fs::path& path) {
    const std::string name = path.lexically_relative(folder_).string();
    try {
      for (const Imported& table : read_tables(path, name, wishes_)) {
        NodeFile file = file_of(table, name);
        if (!file.date.empty() && !day_of(file.date)) {
          node_.remarks.push_back(fmt::format("{} says that it is of {}, which is no date", name, file.date));
          file.date.clear();
        }
        if (file.date.empty()) file.date = date_in(name);
        node_.names.insert(file.hosts.begin(), file.hosts.end());
        for (const NamedGpu& gpu : file.gpus) node_.names.insert(gpu.uuid);
        node_.remarks.insert(node_.remarks.end(), file.notes.begin(), file.notes.end());
        if (file.hosts.size() > 1 && !holds_host(file, node_.name)) {
          node_.remarks.push_back(fmt::format("{} is of {} hosts ({}), and none of them is this node: left out", name,
                                              file.hosts.size(), fmt::join(file.hosts, ", ")));
        } else if (file.curves.empty()) {
          node_.remarks.push_back(name + " holds no time: left out");
        } else {
          node_.files.push_back(std::move(file));
        }
      }
    } catch (const UsageError& error) {
      const std::string why = error.what();
      node_.remarks.push_back(fmt::format("left out: {}", why.substr(0, why.find('\n'))));
    }
  }

  /// Results of different machines do not become one: those of the host that is called as the node, or else of the
  /// first one, stay.
  void keep_one_host() {
    std::string host;
    for (const NodeFile& file : node_.files) {
      if (host.empty() && !file.hosts.empty()) host = file.hosts.front();
      if (holds_host(file, node_.name)) host = node_.name;
    }
    if (host.empty()) return;
    std::erase_if(node_.files, [&](const NodeFile& file) {
      if (file.hosts.empty() || holds_host(file, host)) return false;
      node_.remarks.push_back(fmt::format("{} is of another machine: of host {}, and not of {}; left out", file.file,
                                          file.hosts.front(), host));
      return true;
    });
    if (host != node_.name) node_.remarks.push_back(fmt::format("calls itself '{}'", host));
  }

  void name_gpus() {
    for (const NodeFile& file : node_.files) {
      for (const NamedGpu& gpu : file.gpus) {
        if (file.hosts.size() < 2 || gpu.place.starts_with(kOwnPlaces)) add_gpu(gpu, file);
      }
    }
    std::ranges::sort(node_.gpus, {}, [](const NamedGpu& gpu) { return std::pair(gpu.place.size(), gpu.place); });
  }

  void add_gpu(const NamedGpu& gpu, const NodeFile& file) {
    const auto found = std::ranges::find(node_.gpus, gpu.place, &NamedGpu::place);
    if (found == node_.gpus.end()) {
      node_.gpus.push_back(gpu);
      return;
    }
    if (gpu.bus.size() > found->bus.size()) found->bus = gpu.bus;  // nccl-tests print a part of it
    if (found->uuid.empty()) found->uuid = gpu.uuid;
    if (found->model.empty()) found->model = gpu.model;
    if (gpu.uuid.empty() || gpu.uuid == found->uuid) return;
    node_.remarks.push_back(fmt::format("{} is {} in {}, and {} in others: another GPU, or another order",
                                        "GPU " + gpu.index(), gpu.uuid, file.file, found->uuid));
  }

  const fs::path& folder_;
  const FleetWishes& wishes_;
  FleetNode node_;
};

/// Reads nodes on all CPUs: most of the time goes into JSON.
std::vector<FleetNode> read_all(const fs::path& folder, const std::vector<Found>& found, const FleetWishes& wishes) {
  std::vector<FleetNode> nodes(found.size());
  std::atomic<std::size_t> next = 0;
  const auto read = [&] {
    for (std::size_t i = next++; i < found.size(); i = next++) {
      nodes[i] = NodeReader(folder, found[i], wishes).read(found[i]);
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) threads.emplace_back(read);
  read();
  return nodes;
}

/// GPUs that two nodes claim: one of the two was copied.
void leave_out_copies(FleetFiles& fleet) {
  std::map<std::string, std::string> owners;
  std::map<std::string, std::vector<std::string>> hosts;
  for (FleetNode& node : fleet.nodes) {
    std::string other;
    for (const NamedGpu& gpu : node.gpus) {
      if (gpu.uuid.empty()) continue;
      const auto [place, is_new] = owners.try_emplace(gpu.uuid, node.name);
      if (!is_new) other = place->second;
    }
    if (!other.empty()) {
      node.remarks.push_back(fmt::format("has the same GPUs as {}: one of the two was copied; left out", other));
      node.files.clear();
    }
    std::set<std::string> own;
    for (const NodeFile& file : node.files) own.insert(file.hosts.begin(), file.hosts.end());
    for (const std::string& host : own) hosts[host].push_back(node.name);
  }
  for (const auto& [host, names] : hosts) {
    if (names.size() < 2) continue;
    fleet.remarks.push_back(
        fmt::format("{} nodes say that their host is '{}', {} and {} among them; they are told apart by their folders",
                    names.size(), host, names[0], names[1]));
  }
}

/// Simulated times are no node's.
void keep_one_world(FleetFiles& fleet) {
  std::array<std::size_t, 2> count{};
  for (const FleetNode& node : fleet.nodes) {
    for (const NodeFile& file : node.files) ++count.at(file.simulated ? 1 : 0);
  }
  if (count[0] == 0 || count[1] == 0) return;
  for (FleetNode& node : fleet.nodes) {
    std::erase_if(node.files, [&](const NodeFile& file) {
      if (file.simulated) node.remarks.push_back(file.file + " is simulated, and others are measured: left out");
      return file.simulated;
    });
  }
}

/// "2026-11-26T08:15:00Z", now.
std::string now_text() {
  return fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

}  // namespace

std::string NamedGpu::text() const {
  if (!place.starts_with(kOwnPlaces)) return fmt::format("GPU {} of another node", index());
  std::string known = bus;
  if (!uuid.empty()) known += (known.empty() ? "" : ", ") + uuid;
  return fmt::format("GPU {}{}", index(), known.empty() ? "" : fmt::format(" ({})", known));
}

std::string NodeFile::kind() const { return machine.empty() ? program : fmt::format("{}, {}", program, machine); }

const NamedGpu* FleetNode::gpu_at(const std::string& place) const {
  const auto found = std::ranges::find(gpus, place, &NamedGpu::place);
  return found == gpus.end() ? nullptr : &*found;
}

std::string FleetNode::gpus_at(const std::vector<std::string>& places, bool shortly) const {
  if (places.size() > 2 && places.size() == gpus.size()) return fmt::format("all {} GPUs", places.size());
  std::string text;
  for (const std::string& place : places) {
    const NamedGpu* const known = shortly ? nullptr : gpu_at(place);
    const NamedGpu gpu = known == nullptr ? NamedGpu{.place = place} : *known;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", gpu.text());
  }
  return text;
}

std::string FleetNode::newest() const {
  std::string date;
  for (const NodeFile& file : files) {
    if (!file.to_come) date = std::max(date, file.date);
  }
  return date;
}

void note_dates_to_come(FleetFiles& files, const std::string& now) {
  for (FleetNode& node : files.nodes) {
    for (NodeFile& file : node.files) {
      file.to_come = file.date > now;
      if (!file.to_come) continue;
      node.remarks.push_back(
          fmt::format("{} is of {}, which is still to come: whose clock is wrong?", file.file, file.date));
    }
  }
}

FleetFiles read_fleet(const fs::path& folder, const FleetWishes& wishes) {
  if (!fs::is_directory(folder)) throw InputError(folder.string() + ": error: is no folder");
  const std::vector<Found> found = Finder(folder).find();
  for (const Found& node : found) {
    for (const fs::path& file : node.files) bench::note_input(file);
  }
  FleetFiles fleet{.folder = folder, .nodes = read_all(folder, found, wishes)};
  std::ranges::sort(fleet.nodes, {}, &FleetNode::name);
  leave_out_copies(fleet);
  keep_one_world(fleet);
  note_dates_to_come(fleet, now_text());
  const bool any = std::ranges::any_of(fleet.nodes, [](const FleetNode& node) { return !node.files.empty(); });
  if (!any) {
    std::string why;
    for (const FleetNode& node : fleet.nodes) {
      for (const std::string& remark : node.remarks) why += fmt::format("\n{}: {}", node.name, remark);
    }
    throw InputError(fmt::format("{}: error: holds no result of any node{}", folder.string(), why));
  }
  return fleet;
}

}  // namespace twinlink::validate
