#include "protocols/bench/workload/recorded/chakra_job.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/results/files.hpp"
#include "protocols/bench/workload/recorded/chakra_file.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/workloads/goal/recording.hpp"
#include "protocols/workloads/goal/task_text.hpp"
#include "protocols/workloads/goal/trace.hpp"

namespace twinlink::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using workloads::goal::Labels;
using workloads::goal::RankRecording;
using workloads::goal::Tasks;
using Type = ChakraNode::Type;

constexpr std::string_view kTraceEnd = ".et";
/// Durations are whole microseconds.
constexpr std::uint64_t kNsOfUs = 1000;

/// By CollectiveCommType. Of a scatter the schema does not say whose bytes comm_size counts.
constexpr std::array<std::string_view, 10> kCommTypes{
    "all-reduce", "reduce",     "all-gather",     "gather",         "",
    "broadcast",  "all-to-all", "reduce-scatter", "reduce-scatter", "barrier"};

using RankGroups = std::map<std::string, std::vector<int>>;

/// JSON's {"1": [0, 1]}.
RankGroups groups_in(const fs::path& file) {
  const json all = read_json_file(file);
  RankGroups groups;
  const auto refuse = [&] {
    throw InputError(fmt::format(R"({}: error: no groups of ranks, as {{"1": [0, 1]}})", file.string()));
  };
  if (!all.is_object()) refuse();
  for (const auto& [name, ranks] : all.items()) {
    if (!ranks.is_array()) refuse();
    for (const json& rank : ranks) {
      if (!rank.is_number_unsigned() || rank.get<std::uint64_t>() >= workloads::goal::kMostRanks) refuse();
      groups[name].push_back(rank.get<int>());
    }
  }
  return groups;
}

/// What all ranks share: which group has which number.
struct GroupNumbers {
  std::map<std::pair<std::string, std::vector<int>>, std::uint64_t> numbers{};
  std::vector<std::vector<int>> members{};

  std::uint64_t of(const std::string& name, const std::vector<int>& ranks) {
    const auto [place, is_new] = numbers.try_emplace({name, ranks}, members.size());
    if (is_new) members.push_back(ranks);
    return place->second;
  }
};

struct Counts {
  std::size_t communicates = 0;
  std::size_t computes = 0;
  std::size_t timed = 0;  ///< of those that compute
};

class RankGraph {
 public:
  RankGraph(const fs::path& file, int rank, int ranks, RankGroups groups)
      : file_(file.string()), rank_(rank), ranks_(ranks), groups_(std::move(groups)) {
    read_chakra_file(*open_to_read(file), file_, [this](ChakraNode&& node) {
      const auto [place, is_new] = places_.try_emplace(node.id, nodes_.size());
      if (!is_new) refuse(node, "there is another node of this id");
      nodes_.push_back(std::move(node));
    });
    for (const ChakraNode& node : nodes_) {
      if (node.type == Type::metadata) note_groups(node.inputs);
    }
  }

  std::string text(GroupNumbers& numbers, RankRecording& recording) {
    recording.file = file_;
    for (const std::size_t place : order()) {
      const ChakraNode& node = nodes_[place];
      Labels after;
      for (const std::uint64_t id : node.after) std::ranges::copy(done_[places_.at(id)], std::back_inserter(after));
      std::ranges::sort(after);
      after.erase(std::ranges::unique(after).begin(), after.end());
      done_[place] = task_of(node, after, numbers, recording);
    }
    return tasks_.text();
  }
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  [[noreturn]] void refuse(const ChakraNode& node, const std::string& what) const {
    throw InputError(fmt::format("{}: error: node {} '{}': {}", file_, node.id, node.name, what));
  }

