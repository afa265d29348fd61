#include "model/study/watch/critical_path.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "protocols/trace/op_report.hpp"

namespace twinlink::model {
namespace {

/// Rounding error of times that are sums of others.
constexpr Seconds kRounding{1e-12};
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

class Search {
 public:
  Search(const std::vector<OpReport>& reports, const std::vector<BlockStep>& blocks, const EarlierExchanges& earlier,
         Seconds begin, const LinkOf& link_of)
      : reports_(reports), blocks_(blocks), begin_(begin), link_of_(link_of), seen_(reports.size()) {
    for (const Exchange& exchange : exchanges_of(reports, earlier)) {
      sent_.emplace(exchange.taken, exchange.sent);
      taken_.emplace(exchange.sent, exchange.taken);
    }
    for (std::size_t i = 0; i < reports.size(); ++i) {
      if (reports[i].launch != 0) launches_.emplace(reports[i].launch, i);
      if (reports[i].woke) by_end_[reports[i].rank].push_back(i);
      if (reports[i].stream || reports[i].verb == "send") queues_[queue_of(reports[i])].push_back(i);
    }
    for (auto& [rank, all] : by_end_)
      std::ranges::stable_sort(all, {}, [&](std::size_t i) { return reports[i].ended; });
    for (auto& [key, queue] : queues_) {
      std::ranges::stable_sort(queue, {}, [&](std::size_t i) { return flow_began(reports[i]); });
      for (std::size_t i = 1; i < queue.size(); ++i) before_[queue[i]] = queue[i - 1];
    }
  }

  std::vector<PathPart> run(RankId rank, Seconds end) {
    rank_ = rank;
    now_ = end;
    std::size_t next = kNone;
    while (now_ > begin_ + kRounding) {
      if (next == kNone) next = woke_last();
      if (next == kNone) break;
      const OpReport& report = reports_[next];
      if (now_ > report.ended + kRounding) own_work_since(report.ended);
      next = go_back(next);
    }
    own_work_since(begin_);
    std::ranges::reverse(path_);
    return std::move(path_);
  }

 private:
  using Queue = std::tuple<RankId, bool, int>;  ///< a stream by its number, or a wire by its receiver
  static Queue queue_of(const OpReport& report) {
    return report.stream ? Queue{report.rank, true, *report.stream}
                         : Queue{report.rank, false, report.peer.value_or(RankId{-1}).value};
  }
  static Seconds flow_began(const OpReport& report) { return report.ended - report.flow; }

  /// The operation, not seen before, that ended last of those that the present rank waited for until now.
  std::size_t woke_last() {
    const std::vector<std::size_t>& all = by_end_[rank_];
    auto after = std::ranges::upper_bound(all, now_ + kRounding, {}, [&](std::size_t i) { return reports_[i].ended; });
    while (after != all.begin()) {
      if (!seen_[*--after]) return *after;
    }
    return kNone;
  }

  void own_work_since(Seconds time) {
    time = std::max(time, begin_);
    if (now_ <= time) return;
    path_.push_back({.rank = rank_, .what = "CPU", .began = time, .ended = now_});
    now_ = time;
  }

  void add(const OpReport& report, Seconds since) {
    using enum PathPart::Phase;
    if (report.flows.empty() && report.launch == 0) return push(report, whole, since);
    if (report.blocks == 0) push(report, bytes, std::max(since, flow_began(report)));  // else blocks have told
    push(report, before_bytes, since);
  }

  void push(const OpReport& report, PathPart::Phase phase, Seconds since) {
    since = std::max(since, begin_);
    if (now_ <= since + kRounding) return;
    PathPart part{.rank = report.rank,
                  .what = words_of(report),
                  .verb = report.verb,
                  .size = report.size,
                  .peer = report.peer,
                  .engine = report.engine,
                  .phase = phase,
                  .began = since,
                  .ended = now_};
    if (phase == PathPart::Phase::bytes) part.link = link_of_(report.flows);
    path_.push_back(std::move(part));
    now_ = since;
  }

  /// Where its rank, whichever it is, started it.
  std::size_t to_start_of(const OpReport& report, Seconds since) {
    add(report, since);
    rank_ = report.rank;
    return kNone;
  }

