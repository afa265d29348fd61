#include "protocols/workloads/goal/steady.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "protocols/workloads/goal/repetition.hpp"

namespace twinlink::workloads::goal {

void Pace::merge(const Pace& other) {
  shortest = std::min(shortest, other.shortest);
  longest = std::max(longest, other.longest);
  early = std::max(early, other.early);
  third = std::max(third, other.third);
  fifth = std::min(fifth, other.fifth);
  sixth = std::min(sixth, other.sixth);
}

std::optional<double> Pace::period() const {
  const double slack = kSamePeriod * longest;
  if (longest < shortest || longest - shortest > slack) return {};
  const double next = early + longest;  // a period after only bodies from the third on are under way
  if (third > next + slack || fifth < early - slack || sixth < next - slack) return {};
  return (shortest + longest) / 2;
}

Pace pace_of(const RankTrace& trace, std::span<const double> begins, std::span<const double> ends) {
  constexpr std::size_t kThird = 3;
  constexpr std::size_t kFifth = 5;
  Pace pace;
  std::array<std::vector<std::size_t>, kKeptBodies + 1> bodies;
  bool behind = false;
  for (std::size_t task = 0; task < trace.tasks.size(); ++task) {
    const std::size_t body = trace.tasks[task].body;
    behind = behind || body == kKeptBodies;
    if (body > 0) bodies.at(body).push_back(task);
    const std::size_t place = body == 0 && behind ? kKeptBodies + 1 : body;
    if (place < kThird) pace.early = std::max(pace.early, ends[task]);
    if (place == kThird) pace.third = std::max(pace.third, ends[task]);
    if (place >= kFifth) pace.fifth = std::min(pace.fifth, begins[task]);
    if (place > kFifth) pace.sixth = std::min(pace.sixth, begins[task]);
  }
  pace.third = std::max(pace.third, pace.early);
  for (std::size_t body = kThird; body < kFifth; ++body) {
    for (std::size_t i = 0; i < bodies.at(body).size(); ++i) {
      const std::size_t task = bodies.at(body)[i];
      const std::size_t next = bodies.at(body + 1)[i];
      for (const double apart : {begins[next] - begins[task], ends[next] - ends[task]}) {
        pace.shortest = std::min(pace.shortest, apart);
        pace.longest = std::max(pace.longest, apart);
      }
    }
  }
  return pace;
}

}  // namespace twinlink::workloads::goal