  /// "['[{"pg_name": "1", "ranks": [0, 1]}]']": an empty list is everybody.
  void note_groups(std::string text) {
    constexpr std::string_view kOpens = "['";
    constexpr std::string_view kCloses = "']";
    if (!text.starts_with(kOpens) || !text.ends_with(kCloses) || text.size() < kOpens.size() + kCloses.size()) return;
    text = text.substr(kOpens.size(), text.size() - kOpens.size() - kCloses.size());
    const json all = json::parse(text, nullptr, false);
    if (!all.is_array()) return;
    for (const json& group : all) {
      if (!group.is_object() || !group.contains("pg_name") || !group.at("pg_name").is_string()) continue;
      if (!group.contains("ranks") || !group.at("ranks").is_array()) continue;
      std::vector<int> ranks;
      for (const json& rank : group.at("ranks")) {
        const bool known = rank.is_number_unsigned() && rank.get<std::uint64_t>() < workloads::goal::kMostRanks;
        ranks.push_back(known ? rank.get<int>() : -1);
      }
      if (ranks.empty()) ranks = everybody();
      groups_[group.at("pg_name").get<std::string>()] = std::move(ranks);
    }
  }
  [[nodiscard]] std::vector<int> everybody() const {
    std::vector<int> ranks(static_cast<std::size_t>(ranks_));
    for (std::size_t r = 0; r < ranks.size(); ++r) ranks[r] = static_cast<int>(r);
    return ranks;
  }