  /// Adds what ended with operation `i`. What to go on with: an operation, or the present rank's code.
  std::size_t go_back(std::size_t i) {
    seen_[i] = true;
    const OpReport& report = reports_[i];
    if (report.blocks != 0 && report.launch == 0) return through_blocks(report.blocks);
    const bool takes = report.verb == "receive" || takes_control(report);
    if (!takes) return through_queue(i);
    const auto sent = sent_.find(i);
    const bool waited = report.ended > report.started + report.overhead + kRounding;
    if (!waited || sent == sent_.end()) return to_start_of(report, report.started);
    const OpReport& source = reports_[sent->second];
    if (report.verb == "receive") return through_queue(sent->second);
    if (source.verb == "send_control") {
      seen_[sent->second] = true;
      return to_start_of(source, source.started);
    }
    add(report, source.ended);  // a signal on its way
    return through_queue(sent->second);
  }

  /// Back to the launch, or to the CPU, that the step `number` goes back to.
  std::size_t through_blocks(std::uint64_t number) {
    for (const BlockStep* step = step_of(number); step != nullptr; step = step_of(step->before)) {
      push(*step);
      rank_ = step->rank;
      if (now_ <= begin_ + kRounding) return kNone;
      if (step->before != 0 || step->launch == 0) continue;
      const auto launch = launches_.find(step->launch);
      return launch == launches_.end() ? kNone : through_queue(launch->second);
    }
    return kNone;
  }
  [[nodiscard]] const BlockStep* step_of(std::uint64_t number) const {
    const auto found = std::ranges::lower_bound(blocks_, number, {}, &BlockStep::number);
    return found == blocks_.end() || found->number != number ? nullptr : &*found;
  }
  void push(const BlockStep& step) {
    const Seconds since = std::max(step.began, begin_);
    if (now_ <= since) return;
    const bool by_cpu = step.before == 0 && step.launch == 0;
    path_.push_back(
        {.rank = step.rank,
         .what = fmt::format("{}{} of channel {}", step.what, by_cpu ? " from the proxy" : "", step.channel),
         .verb = "block",
         .size = step.size,
         .channel = step.channel,
         .link = link_of_(step.flows),
         .began = since,
         .ended = now_});
    now_ = since;
  }

  /// What made the bytes of operation `i` arrive now.
  std::size_t through_queue(std::size_t i) {
    const OpReport& report = reports_[i];
    if (report.launch != 0 && report.blocks != 0 && now_ > flow_began(report) + kRounding) {
      return through_blocks(report.blocks);
    }
    seen_[i] = true;
    const auto before = before_.find(i);
    if (before != before_.end()) {
      const Seconds turn = reports_[before->second].ended;
      if (turn > report.ready + kRounding && turn <= flow_began(report) + kRounding) {
        add(report, turn);
        rank_ = report.rank;
        return seen_[before->second] ? kNone : before->second;
      }
    }
    const auto taken = taken_.find(i);
    if (report.awaited_receiver && taken != taken_.end()) {
      const OpReport& receiver = reports_[taken->second];
      seen_[taken->second] = true;
      add(report, receiver.started);
      rank_ = receiver.rank;
      return kNone;
    }
    return to_start_of(report, report.started);
  }

  const std::vector<OpReport>& reports_;
  const std::vector<BlockStep>& blocks_;
  Seconds begin_;
  const LinkOf& link_of_;
  std::vector<bool> seen_;
  std::unordered_map<std::size_t, std::size_t> sent_{};   ///< by who took it
  std::unordered_map<std::size_t, std::size_t> taken_{};  ///< by what was sent
  std::unordered_map<std::size_t, std::size_t> before_{};
  std::unordered_map<std::uint64_t, std::size_t> launches_{};  ///< by number
  std::map<RankId, std::vector<std::size_t>> by_end_{};
  std::map<Queue, std::vector<std::size_t>> queues_{};
  std::vector<PathPart> path_{};
  RankId rank_{};
  Seconds now_{};
};

}  // namespace

std::vector<PathPart> critical_path(const std::vector<OpReport>& reports, const std::vector<BlockStep>& blocks,
                                    const EarlierExchanges& earlier, RankId last, Seconds begin, Seconds end,
                                    const LinkOf& link_of) {
  return Search(reports, blocks, earlier, begin, link_of).run(last, end);
}

}  // namespace twinlink::model
