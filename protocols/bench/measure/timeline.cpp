#include "protocols/bench/measure/timeline.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/results/files.hpp"

namespace twinlink::bench {
namespace {

using nlohmann::json;

/// Rounding error of times that are differences of others: a picosecond, in us.
constexpr double kRounding = 1e-6;

enum class Kind { send, receive, control, stream, engine, link };

/// The order of a rank's tracks, too.
struct Track {
  int rank = 0;  ///< of links: behind all ranks
  Kind kind = Kind::send;
  int number = 0;  ///< of a stream or a link
  std::string name{};

  auto operator<=>(const Track&) const = default;
};

struct Slice {
  const OpReport* report = nullptr;
  Track track{};
  double begin = 0;  ///< us
  double end = 0;
  std::size_t thread = 0;
};

Track track_of(const OpReport& report) {
  const int rank = report.rank.value;
  if (report.stream) return {rank, Kind::stream, *report.stream, fmt::format("stream {}", *report.stream)};
  if (report.verb == "send") return {rank, Kind::send, 0, "sends"};
  if (report.verb == "receive") return {rank, Kind::receive, 0, "receives"};
  return {rank, Kind::control, 0, "control messages"};
}

class Writer {
 public:
  Writer(const std::vector<OpReport>& reports, const std::vector<std::string>& ranks,
         const std::vector<LinkSlice>& links)
      : reports_(reports), links_(links), ranks_(ranks) {
    for (const OpReport& report : reports) sorted_.push_back(&report);
    std::ranges::stable_sort(sorted_, {}, [](const OpReport* report) { return report->started; });
  }

  std::string text() {
    for (const OpReport* report : sorted_) add(*report);
    add_links();
    share_tracks();
    name_tracks();
    for (const Slice& slice : slices_) write(slice);
    draw_arrows();
    return "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n" + events_ + "\n]}\n";
  }

 private:
  void event(const json& event) { events_ += (events_.empty() ? "" : ",\n") + to_text(event); }

  void add(const OpReport& report) {
    const double ended = report.ended.microseconds();
    Slice slice{.report = &report, .track = track_of(report), .begin = report.started.microseconds(), .end = ended};
    if (report.stream) {  // commands are queued ahead of the one before them
      double& last = ends_of_streams_[slice.track];
      slice.begin = std::min(std::max(slice.begin, last), ended);
      last = std::max(last, ended);
      const double moving = report.engine == "kernel" ? slice.begin : ended - report.flow.microseconds();
      if (!report.engine.empty() && moving < ended) {
        const std::string name = report.engine == "copy engine" ? fmt::format("{}, {}", report.engine, report.cost)
                                                                : std::string(report.engine);
        slices_.push_back({&report, {report.rank.value, Kind::engine, 0, name}, moving, ended});
      }
    }
    slices_.push_back(std::move(slice));
  }

  void add_links() {
    const auto behind = static_cast<int>(ranks_.size());
    std::map<std::string_view, int> numbers;
    for (const LinkSlice& slice : links_) {
      const auto number = numbers.emplace(slice.link, static_cast<int>(numbers.size())).first;
      slices_.push_back({&reports_[slice.operation],
                         {behind, Kind::link, number->second, slice.link},
                         slice.began.microseconds(),
                         slice.ended.microseconds()});
    }
  }

  /// Slices of one thread must not overlap: each takes the first track of its name that is free.
  void share_tracks() {
    std::ranges::stable_sort(slices_, {}, &Slice::begin);
    std::map<Track, std::vector<double>> busy_until;
    for (Slice& slice : slices_) {
      auto& lanes = busy_until[slice.track];
      const auto free = std::ranges::find_if(lanes, [&](double until) { return until <= slice.begin + kRounding; });
      slice.thread = static_cast<std::size_t>(free - lanes.begin());
      if (free == lanes.end()) lanes.push_back(slice.begin);
      slice.begin = std::max(slice.begin, lanes[slice.thread]);
      slice.end = std::max(slice.begin, slice.end);
      lanes[slice.thread] = slice.end;
    }
    std::map<int, int> next;  // by rank
    for (const auto& [track, lanes] : busy_until) {
      first_thread_[track] = next[track.rank];
      next[track.rank] += static_cast<int>(lanes.size());
      lanes_[track] = lanes.size();
    }
  }

