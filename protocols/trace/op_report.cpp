#include "protocols/trace/op_report.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "protocols/core/tags.hpp"

namespace twinlink {

std::string words_of(const OpReport& report) {
  const bool of_program = report.peer && report.tag >= tags::kFirstFree && report.tag < tags::kPieces;
  return of_program || report.step.empty() ? "program: " + std::string(report.verb) : report.step;
}

bool takes_control(const OpReport& report) { return report.verb == "recv_control" || report.verb == "await signal"; }

std::vector<Exchange> exchanges_of(const std::vector<OpReport>& reports) {
  struct Ends {
    std::vector<std::size_t> sent;
    std::vector<std::size_t> taken;
  };
  std::vector<std::size_t> begun(reports.size());
  std::iota(begun.begin(), begun.end(), std::size_t{0});
  std::ranges::stable_sort(begun, {}, [&](std::size_t i) { return reports[i].started; });
  std::map<std::tuple<RankId, RankId, Tag, bool>, Ends> all;
  for (const std::size_t i : begun) {
    const OpReport& report = reports[i];
    if (!report.peer) continue;
    const bool message = report.verb == "send" || report.verb == "receive";
    if (report.verb == "receive" || takes_control(report)) {
      all[{*report.peer, report.rank, report.tag, message}].taken.push_back(i);
    } else {
      all[{report.rank, *report.peer, report.tag, message}].sent.push_back(i);
    }
  }
  std::vector<Exchange> exchanges;
  for (const auto& [key, ends] : all) {
    for (std::size_t i = 0; i < std::min(ends.sent.size(), ends.taken.size()); ++i) {
      exchanges.push_back({ends.sent[i], ends.taken[i]});
    }
  }
  return exchanges;
}

}  // namespace twinlink
