#include "protocols/workloads/goal/recording.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <iterator>
#include <map>
#include <utility>

#include "protocols/core/errors.hpp"
#include "protocols/workloads/goal/task_text.hpp"

namespace twinlink::workloads::goal {
namespace {

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

/// What a stream does, in the order of the launches.
struct Item {
  Span when{};
  std::int64_t stream = 0;
  std::int64_t launched = 0;
  int event_waits = 0;
  const RecordedCollective* collective = nullptr;  ///< null: a kernel
};

std::vector<Item> items_of(const RankRecording& recording) {
  std::vector<Item> items;
  for (const RecordedKernel& each : recording.kernels) {
    items.push_back({each.when, each.stream, each.launched.value_or(each.when.begin), each.event_waits});
  }
  for (const RecordedCollective& each : recording.collectives) {
    items.push_back({each.when, each.stream, each.launched.value_or(each.when.begin), 0, &each});
  }
  // What a clock tells twice of a stream is in the order in which it began.
  std::ranges::stable_sort(items, {}, [](const Item& item) { return std::pair(item.launched, item.when.begin); });
  return items;
}

/// Of a rank of which nobody says when its host launched anything: standstills that end with a collective.
std::vector<Span> standstills_of(const RankRecording& recording) {
  const auto is_launched = [](const auto& each) { return each.launched.has_value(); };
  if (std::ranges::any_of(recording.kernels, is_launched) || std::ranges::any_of(recording.collectives, is_launched)) {
    return {};
  }
  std::vector<Span> kernels;
  std::vector<std::int64_t> ends;
  for (const RecordedKernel& kernel : recording.kernels) {
    kernels.push_back(kernel.when);
    ends.push_back(kernel.when.end);
  }
  std::ranges::sort(kernels, {}, &Span::begin);
  std::ranges::sort(ends);
  for (std::size_t i = 1; i < kernels.size(); ++i) kernels[i].end = std::max(kernels[i].end, kernels[i - 1].end);
  std::vector<Span> waits;
  for (const RecordedCollective& each : recording.collectives) {
    Span wait = each.when;
    // Of those that had begun before, one is not through yet: the GPU computes.
    const auto behind = std::ranges::lower_bound(kernels, wait.end, {}, &Span::begin);
    if (behind != kernels.begin() && std::prev(behind)->end > wait.end) continue;
    const auto later = std::ranges::upper_bound(ends, wait.end);
    if (later != ends.begin()) wait.begin = std::max(wait.begin, *std::prev(later));
    waits.push_back(wait);
  }
  return waits;
}

/// How a collective is written.
struct Form {
  std::uint64_t number = 0;  ///< of its group, or the tag of its messages
  bool in_blocks = false;    ///< an all-to-all of unequal ones, as messages
};
using Forms = std::map<const RecordedCollective*, Form>;

/// A rank's tasks.
class RankWriter {
 public:
  RankWriter(int rank, const RankRecording& recording, const Forms& forms)
      : rank_(rank), forms_(forms), items_(items_of(recording)), waits_(recording.waits) {
    std::ranges::copy(standstills_of(recording), std::back_inserter(waits_));
    std::ranges::sort(waits_, {}, &Span::begin);
    for (const Item& item : items_) {
      if (!streams_.contains(item.stream)) {
        const int cpu = 1 + static_cast<int>(streams_.size());
        streams_[item.stream].cpu = cpu;
      }
      to_gpu_ = std::min(to_gpu_, std::max<std::int64_t>(item.when.begin - item.launched, 0));
    }
    if (!items_.empty()) host_time_ = items_.front().launched + to_gpu_;
  }

  /// When the first launch is on the GPU.
  [[nodiscard]] std::int64_t begin() const { return host_time_; }

  /// The rank begins so long after the first one.
  std::string text(std::int64_t late) {
    if (late > 0) host_ = {calc(late, 0, {})};
    for (std::size_t i = 0; i < items_.size();) {
      const std::size_t behind = next_of(i);
      Item item = items_[i];
      for (std::size_t k = i; k < behind; ++k) item.when.end = std::max(item.when.end, items_[k].when.end);
      launch(item);
      i = behind;
    }
    return tasks_.text();
  }

 private:
  struct Ended {
    Tasks::Label label = 0;
    std::int64_t ended = 0;
  };
  struct Stream {
    int cpu = 0;
    std::vector<Ended> items{};  ///< in the order of the launches

