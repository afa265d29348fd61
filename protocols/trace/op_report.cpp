#include "protocols/trace/op_report.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "protocols/core/tags.hpp"

namespace twinlink {

std::string words_of(const OpReport& report) {
  const bool of_program = report.peer && report.tag >= tags::kFirstFree && report.tag < tags::kSlots;
  return of_program || report.step.empty() ? "program: " + std::string(report.verb) : report.step;
}

bool takes_control(const OpReport& report) { return report.verb == "recv_control" || report.verb == "await signal"; }

/// Kind of what goes from one rank to another, and whether the report is of who took it.
std::optional<std::pair<EarlierExchanges::Kind, bool>> EarlierExchanges::kind_of(const OpReport& report) {
  if (!report.peer) return std::nullopt;
  const bool message = report.verb == "send" || report.verb == "receive";
  const bool takes = report.verb == "receive" || takes_control(report);
  const auto [from, to] = takes ? std::pair(*report.peer, report.rank) : std::pair(report.rank, *report.peer);
  return std::pair(Kind{from, to, report.tag, message}, takes);
}

void EarlierExchanges::count(const OpReport& report) {
  const auto kind = kind_of(report);
  if (!kind) return;
  Counts& counts = counts_[kind->first];
  ++(kind->second ? counts.taken : counts.sent);
}

std::vector<Exchange> exchanges_of(const std::vector<OpReport>& reports, const EarlierExchanges& earlier) {
  struct Ends {
    std::vector<std::size_t> sent;
    std::vector<std::size_t> taken;
  };
  std::vector<std::size_t> begun(reports.size());
  std::iota(begun.begin(), begun.end(), std::size_t{0});
  std::ranges::stable_sort(begun, {}, [&](std::size_t i) { return reports[i].started; });
  std::map<EarlierExchanges::Kind, Ends> all;
  for (const std::size_t i : begun) {
    const auto kind = EarlierExchanges::kind_of(reports[i]);
    if (!kind) continue;
    Ends& ends = all[kind->first];
    (kind->second ? ends.taken : ends.sent).push_back(i);
  }
  std::vector<Exchange> exchanges;
  for (const auto& [kind, ends] : all) {
    const auto before = earlier.counts_.find(kind);
    const auto counts = before == earlier.counts_.end() ? EarlierExchanges::Counts{} : before->second;
    // The number of a message, counted from the first that there ever was.
    for (std::size_t n = std::max(counts.sent, counts.taken);; ++n) {
      if (n - counts.sent >= ends.sent.size() || n - counts.taken >= ends.taken.size()) break;
      exchanges.push_back({ends.sent[n - counts.sent], ends.taken[n - counts.taken]});
    }
  }
  return exchanges;
}

}  // namespace twinlink