  [[nodiscard]] int thread_of(const Slice& slice) const {
    return first_thread_.at(slice.track) + static_cast<int>(slice.thread);
  }

  void meta(std::string_view what, int rank, std::optional<int> thread, const json& args) {
    json line{{"ph", "M"}, {"name", what}, {"pid", rank}, {"args", args}};
    if (thread) line["tid"] = *thread;
    event(line);
  }

  void name_tracks() {
    for (const auto& [track, first] : first_thread_) {
      if (first == 0 && track.kind == Kind::link) {
        meta("process_name", track.rank, {}, {{"name", "links"}});
        meta("process_sort_index", track.rank, {}, {{"sort_index", track.rank}});
      } else if (first == 0) {
        const std::string& place = ranks_[static_cast<std::size_t>(track.rank)];
        meta("process_name", track.rank, {}, {{"name", fmt::format("rank {} on {}", track.rank, place)}});
        meta("process_sort_index", track.rank, {}, {{"sort_index", track.rank}});
      }
      for (int lane = 0; lane < static_cast<int>(lanes_.at(track)); ++lane) {
        const std::string name = lane == 0 ? track.name : fmt::format("{} ({})", track.name, lane + 1);
        meta("thread_name", track.rank, first + lane, {{"name", name}});
        meta("thread_sort_index", track.rank, first + lane, {{"sort_index", first + lane}});
      }
    }
  }

  void write(const Slice& slice) {
    const OpReport& report = *slice.report;
    json args{{"verb", report.verb}, {"bytes", report.size.count()}};
    if (report.peer) args["peer"] = report.peer->value;
    if (!report.cost.empty()) args["cost entry"] = report.cost;
    if (!report.route.empty()) args["route"] = report.route;
    for (const auto& [name, time] : {std::pair{"overhead us", report.overhead},
                                     {"latency us", report.latency},
                                     {"flow us", report.flow},
                                     {"completion us", report.completion}}) {
      if (time > Seconds{}) args[name] = time.microseconds();
    }
    event({{"ph", "X"},
           {"name", slice.track.kind == Kind::link ? fmt::format("rank {}: {}", report.rank.value, words_of(report))
                                                   : words_of(report)},
           {"cat", report.verb},
           {"pid", slice.track.rank},
           {"tid", thread_of(slice)},
           {"ts", slice.begin},
           {"dur", slice.end - slice.begin},
           {"args", std::move(args)}});
  }

  /// From the beginning of what is sent to just before the end of what takes it: an arrow belongs to the slice around
  /// its end.
  void arrow(std::size_t id, const Slice& slice, bool arrives) {
    constexpr double kBefore = 1e-3;  // us
    json end{{"ph", arrives ? "f" : "s"},
             {"id", id},
             {"name", "message"},
             {"cat", "message"},
             {"pid", slice.report->rank.value},
             {"tid", thread_of(slice)},
             {"ts", arrives ? std::max(slice.begin, slice.end - kBefore) : slice.begin}};
    if (arrives) end["bp"] = "e";
    event(end);
  }

  void draw_arrows() {
    std::map<const OpReport*, const Slice*> own;  // where its rank does it
    for (const Slice& slice : slices_) {
      if (slice.track.kind != Kind::engine && slice.track.kind != Kind::link) own[slice.report] = &slice;
    }
    std::size_t id = 0;
    for (const Exchange& exchange : exchanges_of(reports_)) {
      arrow(++id, *own.at(&reports_[exchange.sent]), false);
      arrow(id, *own.at(&reports_[exchange.taken]), true);
    }
  }