    /// Of what had ended by then what was launched last; null: nothing had.
    [[nodiscard]] const Ended* ended_by(std::int64_t time) const {
      const auto found =
          std::find_if(items.rbegin(), items.rend(), [&](const Ended& item) { return item.ended <= time; });
      return found == items.rend() ? nullptr : &*found;
    }
    [[nodiscard]] std::int64_t busy_until() const {
      std::int64_t end = INT64_MIN;
      // Kernels of a stream that overlap are few.
      constexpr std::size_t kOverlap = 8;
      for (std::size_t i = items.size(); i-- > 0 && i + kOverlap >= items.size();) end = std::max(end, items[i].ended);
      return end;
    }
  };
  /// What begins so much later than it could has waited for something.
  static constexpr std::int64_t kNoticed = 5'000;

  /// Kernels behind each other that had been launched before the one in front ended are one: their launches hold
  /// nothing up, now or later.
  [[nodiscard]] std::size_t next_of(std::size_t i) const {
    std::size_t next = i + 1;
    if (items_[i].collective != nullptr) return next;
    while (next < items_.size() && items_[next].collective == nullptr && items_[next].stream == items_[i].stream &&
           items_[next].launched + to_gpu_ <= items_[next - 1].when.end && items_[next].event_waits == 0 &&
           items_[next].when.begin - items_[next - 1].when.end < kNoticed && !waits_before(items_[next].launched)) {
      ++next;
    }
    return next;
  }
  [[nodiscard]] bool waits_before(std::int64_t launched) const {
    return next_wait_ < waits_.size() && waits_[next_wait_].begin < launched;
  }

  Tasks::Label calc(std::int64_t length, int cpu, const Labels& after) {
    return tasks_.calc(static_cast<std::uint64_t>(length), static_cast<std::uint64_t>(cpu), after);
  }
  /// Until then the host was busy.
  void host_until(std::int64_t time) {
    if (time <= host_time_) return;
    host_ = {calc(time - host_time_, 0, host_)};
    host_time_ = time;
  }
  /// All that had been launched and had ended when the call returned.
  void wait(const Span& when) {
    host_until(when.begin + to_gpu_);
    Labels all = host_;
    for (const auto& [number, stream] : streams_) {
      const Ended* const item = stream.ended_by(when.end);
      if (item == nullptr) continue;
      all.push_back(item->label);
      host_time_ = std::max(host_time_, item->ended);
    }
    std::erase_if(unseen_, [&](const Ended& each) { return each.ended <= when.end; });
    host_ = tasks_.join(all);
  }

  void launch(const Item& item) {
    while (waits_before(item.launched)) wait(waits_[next_wait_++]);
    host_until(item.launched + to_gpu_);
    Stream& own = streams_.at(item.stream);
    Labels after = host_;
    if (!own.items.empty()) after.push_back(own.items.back().label);
    std::int64_t ready = std::max(host_time_, own.busy_until());
    const Ended* held_up_by = nullptr;
    for (const auto& [number, stream] : streams_) {
      const Ended* const other = number == item.stream ? nullptr : stream.ended_by(item.when.begin);
      if (other == nullptr) continue;
      if (item.collective != nullptr) {
        after.push_back(other->label);
        ready = std::max(ready, other->ended);
      } else if (other->ended > ready && (held_up_by == nullptr || other->ended > held_up_by->ended)) {
        held_up_by = other;
      }
    }
    for (int i = 0; i < item.event_waits && !unseen_.empty() && unseen_.front().ended <= item.when.begin; ++i) {
      after.push_back(unseen_.front().label);
      ready = std::max(ready, unseen_.front().ended);
      unseen_.pop_front();
    }
    if (held_up_by != nullptr && item.when.begin - ready > kNoticed) {
      after.push_back(held_up_by->label);
      ready = std::max(ready, held_up_by->ended);
      std::erase_if(unseen_, [&](const Ended& each) { return each.label == held_up_by->label; });
    }
    std::ranges::sort(after);
    after.erase(std::unique(after.begin(), after.end()), after.end());
    Tasks::Label label = 0;
    if (item.collective == nullptr) {
      label = calc(std::max<std::int64_t>(item.when.end - ready, 0), own.cpu, after);
    } else {
      if (item.when.begin > ready) after = {calc(item.when.begin - ready, own.cpu, after)};
      label = collective(*item.collective, after);
      unseen_.push_back({label, item.when.end});
    }
    own.items.push_back({label, item.when.end});
  }

