#include "protocols/trace/tracing_rank.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <utility>

namespace twinlink {
namespace {

constexpr std::size_t kStepWidth = 16;

std::string times_of(const TraceEvent& event, Seconds origin) {
  std::array<char, 64> columns{};
  const double started = (event.started - origin).microseconds();
  if (event.finished) {
    std::snprintf(columns.data(), columns.size(), "%10.3f %9.3f  ", started, (event.ended - origin).microseconds());
  } else {
    std::snprintf(columns.data(), columns.size(), "%10.3f %9s  ", started, "-");
  }
  return columns.data();
}

}  // namespace

std::size_t Trace::start(TraceEvent event) {
  events_.push_back(std::move(event));
  lines_.push_back({events_.size() - 1, false});
  return events_.size() - 1;
}

void Trace::end(std::size_t event, Seconds when, bool finished) {
  events_[event].ended = when;
  events_[event].finished = finished;
  lines_.push_back({event, true});
}

std::string Trace::order() const {
  std::string text;
  for (const auto [index, end] : lines_) {
    const TraceEvent& event = events_[index];
    text += "rank " + std::to_string(event.rank.value) + " | " + event.step + " | " + event.what;
    if (end) text += event.finished ? " | ended" : " | abandoned";
    text += "\n";
  }
  return text;
}

std::string list_by_step(std::span<const TraceEvent> events, std::optional<Seconds> origin) {
  std::vector<std::string_view> steps;
  for (const TraceEvent& event : events) {
    if (std::ranges::find(steps, event.step) == steps.end()) steps.push_back(event.step);
  }
  std::string text;
  for (const std::string_view step : steps) {
    for (const TraceEvent& event : events) {
      if (event.step != step) continue;
      if (origin) text += times_of(event, *origin);
      text += event.step + std::string(event.step.size() < kStepWidth ? kStepWidth - event.step.size() : 0, ' ');
      text += "  " + event.what + (event.finished ? "\n" : "  (never ended)\n");
    }
  }
  return text;
}

void TracingRank::verb_begins(std::string_view) { began_ = now(); }

void TracingRank::call_ended(const Words& words) {
  trace_.start(
      {.rank = id(), .step = step_words(), .what = words(), .started = began_, .ended = now(), .finished = true});
}

void TracingRank::operation_began(Op op, const Words& words) {
  in_flight_[op.id] = trace_.start({.rank = id(), .step = step_words(), .what = words(), .started = began_});
}

void TracingRank::operation_ended(Op op, bool finished) {
  const auto found = in_flight_.find(op.id);
  if (found == in_flight_.end()) return;
  trace_.end(found->second, now(), finished);
  in_flight_.erase(found);
}

}  // namespace twinlink
