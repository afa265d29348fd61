#include "model/study/watch/round_watch.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <ostream>
#include <set>
#include <unordered_map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace twinlink::model {
namespace {

constexpr std::size_t kMostLines = 10;

}  // namespace

void RoundWatch::watch(SimulationOptions& options, const RoundWishes& wishes) {
  wishes_ = wishes;
  options.link_use = &read_;
  options.on_flow = [this](const FlowRecord& flow) {
    if (begun_ > ended_) flows_.push_back(flow);
  };
  if (!wishes.path) return;
  options.on_block_step = [this](const BlockStep& step) {
    if (begun_ == ended_) return;
    too_many_ = too_many_ || blocks_.size() == kMostOperations;
    if (!too_many_) blocks_.push_back(step);
  };
  options.observer = [this](const OpReport& report) {
    if (begun_ > ended_ && reports_.size() < kMostOperations) {
      reports_.push_back(report);
    } else {
      too_many_ = too_many_ || begun_ > ended_;
      earlier_.count(report);
    }
  };
}

void RoundWatch::round(bool begins, RankId rank, Seconds now) {
  if (begins && begun_++ % ranks_ == 0) {
    before_ = read_();
    flows_.clear();
    for (const OpReport& report : reports_) earlier_.count(report);
    reports_.clear();
    blocks_.clear();
    too_many_ = false;
    start_ = now;
  }
  if (!begins && ++ended_ % ranks_ == 0) {
    after_ = read_();
    end_ = now;
    last_ = rank;
  }
}

RoundFindings RoundWatch::findings() const {
  const Bottlenecks held_by = bottlenecks_of(flows_);
  RoundFindings found{.links = link_shares(before_, after_, flows_, held_by, start_, end_), .too_many = too_many_};
  if (!wishes_.path || too_many_) return found;
  std::map<const SharedLink*, std::string> names;
  for (const LinkUse& link : after_) names.emplace(link.link, link.name);
  std::unordered_map<std::uint64_t, Seconds> ends;
  for (const FlowRecord& flow : flows_) ends.emplace(flow.number, flow.ended);
  const auto link_of = [&](const std::vector<std::uint64_t>& flows) {
    std::string name;
    Seconds last{};
    for (const std::uint64_t flow : flows) {
      const Seconds end = ends[flow];
      if (end < last || (end == last && !name.empty())) continue;
      last = end;
      const auto link = held_by.find(flow);
      name = link == held_by.end() ? std::string() : names[link->second];
    }
    return name;
  };
  found.path = critical_path(reports_, blocks_, earlier_, last_, start_, end_, link_of);
  return found;
}

namespace {

/// Nobody reads thousands of links: those that are alike as one.
void print_levels(const std::vector<LinkLevel>& levels, std::ostream& out) {
  out << fmt::format("# {:>15} {:>8} {:>8} {:>13} {:>6}  {}\n", "bytes of all", "of rate", "busiest", "bottleneck us",
                     "links", "level");
  for (std::size_t i = 0; i < std::min(levels.size(), kMostLines); ++i) {
    const LinkLevel& level = levels[i];
    out << fmt::format("# {:>15.0f} {:>6.1f} % {:>6.1f} % {:>13.3f} {:>6}  {}\n", level.bytes, level.utilisation * 100,
                       level.busiest * 100, level.bottleneck.microseconds(), level.links, level.name);
  }
  if (levels.size() > kMostLines) out << fmt::format("# and {} more\n", levels.size() - kMostLines);
}

}  // namespace

void print_links(const std::vector<LinkShare>& links, std::ostream& out) {
  if (links.empty()) {
    out << "# links: nothing crossed any\n";
    return;
  }
  out << fmt::format("# {:>15} {:>8} {:>13}  {}\n", "bytes", "of rate", "bottleneck us", "link");
  for (std::size_t i = 0; i < std::min(links.size(), kMostLines); ++i) {
    const LinkShare& link = links[i];
    out << fmt::format("# {:>15.0f} {:>6.1f} % {:>13.3f}  {}\n", link.bytes, link.utilisation * 100,
                       link.bottleneck.microseconds(), link.name);
  }
  if (links.size() > kMostLines) {
    out << fmt::format("# and {} more\n", links.size() - kMostLines);
    print_levels(levels_of(links), out);
  }
  out << std::flush;
}