  Tasks::Label collective(const RecordedCollective& all, const Labels& after) {
    const auto [number, in_blocks] = forms_.at(&all);
    if (is_message(all)) return tasks_.message(all.what == "send", all.bytes, all.ranks[0], number, after);
    if (in_blocks) {
      Labels tasks = after;
      for (std::size_t i = 0; i < all.ranks.size(); ++i) {
        if (all.ranks[i] == rank_) continue;
        if (all.to[i] > 0) tasks.push_back(tasks_.message(true, all.to[i], all.ranks[i], number, after));
        if (all.from[i] > 0) tasks.push_back(tasks_.message(false, all.from[i], all.ranks[i], number, after));
      }
      return tasks_.add("calc 0", tasks);
    }
    return tasks_.collective(all.what, all.bytes, number, after);
  }

  int rank_;
  const Forms& forms_;
  std::vector<Item> items_;
  std::vector<Span> waits_;
  std::size_t next_wait_ = 0;
  std::map<std::int64_t, Stream> streams_{};
  std::deque<Ended> unseen_{};       ///< collectives that no stream has waited for
  std::int64_t to_gpu_ = INT64_MAX;  ///< from a launch to the GPU, at least
  Tasks tasks_{};
  Labels host_{};
  std::int64_t host_time_ = 0;  ///< until then, as the GPU sees it
};

/// The collectives of a group as its members have them, in the order in which they began.
using Group = std::map<int, std::vector<const RecordedCollective*>>;
using Groups = std::map<std::pair<std::string, std::vector<int>>, Group>;

/// What a rank calls the group that others call by another name: of one name is one group.
std::string other_name_of(const RankRecording& rank, const RecordedCollective& of_others) {
  const auto found = std::ranges::find_if(rank.collectives, [&](const RecordedCollective& each) {
    return each.ranks == of_others.ranks && each.group != of_others.group;
  });
  if (found == rank.collectives.end()) return {};
  return ", where its name is '" + of_others.group + "'; this rank calls a group of the same ranks '" + found->group +
         "', and a group has one name on all of them";
}

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
                       ", and in " + file_of_first + " " + std::to_string(theirs.size()) +
                       (count == 0 ? other_name_of(ranks[static_cast<std::size_t>(rank)], *theirs.front()) : ""));
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

bool has_unequal_blocks(const Group& group, std::size_t collective) {
  const std::vector<std::uint64_t>& first = group.begin()->second[collective]->to;
  if (first.empty()) return false;
  return std::ranges::any_of(group, [&](const auto& member) {
    return std::ranges::any_of(member.second[collective]->to, [&](std::uint64_t bytes) { return bytes != first[0]; });
  });
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

/// How far each clock is ahead of another one that it can be compared with: members of a group are through with a
/// collective at the same time, in the middle. Ranks that share no group, not even by others, begin together.
class Clocks {
 public:
  explicit Clocks(std::size_t ranks) : ahead_(ranks, 0), of_(ranks) {
    for (std::size_t r = 0; r < ranks; ++r) of_[r] = r;
  }
  void compare(const Group& group) {
    const auto& [first, theirs] = *group.begin();
    for (const auto& [rank, mine] : group) {
      const auto [a, b] = std::pair(static_cast<std::size_t>(first), static_cast<std::size_t>(rank));
      if (of_[a] == of_[b] || mine.empty()) continue;
      std::vector<std::int64_t> apart;
      for (std::size_t i = 0; i < mine.size(); ++i) apart.push_back(mine[i]->when.end - theirs[i]->when.end);
      const auto middle = apart.begin() + static_cast<std::ptrdiff_t>(apart.size() / 2);
      std::ranges::nth_element(apart, middle);
      const std::int64_t shift = ahead_[a] + *middle - ahead_[b];
      const std::size_t joined = of_[b];
      for (std::size_t r = 0; r < of_.size(); ++r) {
        if (of_[r] != joined) continue;
        of_[r] = of_[a];
        ahead_[r] += shift;
      }
    }
  }
  /// How late each begins behind the first of those that it can be compared with, ns.
  [[nodiscard]] std::vector<std::int64_t> late(std::vector<std::int64_t> begins) const {
    std::map<std::size_t, std::int64_t> first;
    for (std::size_t r = 0; r < begins.size(); ++r) {
      begins[r] -= ahead_[r];
      const auto [place, is_new] = first.try_emplace(of_[r], begins[r]);
      if (!is_new) place->second = std::min(place->second, begins[r]);
    }
    for (std::size_t r = 0; r < begins.size(); ++r) begins[r] -= first.at(of_[r]);
    return begins;
  }

 private:
  std::vector<std::int64_t> ahead_;
  std::vector<std::size_t> of_;  ///< ranks that are compared have the same number
};

}  // namespace

bool is_recordable(std::string_view what) { return std::ranges::find(kCollectives, what) != kCollectives.end(); }

std::vector<std::string> recorded_times(const std::vector<RankRecording>& ranks) {
  struct Sum {
    std::int64_t time = 0;
    std::int64_t calls = 0;  ///< of all members
    std::size_t members = 0;
  };
  std::map<std::string, Sum> sums;
  for (const RankRecording& rank : ranks) {
    for (const RecordedCollective& each : rank.collectives) {
      if (is_message(each)) continue;
      std::vector<int> members = each.ranks;
      std::ranges::sort(members);
      Sum& sum = sums[name_of(each.what, members)];
      sum.time += each.when.end - each.when.begin;
      sum.members = members.size();
      ++sum.calls;
    }
  }
  std::vector<std::string> lines;
  for (const auto& [name, sum] : sums) {
    // A nanosecond is the time of what does not say its time.
    if (sum.time <= sum.calls) continue;
    const auto ns = sum.time / static_cast<std::int64_t>(sum.members);
    lines.push_back(std::string(kRecordedTime) + std::to_string(ns) + " ns of " + name);
  }
  return lines;
}

void require_same(const std::vector<RankRecording>& ranks) {
  Groups groups;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (const RecordedCollective& each : ranks[r].collectives) {
      groups[{each.group, each.ranks}][static_cast<int>(r)].push_back(&each);
    }
  }
  for (const auto& [key, group] : groups) require_same(ranks, group);
}