  const std::vector<OpReport>& reports_;
  const std::vector<LinkSlice>& links_;
  const std::vector<std::string>& ranks_;
  std::vector<const OpReport*> sorted_{};  ///< as they began
  std::vector<Slice> slices_{};
  std::map<Track, double> ends_of_streams_{};
  std::map<Track, int> first_thread_{};
  std::map<Track, std::size_t> lanes_{};
  std::string events_{};
};

}  // namespace

namespace {

/// As a report of another rank has come with a text, whose views must not end with it.
std::string_view known_verb(const std::string& verb) {
  static constexpr std::array<std::string_view, 9> kVerbs{"copy",    "add",     "put",          "await signal", "send",
                                                          "receive", "compute", "send_control", "recv_control"};
  const auto* found = std::ranges::find(kVerbs, verb);
  return found == kVerbs.end() ? std::string_view() : *found;
}

std::string text_of(const RecordedRank& recorded) {
  json all = json::array();
  for (const OpReport& report : recorded.reports()) {
    all.push_back({report.verb, report.step, report.size.count(), report.started.value(), report.ended.value(),
                   report.peer ? json(report.peer->value) : json(nullptr), report.tag.value,
                   report.stream ? json(*report.stream) : json(nullptr)});
  }
  return to_text(json{{"left out", recorded.left_out()}, {"reports", std::move(all)}});
}

/// `ahead`: of the other rank's clock, before this one's.
void append_reports(GatheredReports& all, RankId rank, const std::string& text, Seconds ahead) {
  const json told = json::parse(text);
  all.left_out += told.at("left out").get<std::size_t>();
  for (const json& line : told.at("reports")) {
    OpReport report{.rank = rank, .step = line.at(1), .verb = known_verb(line.at(0))};
    report.size = Bytes{line.at(2).get<std::uint64_t>()};
    report.started = Seconds{line.at(3).get<double>()} - ahead;
    report.ended = Seconds{line.at(4).get<double>()} - ahead;
    if (!line.at(5).is_null()) report.peer = RankId{line.at(5).get<int>()};
    report.tag = Tag{line.at(6).get<int>()};
    if (!line.at(7).is_null()) report.stream = line.at(7).get<int>();
    all.reports.push_back(std::move(report));
  }
}

/// How far `other`'s clock is ahead of rank 0's: at the quickest of some questions, half way between asking and
/// hearing.
Seconds clock_ahead(MeasuredRank& rank, RankId other, Patience patience) {
  constexpr int kClockQuestions = 20;
  const bool asks = rank.id() == RankId{0};
  Seconds quickest{std::numeric_limits<double>::infinity()};
  Seconds ahead{};
  for (int i = 0; i < kClockQuestions; ++i) {
    if (!asks) {
      recv_control_now(rank, RankId{0}, patience);
      send_control_now(rank, RankId{0}, ControlMessage(rank.now().value()), patience);
      continue;
    }
    const Seconds asked = rank.now();
    send_control_now(rank, other, ControlMessage(), patience);
    const Seconds there{recv_control_now(rank, other, patience).as<double>()};
    const Seconds heard = rank.now();
    if (heard - asked >= quickest) continue;
    quickest = heard - asked;
    ahead = there - (asked + quickest / 2);
  }
  return ahead;
}

}  // namespace

GatheredReports gather_reports(MeasuredRank& rank, const RecordedRank& mine, Patience patience) {
  std::vector<Seconds> ahead(static_cast<std::size_t>(rank.ranks()));
  for (int other = 1; other < rank.ranks(); ++other) {
    if (rank.id() != RankId{0} && rank.id() != RankId{other}) continue;
    ahead[static_cast<std::size_t>(other)] = clock_ahead(rank, RankId{other}, patience);
  }
  const std::vector<std::string> texts = gather(rank, text_of(mine), patience);
  GatheredReports all;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    append_reports(all, RankId{static_cast<int>(i)}, texts[i], ahead[i]);
  }
  // From the first of them on.
  Seconds first = all.reports.empty() ? Seconds{} : all.reports.front().started;
  for (const OpReport& report : all.reports) first = std::min(first, report.started);
  for (OpReport& report : all.reports) {
    report.started = report.started - first;
    report.ended = report.ended - first;
  }
  return all;
}

std::string timeline_text(const std::vector<OpReport>& reports, const std::vector<std::string>& ranks,
                          const std::vector<LinkSlice>& links) {
  return Writer(reports, ranks, links).text();
}

}  // namespace twinlink::bench
