#include "model/study/watch/timeline.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/study/watch/operations.hpp"
#include "protocols/bench/results/files.hpp"

namespace twinlink::model {
namespace {

using nlohmann::json;

/// Of times that are differences of others: a picosecond, in us.
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
  Writer(const std::vector<OpReport>& reports, const std::vector<FlowRecord>& flows, const std::vector<LinkUse>& links,
         const std::vector<Place>& places)
      : reports_(reports), flows_(flows), places_(places) {
    for (const OpReport& report : reports) sorted_.push_back(&report);
    std::ranges::stable_sort(sorted_, {}, [](const OpReport* report) { return report->started; });
    const auto behind = static_cast<int>(places.size());
    for (const LinkUse& link : links) {
      links_.emplace(link.link, Track{behind, Kind::link, static_cast<int>(links_.size()), link.name});
    }
  }

  std::string text() {
    for (const OpReport* report : sorted_) add(*report);
    add_flows();
    share_tracks();
    name_tracks();
    for (const Slice& slice : slices_) write(slice);
    draw_arrows();
    return "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n" + events_ + "\n]}\n";
  }

 private:
  void event(const json& event) { events_ += (events_.empty() ? "" : ",\n") + bench::to_text(event); }

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

  /// On every link that they have crossed.
  void add_flows() {
    std::map<std::uint64_t, const OpReport*> carried;
    for (const OpReport& report : reports_) {
      for (const std::uint64_t flow : report.flows) carried[flow] = &report;
    }
    for (const FlowRecord& flow : flows_) {
      const auto report = carried.find(flow.number);
      if (report == carried.end()) continue;
      for (const SharedLink* link : flow.links) {
        const auto track = links_.find(link);
        if (track == links_.end()) continue;
        slices_.push_back({report->second, track->second, flow.began.microseconds(), flow.ended.microseconds()});
      }
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
        const Place& place = places_[static_cast<std::size_t>(track.rank)];
        meta("process_name", track.rank, {}, {{"name", fmt::format("rank {} on {}", track.rank, to_string(place))}});
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
  const std::vector<FlowRecord>& flows_;
  const std::vector<Place>& places_;
  std::vector<const OpReport*> sorted_{};  ///< as they began
  std::map<const SharedLink*, Track> links_{};
  std::vector<Slice> slices_{};
  std::map<Track, double> ends_of_streams_{};
  std::map<Track, int> first_thread_{};
  std::map<Track, std::size_t> lanes_{};
  std::string events_{};
};

}  // namespace

void Timeline::watch(SimulationOptions& options) {
  if (options.link_use == nullptr) options.link_use = &own_link_use_;
  link_use_ = options.link_use;
  options.observer = [this, next = std::move(options.observer)](const OpReport& report) {
    if (next) next(report);
    if (reports_.size() < kMostOperations) {
      reports_.push_back(report);
    } else {
      ++left_out_;
    }
  };
  options.on_flow = [this, next = std::move(options.on_flow)](const FlowRecord& flow) {
    if (next) next(flow);
    if (flows_.size() < kMostOperations) flows_.push_back(flow);
  };
}

void Timeline::rank_ends() { links_ = (*link_use_)(); }

std::string Timeline::text(const std::vector<Place>& places) const {
  return Writer(reports_, flows_, links_, places).text();
}

}  // namespace twinlink::model