  /// In which nodes may begin if nothing takes time.
  std::vector<std::size_t> order() {
    std::vector<std::size_t> open(nodes_.size());
    std::vector<std::vector<std::size_t>> then(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (const std::uint64_t id : nodes_[i].after) {
        const auto found = places_.find(id);
        if (found == places_.end()) refuse(nodes_[i], fmt::format("it waits for node {}, which is not there", id));
        then[found->second].push_back(i);
        ++open[i];
      }
    }
    using Ready = std::pair<std::uint64_t, std::size_t>;
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (open[i] == 0) ready.emplace(nodes_[i].id, i);
    }
    std::vector<std::size_t> all;
    while (!ready.empty()) {
      const std::size_t next = ready.top().second;
      ready.pop();
      all.push_back(next);
      for (const std::size_t each : then[next]) {
        if (--open[each] == 0) ready.emplace(nodes_[each].id, each);
      }
    }
    if (all.size() < nodes_.size()) {
      const auto stuck = std::ranges::find_if(open, [](std::size_t count) { return count > 0; });
      refuse(nodes_[static_cast<std::size_t>(stuck - open.begin())],
             "it waits for itself, or for nodes that wait for each other in a circle");
    }
    done_.resize(nodes_.size());
    return all;
  }

  Labels task_of(const ChakraNode& node, const Labels& after, GroupNumbers& numbers, RankRecording& recording) {
    switch (node.type) {
      case Type::metadata:
        return tasks_.join(after);
      case Type::load:
      case Type::store:
        if (node.duration == 0) refuse(node, "a node of memory without a duration, and how long it takes is not known");
        return computing(node, after);
      case Type::compute:
        if (node.duration == 0 && node.operations.value_or(0) > 0) {
          refuse(node, fmt::format("it has {} operations and no duration: nothing here knows how long a GPU takes for "
                                   "them. Traces of what was executed have durations",
                                   *node.operations));
        }
        return computing(node, after);
      case Type::send:
      case Type::receive:
        return message(node, after);
      case Type::collective:
        // The host's call of what the GPU does then.
        if (node.of_host && !node.collective) return computing(node, after);
        return collective(node, after, numbers, recording);
      case Type::invalid:
        break;
    }
    refuse(node, "INVALID_NODE is nothing that can be played");
  }

  Labels computing(const ChakraNode& node, const Labels& after) {
    if (node.duration > workloads::goal::kLongestCalc / kNsOfUs) refuse(node, "its duration is out of range");
    ++counts_.computes;
    if (node.duration == 0) return tasks_.join(after);
    ++counts_.timed;
    // The first one to come gets cpu 0.
    const auto cpu = cpus_.try_emplace({node.of_host, node.of_host ? node.thread : node.stream}, cpus_.size());
    if (cpu.first->second > workloads::goal::kMostCpu) refuse(node, "so many threads and streams are not played");
    return {tasks_.calc(node.duration * kNsOfUs, cpu.first->second, after)};
  }

  [[nodiscard]] std::uint64_t size_of(const ChakraNode& node) const {
    if (!node.bytes) refuse(node, "it has no 'comm_size'");
    if (*node.bytes > workloads::goal::kLargestMessage.count()) refuse(node, "its 'comm_size' is out of range");
    return *node.bytes;
  }

  Labels message(const ChakraNode& node, const Labels& after) {
    const bool sends = node.type == Type::send;
    const std::optional<std::uint64_t>& peer = sends ? node.destination : node.source;
    const std::optional<std::uint64_t>& self = sends ? node.source : node.destination;
    if (!peer) refuse(node, fmt::format("it has no '{}'", sends ? "comm_dst" : "comm_src"));
    if (*peer >= static_cast<std::uint64_t>(ranks_)) {
      refuse(node, fmt::format("its other end is rank {}: there are files of {} ranks", *peer, ranks_));
    }
    if (self && *self != static_cast<std::uint64_t>(rank_)) refuse(node, "its own end is another rank");
    ++counts_.communicates;
    return {tasks_.message(sends, size_of(node), static_cast<int>(*peer), node.tag.value_or(0), after)};
  }

  Labels collective(const ChakraNode& node, const Labels& after, GroupNumbers& numbers, RankRecording& recording) {
    // proto3 does not write a 0, but that of an attribute: it is one of several kinds.
    if (!node.collective) refuse(node, "it has no 'comm_type'");
    if (*node.collective >= kCommTypes.size() || kCommTypes[*node.collective].empty()) {
      refuse(node, fmt::format("its 'comm_type' {} is none that is played: SCATTER does not say whose bytes it counts",
                               *node.collective));
    }
    if (node.leaves_dimensions_out) {
      refuse(node, "'involved_dim' leaves dimensions out, and which ranks are left then is not in the trace");
    }
    const std::string what(kCommTypes[*node.collective]);
    const std::vector<int> ranks = members_of(node);
    if (ranks.size() == 1) return tasks_.join(after);
    std::uint64_t bytes = what == "barrier" ? workloads::kElement.count() : size_of(node);
    if (what == "all-gather" || what == "gather") {
      bytes *= ranks.size();
      if (bytes > workloads::goal::kLargestMessage.count()) refuse(node, "its 'comm_size' is out of range");
    }
    ++counts_.communicates;
    const auto took =
        static_cast<std::int64_t>(std::min(node.duration, workloads::goal::kLongestCalc / kNsOfUs) * kNsOfUs);
    recording.collectives.push_back(
        {.what = what, .group = node.group, .ranks = ranks, .bytes = bytes, .when = {0, took}});
    return {tasks_.collective(what, bytes, numbers.of(node.group, ranks), after)};
  }

  [[nodiscard]] std::vector<int> members_of(const ChakraNode& node) const {
    const auto known = groups_.find(node.group);
    std::vector<int> ranks;
    if (known != groups_.end()) {
      ranks = known->second;
    } else if (node.group.empty() || node.group == "0") {
      ranks = everybody();
    } else {
      refuse(node, fmt::format("which ranks are of the group '{}' is said nowhere: neither by a node "
                               "'process_group:init', nor by a file of groups",
                               node.group));
    }
    std::ranges::sort(ranks);
    if (std::ranges::adjacent_find(ranks) != ranks.end()) refuse(node, "its group has a rank twice");
    if (ranks.empty() || ranks.front() < 0 || ranks.back() >= ranks_) {
      refuse(node, fmt::format("its group has a rank without a file: there are files of {} ranks", ranks_));
    }
    if (!std::ranges::binary_search(ranks, rank_)) refuse(node, fmt::format("rank {} is not of its group", rank_));
    return ranks;
  }

  std::string file_;
  int rank_;
  int ranks_;
  RankGroups groups_;
  std::vector<ChakraNode> nodes_{};
  std::unordered_map<std::uint64_t, std::size_t> places_{};
  std::vector<Labels> done_{};  ///< by place: who waits for the node waits for these
  std::map<std::pair<bool, std::uint64_t>, std::uint64_t> cpus_{};
  Tasks tasks_{};
  Counts counts_{};
};

