#include "protocols/workloads/goal/recording.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "protocols/core/errors.hpp"

namespace twinlink::workloads::goal {
namespace {

constexpr std::array<std::string_view, 9> kCollectives{
    "all-reduce", "all-gather", "reduce-scatter", "broadcast", "reduce", "gather", "scatter", "all-to-all", "barrier"};

bool is_message(const RecordedCollective& collective) { return collective.what == "send" || collective.what == "recv"; }

[[noreturn]] void refuse(const std::string& file, const std::string& what) {
  throw InputError(file + ": error: " + what);
}

std::string name_of(const RecordedCollective& collective) {
  std::string ranks;
  constexpr std::size_t kShown = 8;
  for (std::size_t i = 0; i < std::min(collective.ranks.size(), kShown); ++i) {
    ranks += (i == 0 ? "" : ", ") + std::to_string(collective.ranks[i]);
  }
  if (collective.ranks.size() > kShown) ranks += ", ...";
  return collective.what + " of " + std::to_string(collective.bytes) + " bytes among ranks " + ranks;
}

/// The tasks of one rank, as text.
class Tasks {
 public:
  using Label = std::size_t;

  Label add(const std::string& task, const std::vector<Label>& after) {
    const Label label = ++last_;
    text_ += "  t" + std::to_string(label) + ": " + task + "\n";
    for (const Label each : after) {
      text_ += "  t" + std::to_string(label) + " requires t" + std::to_string(each) + "\n";
    }
    return label;
  }
  /// One task that has all of these before it; none for none.
  std::vector<Label> join(const std::vector<Label>& all) {
    if (all.size() < 2) return all;
    return {add("calc 0", all)};
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_{};
  Label last_ = 0;
};

using Labels = std::vector<Tasks::Label>;

/// Spans that overlap become one.
std::vector<Span> merged(std::vector<Span> spans) {
  std::ranges::sort(spans, {}, &Span::begin);
  std::vector<Span> all;
  for (const Span& span : spans) {
    if (!all.empty() && span.begin <= all.back().end) {
      all.back().end = std::max(all.back().end, span.end);
    } else {
      all.push_back(span);
    }
  }
  return all;
}

/// A rank's tasks, in the order of its clock.
class RankWriter {
 public:
  RankWriter(int rank, const RankRecording& recording, const Algorithms& algorithms,
             const std::vector<std::uint64_t>& tags)
      : rank_(rank),
        recording_(recording),
        algorithms_(algorithms),
        tags_(tags),
        busy_(merged(recording.computes)),
        ends_(recording.collectives.size()) {}

  std::string text() {
    struct Moment {
      std::int64_t time;
      bool begins;  ///< ends come first
      std::size_t collective;
    };
    std::vector<Moment> moments;
    for (std::size_t i = 0; i < recording_.collectives.size(); ++i) {
      moments.push_back({recording_.collectives[i].when.begin, true, i});
      moments.push_back({recording_.collectives[i].when.end, false, i});
    }
    std::ranges::stable_sort(moments, [](const Moment& a, const Moment& b) {
      return std::pair(a.time, a.begins) < std::pair(b.time, b.begins);
    });
    now_ = busy_.empty() ? INT64_MAX : busy_.front().begin;
    if (!moments.empty()) now_ = std::min(now_, moments.front().time);
    for (const Moment& moment : moments) moment.begins ? begin(moment.collective) : end(moment.collective);
    if (!busy_.empty()) compute_until(busy_.back().end);
    return tasks_.text();
  }

 private:
  /// What passes until then is the rank's own time, whether something ran or not.
  void compute_until(std::int64_t time) {
    if (time <= now_) return;
    done_ = {tasks_.add("calc " + std::to_string(time - now_), done_)};
    now_ = time;
  }

  void begin(std::size_t number) {
    const RecordedCollective& collective = recording_.collectives[number];
    compute_until(collective.when.begin);
    Labels after = done_;
    Labels& before = streams_[collective.stream];
    after.insert(after.end(), before.begin(), before.end());
    std::ranges::sort(after);
    after.erase(std::unique(after.begin(), after.end()), after.end());
    ends_[number] = messages(collective, tags_[number], tasks_.join(after));
    before = ends_[number];
  }

  void end(std::size_t number) {
    const std::int64_t time = recording_.collectives[number].when.end;
    const auto next = std::ranges::lower_bound(busy_, time, {}, &Span::begin);  // what begins with the end waits for it
    if (next != busy_.begin()) {
      const Span& last = *std::prev(next);
      if (last.begin < time && time < last.end) return;  // it computes
      compute_until(std::min(last.end, time));
    }
    Labels all = done_;
    all.insert(all.end(), ends_[number].begin(), ends_[number].end());
    done_ = tasks_.join(all);
    now_ = std::max(now_, time);
  }

