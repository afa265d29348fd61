#include "model/cli/beside_log.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/engine/simulation.hpp"
#include "platforms/tools/placement.hpp"
#include "protocols/core/options.hpp"
#include "protocols/nccl/agreement.hpp"
#include "protocols/nccl/communicator.hpp"
#include "protocols/nccl/nccl.hpp"
#include "protocols/nccl/surroundings.hpp"
#include "protocols/parts/connection.hpp"

namespace twinlink::model {
namespace {

/// What ranks of "nccl" find out before their first collective.
struct Found {
  nccl::Options options{};
  std::optional<nccl::Formation> formation{};
  std::map<std::pair<int, int>, std::string> ways{};
};

void require(const Outcome& outcome) {
  if (!outcome.ok()) throw Error("the ranks have not found each other: " + outcome.reason);
}

void look(MeasuredRank& rank, const Settings& settings, const NcclLog& log, Found& found) {
  nccl::require_release(rank);
  nccl::Options options = nccl::read_options(nccl_protocol(), settings);
  nccl::settle_levels(rank, options);
  const Seconds deadline = rank.now() + settings.timeout;
  const int self = rank.id().value;
  const int ranks = rank.ranks();
  for (const RankId peer : std::set<RankId>{RankId{(self + 1) % ranks}, RankId{(self + ranks - 1) % ranks}}) {
    Epoch numbers;
    require(connect_ends(rank, peer, nccl::kControlTags, deadline, numbers));
  }
  nccl::Agreement all;
  require(nccl::agree(rank, options.geometry, deadline, all));
  const nccl::Formation formation = nccl::look_around(rank, all, options);
  for (const auto& [pair, way] : log.ways) {
    if (pair.first != self || pair.second >= ranks || pair.second == self) continue;
    const nccl::PeerFifos fifos(rank, RankId{pair.second}, options.geometry);
    found.ways[pair] =
        std::string(to_string(fifos.way())) + (fifos.reads_device_memory(gpu::LineFormat::simple) ? "/GDR" : "");
  }
  if (self != 0) return;
  found.options = std::move(options);
  found.formation = formation;
}

std::optional<gpu::Operation> operation_of(const std::string& name) {
  static const std::map<std::string, gpu::Operation> kNames{{"AllReduce", gpu::Operation::all_reduce},
                                                            {"AllGather", gpu::Operation::all_gather},
                                                            {"ReduceScatter", gpu::Operation::reduce_scatter},
                                                            {"Broadcast", gpu::Operation::broadcast},
                                                            {"Reduce", gpu::Operation::reduce}};
  const auto known = kNames.find(name);
  return known == kNames.end() ? std::nullopt : std::optional(known->second);
}

/// Lines of channels or pairs that say the same are one.
class Lines {
 public:
  void add(const std::string& what, const std::string& logged, const std::string& ours) {
    lines_.push_back(logged == ours ? fmt::format("{}: {}, both", what, logged)
                                    : fmt::format("{}: NCCL {}, -p nccl {}", what, logged, ours));
  }
  void collect(const std::string& which, const std::string& logged, const std::string& ours) {
    std::vector<std::string>& names = alike_[{logged, ours}];
    if (names.empty()) order_.emplace_back(logged, ours);
    names.push_back(which);
  }
  void add_collected(const std::string& what) {
    for (const auto& values : order_) {
      const std::vector<std::string>& names = alike_[values];
      const bool run = names.size() > 2;
      add(what + " " +
              (run ? fmt::format("{} and {} more", names.front(), names.size() - 1)
                   : fmt::format("{}", fmt::join(names, " and "))),
          values.first, values.second);
    }
    order_.clear();
    alike_.clear();
  }
  [[nodiscard]] std::vector<std::string> take() && { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> alike_;
  std::vector<std::pair<std::string, std::string>> order_;
};

/// "0 3 1 2", from one rank on as far as `behind` knows it.
std::string ring_text(int first, int ranks, const std::function<std::optional<int>(int)>& behind) {
  std::string text = fmt::to_string(first);
  std::optional<int> at = behind(first);
  for (int count = 1; count < ranks && at && *at != first; ++count) {
    text += fmt::format(" {}", *at);
    at = behind(*at);
  }
  return text;
}

/// As NCCL writes it: "1/-1/-1->0->-1".
std::string tree_text(int rank, LoggedTree tree) {
  std::ranges::sort(tree.below, std::ranges::greater{});
  return fmt::format("{}->{}->{}", fmt::join(tree.below, "/"), rank, tree.above);
}

void add_rings(const NcclLog& log, const nccl::Formation& formation, int ranks, Lines& lines) {
  std::map<int, int> channels;  // and the first rank that is told
  for (const auto& [at, behind] : log.behind) {
    if (at.second < ranks && behind < ranks) channels.try_emplace(at.first, at.second);
  }
  for (const auto& [channel, first] : channels) {
    const auto logged = [&](int rank) -> std::optional<int> {
      const auto found = log.behind.find({channel, rank});
      return found == log.behind.end() || rank >= ranks ? std::nullopt : std::optional(found->second);
    };
    // As far as the log goes.
    const auto ours = [&](int rank) -> std::optional<int> {
      if (!logged(rank)) return std::nullopt;
      return formation.of(rank, channel).position.behind;
    };
    lines.collect(fmt::to_string(channel), ring_text(first, ranks, logged), ring_text(first, ranks, ours));
  }
  lines.add_collected("ring of channel");
}

void add_trees(const NcclLog& log, const nccl::Formation& formation, int ranks, Lines& lines) {
  std::map<int, std::pair<std::string, std::string>> first;  // by channel, of the first rank that differs, or of 0
  for (const auto& [at, tree] : log.trees) {
    if (at.second >= ranks) continue;
    const gpu::ChannelPosition position = formation.of(at.second, at.first).position;
    LoggedTree ours{.above = position.above};
    std::ranges::copy(position.below, ours.below.begin());
    std::pair texts{tree_text(at.second, tree), tree_text(at.second, ours)};
    const auto [found, is_new] = first.try_emplace(at.first, texts);
    if (!is_new && found->second.first == found->second.second) {
      if (texts.first != texts.second) found->second = std::move(texts);
    }
  }
  for (const auto& [channel, texts] : first) lines.collect(fmt::to_string(channel), texts.first, texts.second);
  lines.add_collected("tree of channel");
}

}  // namespace

std::vector<std::string> beside_log(const Platform& platform, const NcclLog& log) {
  const bool says = log.channels > 0 || log.ring || !log.behind.empty() || !log.ways.empty() || !log.choices.empty();
  if (!says) return {};
  const auto all = places_of_ranks(platform, "packed");
  const int ranks = log.ranks > 0 ? log.ranks : static_cast<int>(all.size());
  if (ranks < 2) return {};
  if (ranks > static_cast<int>(all.size())) {
    return {
        fmt::format("not compared: the job has {} ranks, and the platform {} GPUs. --set nodes.count=N with run and "
                    "workload makes it larger",
                    ranks, all.size())};
  }
  Settings settings = nccl_protocol().defaults();
  Lines lines;
  std::vector<std::string> passed_over;
  for (const auto& [name, value] : log.settings) {
    const auto aliases = nccl_protocol().aliases();
    try {
      if (std::ranges::find(aliases, name, &Alias::name) == aliases.end()) throw UsageError(name);
      set_option(nccl_protocol(), settings, name, value);
    } catch (const UsageError&) {
      passed_over.push_back(name + "=" + value);
    }
  }
  Found found;
  const std::vector<Place> places(all.begin(), all.begin() + ranks);
  try {
    simulate(platform, places, [&](MeasuredRank& rank) { look(rank, settings, log, found); });
  } catch (const Error& why) {
    return {std::string("not compared: ") + why.what()};
  }
  const gpu::Ground& ground = found.options.ground;
  if (!passed_over.empty())
    lines.add("settings", fmt::format("{}", fmt::join(passed_over, ", ")), "does not know them");
  if (log.nodes > 0) lines.add("nodes", fmt::to_string(log.nodes), fmt::to_string(ground.nodes));
  if (log.ring) {
    const auto text = [](int channels, double gigabytes, std::string_view level) {
      return fmt::format("{} of {:.4g} GB/s, neighbours {}", channels, gigabytes, level);
    };
    lines.add("ring that is found", text(log.ring->channels, log.ring->gigabytes, log.ring->level),
              text(ground.searched.count, ground.searched.each.bytes_per_second() / 1e9, to_string(ground.within)));
  }
  if (log.channels > 0) lines.add("channels", fmt::to_string(log.channels), fmt::to_string(ground.channels));
  if (log.switch_channels) {
    const bool sums = ground.reduces.open && ground.heads.count > 0;
    lines.add("channels of sums by the switch", fmt::to_string(*log.switch_channels),
              fmt::to_string(sums ? ground.switch_channels : 0));
  }
  add_rings(log, *found.formation, ranks, lines);
  add_trees(log, *found.formation, ranks, lines);
  for (const auto& [pair, way] : log.ways) {
    if (const auto ours = found.ways.find(pair); ours != found.ways.end()) {
      lines.collect(fmt::format("{} to {}", pair.first, pair.second), way, ours->second);
    }
  }
  lines.add_collected("way from rank");
  for (const auto& [what, choice] : log.choices) {
    const auto operation = operation_of(what.first);
    if (!operation) continue;
    // NCCL logs what one rank gives to an all-gather, or gets of a reduce-scatter.
    const bool of_a_rank = *operation == gpu::Operation::all_gather || *operation == gpu::Operation::reduce_scatter;
    const Bytes bytes{what.second * (of_a_rank ? static_cast<std::uint64_t>(ranks) : 1)};
    const gpu::Choice ours = choose(ground, *operation, bytes, ranks, found.options.fixed);
    lines.add(fmt::format("{} of {} B", what.first, what.second), choice,
              fmt::format("{} {}, {} channel{}", to_string(ours.algorithm), to_string(ours.format), ours.channels,
                          ours.channels == 1 ? "" : "s"));
  }
  return std::move(lines).take();
}

}  // namespace twinlink::model