nlohmann::json to_json(const std::vector<LinkShare>& links) {
  nlohmann::json all = nlohmann::json::array();
  for (const LinkShare& link : links) {
    all.push_back({{"link", link.name},
                   {"bytes", link.bytes},
                   {"utilisation", link.utilisation},
                   {"bottleneck_us", link.bottleneck.microseconds()}});
  }
  return all;
}

std::vector<PathKind> kinds_of(const std::vector<PathPart>& path) {
  std::map<std::string, PathKind> by_words;
  for (const PathPart& part : path) {
    std::string what = part.what;
    if (part.size > Bytes{} && !part.verb.empty()) what += fmt::format(", {}", format_size(part.size));
    if (part.phase == PathPart::Phase::before_bytes) {
      what += ", overhead and latency";
    } else if (!part.engine.empty()) {
      what += fmt::format(", by {}", part.engine);
    }
    if (!part.link.empty()) what += fmt::format(", held up by {}", part.link);
    PathKind& kind = by_words[what];
    kind.what = what;
    kind.time += part.time();
    ++kind.parts;
  }
  std::vector<PathKind> kinds;
  for (auto& [what, kind] : by_words) kinds.push_back(std::move(kind));
  std::ranges::stable_sort(kinds, std::greater(), &PathKind::time);
  return kinds;
}

void print_path(const RoundFindings& found, std::ostream& out) {
  if (found.too_many) {
    out << fmt::format("# critical path: not known, for the round has more than {} operations\n",
                       RoundWatch::kMostOperations);
    return;
  }
  const std::vector<PathPart>& path = found.path;
  if (path.empty()) {
    out << "# critical path: none, for nobody did anything\n";
    return;
  }
  std::set<RankId> ranks;
  for (const PathPart& part : path) ranks.insert(part.rank);
  const Seconds all = path.back().ended - path.front().began;
  out << fmt::format("# critical path: {:.3f} us, {} parts on {} rank{}\n", all.microseconds(), path.size(),
                     ranks.size(), ranks.size() == 1 ? "" : "s");
  out << fmt::format("# {:>15} {:>8} {:>8}  {}\n", "us", "of all", "parts", "what");
  const std::vector<PathKind> kinds = kinds_of(path);
  for (std::size_t i = 0; i < std::min(kinds.size(), kMostLines); ++i) {
    out << fmt::format("# {:>15.3f} {:>6.1f} % {:>8}  {}\n", kinds[i].time.microseconds(),
                       kinds[i].time.value() / all.value() * 100, kinds[i].parts, kinds[i].what);
  }
  if (kinds.size() > kMostLines) out << fmt::format("# and {} more\n", kinds.size() - kMostLines);
  out << std::flush;
}

nlohmann::json to_json(const std::vector<PathPart>& path) {
  nlohmann::json all = nlohmann::json::array();
  for (const PathPart& part : path) {
    nlohmann::json line{{"rank", part.rank.value},
                        {"what", part.what},
                        {"began_us", (part.began - path.front().began).microseconds()},
                        {"time_us", part.time().microseconds()}};
    if (!part.verb.empty()) {
      line["verb"] = part.verb;
      line["bytes"] = part.size.count();
    }
    if (part.channel) line["channel"] = *part.channel;
    if (part.peer) line["peer"] = part.peer->value;
    if (!part.engine.empty()) line["engine"] = part.engine;
    if (part.phase != PathPart::Phase::whole) {
      line["phase"] = part.phase == PathPart::Phase::bytes ? "bytes" : "overhead and latency";
    }
    if (!part.link.empty()) line["link"] = part.link;
    all.push_back(std::move(line));
  }
  return all;
}

}  // namespace twinlink::model