  Labels messages(const RecordedCollective& collective, std::uint64_t tag, Labels after) {
    if (is_message(collective))
      return {message(collective.what == "send", collective.bytes, collective.ranks[0], tag, after)};
    if (!collective.to.empty()) return blocks(collective, tag, after);
    const Algorithm& algorithm = *algorithms_.find(collective.what)->second;
    const Shape shape{.ranks = static_cast<int>(collective.ranks.size())};
    const auto self = static_cast<int>(std::ranges::find(collective.ranks, rank_) - collective.ranks.begin());
    // Elements are bytes here, for what is not there needs no numbers.
    for (const Step& step : algorithm.schedule(shape, self, collective.bytes).steps) {
      Labels tasks;
      for (const Transfer& transfer : step.transfers) {
        const int peer = collective.ranks[static_cast<std::size_t>(transfer.peer)];
        if (transfer.send.length > 0) tasks.push_back(message(true, transfer.send.length, peer, tag, after));
        if (transfer.receive.length > 0) tasks.push_back(message(false, transfer.receive.length, peer, tag, after));
      }
      if (!tasks.empty()) after = tasks_.join(tasks);
    }
    return after;
  }
  Labels blocks(const RecordedCollective& collective, std::uint64_t tag, const Labels& after) {
    Labels tasks;
    for (std::size_t i = 0; i < collective.ranks.size(); ++i) {
      if (collective.ranks[i] == rank_) continue;
      if (collective.to[i] > 0) tasks.push_back(message(true, collective.to[i], collective.ranks[i], tag, after));
      if (collective.from[i] > 0) tasks.push_back(message(false, collective.from[i], collective.ranks[i], tag, after));
    }
    return tasks.empty() ? after : tasks_.join(tasks);
  }
  Tasks::Label message(bool sends, std::uint64_t bytes, int peer, std::uint64_t tag, const Labels& after) {
    return tasks_.add((sends ? "send " : "recv ") + std::to_string(bytes) + (sends ? "b to " : "b from ") +
                          std::to_string(peer) + " tag " + std::to_string(tag),
                      after);
  }

  int rank_;
  const RankRecording& recording_;
  const Algorithms& algorithms_;
  const std::vector<std::uint64_t>& tags_;
  std::vector<Span> busy_;
  std::vector<Labels> ends_;
  std::map<std::int64_t, Labels> streams_{};
  Tasks tasks_{};
  Labels done_{};         ///< what the rank itself has done
  std::int64_t now_ = 0;  ///< until then
};

/// The collectives of a group as its members have them, in the order in which they began.
using Group = std::map<int, std::vector<const RecordedCollective*>>;
using Groups = std::map<std::pair<std::string, std::vector<int>>, Group>;

/// Members of a group have the same collectives.
void require_same(const std::vector<RankRecording>& ranks, const Group& group) {
  const auto& [first, theirs] = *group.begin();
  const std::string& file_of_first = ranks[static_cast<std::size_t>(first)].file;
  for (const int rank : theirs.front()->ranks) {
    const std::string& file = ranks[static_cast<std::size_t>(rank)].file;
    const auto found = group.find(rank);
    const std::size_t count = found == group.end() ? 0 : found->second.size();
    for (std::size_t i = 0; i < std::min(count, theirs.size()); ++i) {
      const RecordedCollective& mine = *found->second[i];
      const RecordedCollective& other = *theirs[i];
      if (mine.what != other.what || (mine.to.empty() && other.to.empty() && mine.bytes != other.bytes)) {
        refuse(file, "the " + std::to_string(i + 1) + ". collective of its group is " + name_of(mine) + ", and in " +
                         file_of_first + " " + name_of(other));
      }
      if (mine.to.empty() != other.to.empty()) {
        refuse(file, name_of(mine) + " says its blocks at some ranks only");
      }
    }
    if (count != theirs.size()) {
      refuse(file, "there are " + std::to_string(count) + " collectives of the group of " + name_of(*theirs.front()) +
                       ", and in " + file_of_first + " " + std::to_string(theirs.size()));
    }
  }
}

/// Blocks have the same lengths at both ends.
void require_same_blocks(const std::vector<RankRecording>& ranks, const Group& group) {
  for (const auto& [rank, mine] : group) {
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const std::vector<int>& members = mine[i]->ranks;
      for (std::size_t peer = 0; peer < mine[i]->to.size(); ++peer) {
        const auto self = static_cast<std::size_t>(std::ranges::find(members, rank) - members.begin());
        const std::uint64_t received = group.at(members[peer])[i]->from[self];
        if (received == mine[i]->to[peer]) continue;
        refuse(ranks[static_cast<std::size_t>(rank)].file, "an all-to-all sends " + std::to_string(mine[i]->to[peer]) +
                                                               " bytes to rank " + std::to_string(members[peer]) +
                                                               ", which receives " + std::to_string(received));
      }
    }
  }
}

/// Messages of a pair find each other in order.
void require_pairs(const std::vector<RankRecording>& ranks) {
  std::map<std::pair<int, int>, std::array<std::vector<std::uint64_t>, 2>> pairs;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const auto rank = static_cast<int>(r);
    for (const RecordedCollective& each : ranks[r].collectives) {
      if (!is_message(each)) continue;
      const bool sends = each.what == "send";
      const std::pair<int, int> ends = sends ? std::pair(rank, each.ranks[0]) : std::pair(each.ranks[0], rank);
      pairs[ends][sends ? 0 : 1].push_back(each.bytes);
    }
  }
  for (const auto& [ends, bytes] : pairs) {
    if (bytes[0] == bytes[1]) continue;
    refuse(ranks[static_cast<std::size_t>(ends.first)].file,
           "rank " + std::to_string(ends.first) + " sends " + std::to_string(bytes[0].size()) + " messages to rank " +
               std::to_string(ends.second) + ", which receives " + std::to_string(bytes[1].size()) +
               (bytes[0].size() == bytes[1].size() ? " of other lengths" : ""));
  }
}

Algorithms with_defaults(Algorithms algorithms) {
  for (const std::string_view what : kCollectives) {
    const auto& all = find_workload(what).algorithms;
    // Rings, as libraries take for large messages; what goes from each to each goes at once.
    const Algorithm* chosen = &all.front();
    for (const Algorithm& algorithm : all) {
      if (algorithm.name == "direct" || (algorithm.name == "ring" && what != "reduce")) chosen = &algorithm;
    }
    algorithms.try_emplace(std::string(what), chosen);
  }
  return algorithms;
}

}  // namespace