/// Of NAME.3.et it is 3.
std::uint64_t rank_in(const fs::path& file) {
  std::string digits = file.stem().extension().string();
  if (!digits.empty()) digits.erase(0, 1);
  std::uint64_t rank = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  if (fault == std::errc{} && end == digits.data() + digits.size()) return rank;
  throw InputError(fmt::format("{}: error: its name does not say whose it is: NAME.RANK.et", file.string()));
}

}  // namespace

bool is_chakra_job(const std::vector<fs::path>& files) {
  return std::ranges::any_of(files, [](const fs::path& file) { return file.extension() == kTraceEnd; });
}

ChakraJob::ChakraJob(const std::vector<fs::path>& files) {
  std::map<std::uint64_t, fs::path> by_rank;
  std::optional<fs::path> groups_file;
  for (const fs::path& file : files) {
    if (file.extension() == ".json" && !groups_file) {
      groups_file = file;
      continue;
    }
    if (file.extension() != kTraceEnd) {
      throw InputError(
          fmt::format("{}: error: beside traces of Chakra there is one .json file at most, of groups", file.string()));
    }
    const auto [place, is_new] = by_rank.try_emplace(rank_in(file), file);
    if (is_new && file.stem().stem() == by_rank.begin()->second.stem().stem()) continue;
    throw InputError(fmt::format("{}: error: {} {}", file.string(),
                                 is_new ? "it is of another job than" : "it is of the same rank as",
                                 (is_new ? by_rank.begin() : place)->second.string()));
  }
  for (std::uint64_t rank = 0; const auto& [number, file] : by_rank) {
    if (number != rank) throw InputError(fmt::format("{}: error: rank {} has no file", file.string(), rank));
    ++rank;
  }
  if (by_rank.size() > workloads::goal::kMostRanks) throw InputError("there are more files than ranks can be");
  const RankGroups groups = groups_file ? groups_in(*groups_file) : RankGroups{};
  GroupNumbers numbers;
  Counts sum;
  std::size_t most_computes = 0;
  std::vector<RankRecording> recordings;
  for (const auto& [number, file] : by_rank) {
    RankGraph graph(file, static_cast<int>(number), static_cast<int>(by_rank.size()), groups);
    ranks_.push_back(graph.text(numbers, recordings.emplace_back()));
    sum.communicates += graph.counts().communicates;
    sum.computes += graph.counts().computes;
    sum.timed += graph.counts().timed;
    most_computes = std::max(most_computes, graph.counts().computes);
  }
  if (sum.computes > 0 && sum.timed == 0) {
    throw InputError(
        fmt::format("{}: error: none of the job's {} computing nodes has a duration: such traces are made "
                    "before execution, and how long a GPU computes is not known here",
                    by_rank.begin()->second.string(), sum.computes));
  }
  workloads::goal::require_same(recordings);
  groups_ = std::move(numbers.members);
  times_ = workloads::goal::recorded_times(recordings);
  notes_.push_back(fmt::format("{} ranks, {} collectives and messages, {} nodes that compute beside them",
                               by_rank.size(), sum.communicates, sum.computes));
  if (most_computes > 0) {
    notes_.push_back(
        fmt::format("durations are whole microseconds: up to {} us of a rank's computing are cut off", most_computes));
  }
}

std::string ChakraJob::text(const std::vector<std::string>& heading) const {
  std::string text;
  for (const std::string& line : heading) text += "// " + line + "\n";
  text += workloads::goal::opening_of(ranks_.size(), groups_);
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    text += "\nrank " + std::to_string(r) + " {\n" + ranks_[r] + "}\n";
  }
  return text;
}

}  // namespace twinlink::bench
