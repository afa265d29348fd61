#include "validate/compare/crossover.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace twinlink::validate {
namespace {

std::optional<Crossover> take_closest(std::vector<Lead>& measured, std::vector<Lead>& simulated) {
  double best = std::numeric_limits<double>::infinity();
  auto best_measured = measured.end();
  auto best_simulated = simulated.end();
  for (auto m = measured.begin(); m != measured.end(); ++m) {
    for (auto s = simulated.begin(); s != simulated.end(); ++s) {
      const double distance = std::abs(std::log2(s->from_bytes / m->from_bytes));
      if (m->curve != s->curve || distance >= best) continue;
      best = distance;
      best_measured = m;
      best_simulated = s;
    }
  }
  if (best_measured == measured.end()) return std::nullopt;
  const Crossover found{.curve = best_measured->curve,
                        .measured_bytes = best_measured->from_bytes,
                        .simulated_bytes = best_simulated->from_bytes};
  measured.erase(best_measured);
  simulated.erase(best_simulated);
  return found;
}

std::vector<Lead> crossings(std::span<const Lead> leads) {
  return leads.empty() ? std::vector<Lead>{} : std::vector<Lead>(leads.begin() + 1, leads.end());
}

}  // namespace

std::vector<Lead> leads(std::span<const bench::TwoTimes> times) {
  std::vector<Lead> result;
  bench::TwoTimes last;  // at the last size with a winner
  Bytes tied_since;      // the first size of the ties that follow it; zero: none
  for (const bench::TwoTimes& now : times) {
    if (now.size == Bytes{}) continue;
    const double advantage = bench::advantage_of_a(now);
    if (advantage == 0) {
      if (tied_since == Bytes{}) tied_since = now.size;
      continue;
    }
    const Faster winner = advantage > 0 ? Faster::a : Faster::b;
    if (result.empty()) {
      result.push_back({.curve = winner, .from_bytes = static_cast<double>(now.size.count())});
    } else if (winner != result.back().curve) {
      const double from = tied_since == Bytes{} ? bench::crossing(last, now) : static_cast<double>(tied_since.count());
      result.push_back({.curve = winner, .from_bytes = from});
    }
    last = now;
    tied_since = {};
  }
  return result;
}

std::optional<double> Crossover::distance() const {
  if (!measured_bytes || !simulated_bytes) return std::nullopt;
  return std::log2(*simulated_bytes / *measured_bytes);
}

std::vector<Crossover> match_crossovers(std::span<const Lead> measured, std::span<const Lead> simulated) {
  auto open_measured = crossings(measured);
  auto open_simulated = crossings(simulated);
  std::vector<Crossover> result;
  while (const auto found = take_closest(open_measured, open_simulated)) result.push_back(*found);
  for (const auto& lead : open_measured) {
    result.push_back({.curve = lead.curve, .measured_bytes = lead.from_bytes, .simulated_bytes = {}});
  }
  for (const auto& lead : open_simulated) {
    result.push_back({.curve = lead.curve, .measured_bytes = {}, .simulated_bytes = lead.from_bytes});
  }
  const auto first_size = [](const Crossover& crossover) {
    return crossover.measured_bytes ? *crossover.measured_bytes : *crossover.simulated_bytes;
  };
  std::ranges::sort(result, {}, first_size);
  return result;
}

}  // namespace twinlink::validate