std::string goal_text(std::vector<RankRecording> ranks, const std::vector<std::string>& heading) {
  Groups groups;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const auto launched = [](const RecordedCollective& c) { return c.launched.value_or(c.when.begin); };
    std::ranges::stable_sort(ranks[r].collectives, {}, launched);
    for (const RecordedCollective& each : ranks[r].collectives) {
      for (const int rank : each.ranks) {
        if (rank < 0 || static_cast<std::size_t>(rank) >= ranks.size()) {
          refuse(ranks[r].file, name_of(each) + ": there are files of " + std::to_string(ranks.size()) + " ranks");
        }
      }
      if (is_message(each)) continue;
      if (std::ranges::find(each.ranks, static_cast<int>(r)) == each.ranks.end()) {
        refuse(ranks[r].file, name_of(each) + ": this rank is not of the group");
      }
      groups[{each.group, each.ranks}][static_cast<int>(r)].push_back(&each);
    }
  }
  Forms forms;
  std::vector<std::vector<int>> members;  // of each group: those with the same ranks are different ones
  std::uint64_t tag = 0;                  // that of messages
  Clocks clocks(ranks.size());
  for (const auto& [key, group] : groups) {
    require_same(ranks, group);
    require_same_blocks(ranks, group);
    clocks.compare(group);
    std::vector<int> ascending = key.second;
    std::ranges::sort(ascending);
    const std::uint64_t place = members.size();
    members.push_back(std::move(ascending));
    for (std::size_t i = 0; i < group.begin()->second.size(); ++i) {
      const bool in_blocks = has_unequal_blocks(group, i);
      if (in_blocks) ++tag;
      for (const auto& [rank, all] : group) forms[all[i]] = {in_blocks ? tag : place, in_blocks};
    }
  }
  for (const RankRecording& rank : ranks) {
    for (const RecordedCollective& each : rank.collectives) {
      if (is_message(each)) forms[&each] = {};
    }
  }
  require_pairs(ranks);
  std::string text;
  for (const std::string& line : heading) text += "// " + line + "\n";
  text += opening_of(ranks.size(), members);
  std::vector<RankWriter> writers;
  std::vector<std::int64_t> begins;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    writers.emplace_back(static_cast<int>(r), ranks[r], forms);
    begins.push_back(writers.back().begin());
  }
  const std::vector<std::int64_t> late = clocks.late(begins);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    text += "\nrank " + std::to_string(r) + " {\n" + writers[r].text(late[r]) + "}\n";
  }
  return text;
}

}  // namespace twinlink::workloads::goal