bool is_recordable(std::string_view what) { return std::ranges::find(kCollectives, what) != kCollectives.end(); }

std::string goal_text(const std::vector<RankRecording>& ranks, const Algorithms& algorithms,
                      const std::vector<std::string>& heading) {
  Groups groups;
  std::vector<RankRecording> sorted = ranks;
  for (std::size_t r = 0; r < sorted.size(); ++r) {
    std::ranges::stable_sort(sorted[r].collectives, {}, [](const RecordedCollective& c) { return c.when.begin; });
    for (const RecordedCollective& each : sorted[r].collectives) {
      for (const int rank : each.ranks) {
        if (rank < 0 || static_cast<std::size_t>(rank) >= sorted.size()) {
          refuse(sorted[r].file, name_of(each) + ": there are files of " + std::to_string(sorted.size()) + " ranks");
        }
      }
      if (is_message(each)) continue;
      if (std::ranges::find(each.ranks, static_cast<int>(r)) == each.ranks.end()) {
        refuse(sorted[r].file, name_of(each) + ": this rank is not of the group");
      }
      groups[{each.group, each.ranks}][static_cast<int>(r)].push_back(&each);
    }
  }
  std::map<const RecordedCollective*, std::uint64_t> tags;
  std::uint64_t first = 1;  // 0 is that of messages
  for (const auto& [key, group] : groups) {
    require_same(sorted, group);
    require_same_blocks(sorted, group);
    for (const auto& [rank, all] : group) {
      for (std::size_t i = 0; i < all.size(); ++i) tags[all[i]] = first + i;
    }
    first += group.begin()->second.size();
  }
  require_pairs(sorted);
  const Algorithms chosen = with_defaults(algorithms);
  std::string text;
  for (const std::string& line : heading) text += "// " + line + "\n";
  text += "num_ranks " + std::to_string(sorted.size()) + "\n";
  for (std::size_t r = 0; r < sorted.size(); ++r) {
    std::vector<std::uint64_t> of_rank;
    for (const RecordedCollective& each : sorted[r].collectives) of_rank.push_back(is_message(each) ? 0 : tags[&each]);
    text += "\nrank " + std::to_string(r) + " {\n" +
            RankWriter(static_cast<int>(r), sorted[r], chosen, of_rank).text() + "}\n";
  }
  return text;
}

}  // namespace twinlink::workloads::goal
