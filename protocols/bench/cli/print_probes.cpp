#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "protocols/bench/cli/print.hpp"
#include "protocols/bench/cli/print_columns.hpp"
#include "protocols/bench/results/statistics.hpp"

namespace twinlink::bench {
namespace {

/// Findings of more lines than this are summarized: a screen is not much longer.
constexpr std::size_t kFewLines = 60;
constexpr Bytes kMiddle = 64_KiB;

/// One primitive, all devices together.
struct Kind {
  std::string name{};
  std::map<Bytes, std::vector<const ProbeLine*>> by_size{};
  std::set<std::string> devices{};
};

std::vector<Kind> kinds_of(const ProbeFindings& findings) {
  std::vector<Kind> kinds;
  for (const ProbeLine& line : findings.lines) {
    auto kind = std::ranges::find(kinds, line.name, &Kind::name);
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {.name = line.name});
    kind->by_size[line.size].push_back(&line);
    kind->devices.insert(line.gpu + ' ' + line.peer);
  }
  return kinds;
}

double median_of(const std::vector<const ProbeLine*>& lines, double (*value)(const ProbeLine&)) {
  std::vector<double> values;
  for (const ProbeLine* line : lines) values.push_back(value(*line));
  return upper_median(std::move(values));
}

/// Its smallest size, its largest, and one between them.
std::string cells(const Kind& kind) {
  const auto time = [&](Bytes size) {
    return fmt::format(" {:>5}{:>11.3f}", format_size(size),
                       median_of(kind.by_size.at(size), [](const ProbeLine& line) { return line.time_us.median; }));
  };
  const auto& [smallest, first] = *kind.by_size.begin();
  const auto& [largest, last] = *kind.by_size.rbegin();
  const auto after = kind.by_size.upper_bound(kMiddle);
  const Bytes middle = after == kind.by_size.begin() ? smallest : std::prev(after)->first;
  constexpr std::string_view kBlank = "                 ";
  std::string text = time(smallest);
  text += middle == smallest || middle == largest ? std::string(kBlank) : time(middle);
  text += largest == smallest ? std::string(kBlank) : time(largest);
  const double rate = median_of(last, [](const ProbeLine& line) { return line.bandwidth_MBps; });
  return text + (rate > 0 ? fmt::format("{:>11.2f}", rate) : fmt::format("{:>11}", "-"));
}

/// What several devices say alike, once: "0/0, 0/1: no far copies: ...".
void print_notes(const ProbeFindings& findings, std::ostream& out) {
  std::vector<std::pair<std::string, std::string>> notes;  // what is said, and who says it
  for (const std::string& note : findings.notes) {
    const std::size_t colon = note.find(": ");
    const std::string who = colon == std::string::npos ? "" : note.substr(0, colon);
    const std::string what = note.substr(who.size());
    const auto known = std::ranges::find(notes, what, &std::pair<std::string, std::string>::first);
    if (known == notes.end()) {
      notes.emplace_back(what, who);
    } else if (!who.empty()) {
      known->second += ", " + who;
    }
  }
  for (const auto& [what, who] : notes) out << fmt::format("# {}{}\n", who, what);
}

void print_summary(const ProbeFindings& findings, std::ostream& out) {
  out << fmt::format("# {} lines, which --json and --csv store; medians of all devices here, --only shows more\n",
                     findings.lines.size());
  out << fmt::format("{:<44}{:>6}{:>11}{:>6}{:>11}{:>6}{:>11}{:>11}  of\n", "# primitive", "size", "us", "size", "us",
                     "size", "us", "MB/s");
  for (const Kind& kind : kinds_of(findings)) {
    out << fmt::format("{:<44}{}  {}\n", kind.name, cells(kind), kind.devices.size());
  }
}

void print_lines(const ProbeFindings& findings, std::ostream& out) {
  const ProbeLine* previous = nullptr;
  for (const ProbeLine& line : findings.lines) {
    if (!previous || line.name != previous->name || line.gpu != previous->gpu || line.peer != previous->peer) {
      const std::string pair = line.peer.empty() ? line.gpu : fmt::format("{} to {}", line.gpu, line.peer);
      out << fmt::format("\n# {}, {}\n{}\n", line.name, pair, kHeadOfColumns);
    }
    out << columns(line.size, line.time_us, line.bandwidth_MBps) << '\n';
    previous = &line;
  }
}

}  // namespace

void print_table(const ProbeFile& probes, std::ostream& out) {
  out << fmt::format("# probes: {}, {}\n", heading_world(probes.world, probes.environment), probes.program);
  print_notes(probes.findings, out);
  (probes.findings.lines.size() > kFewLines ? print_summary : print_lines)(probes.findings, out);
  print_unstable(probes.findings.lines, "lines", out);
}

}  // namespace twinlink::bench
