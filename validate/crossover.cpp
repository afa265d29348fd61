#include "validate/crossover.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace twinlink::validate {
namespace {

/// Where a curve's advantage changes sign: `before` and `after` have opposite signs.
double zero_between(double size_before, double before, double size_after, double after) {
  const double low = std::log2(size_before);
  const double high = std::log2(size_after);
  return std::exp2(low + (high - low) * before / (before - after));
}

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

std::vector<Lead> leads(std::span<const TwoTimes> times) {
  std::vector<Lead> result;
  double last_size = 0;  // the last size with a winner, and by how much it won
  double last = 0;
  double tied_since = 0;  // the first size of the ties that follow it; zero: none
  for (const auto& [bytes, a_us, b_us] : times) {
    if (bytes == Bytes{0}) continue;
    const auto size = static_cast<double>(bytes.count());
    const double advantage_of_a = std::log(b_us) - std::log(a_us);
    if (advantage_of_a == 0) {
      if (tied_since == 0) tied_since = size;
      continue;
    }
    const Faster winner = advantage_of_a > 0 ? Faster::a : Faster::b;
    if (result.empty()) {
      result.push_back({.curve = winner, .from_bytes = size});
    } else if (winner != result.back().curve) {
      const double from = tied_since != 0 ? tied_since : zero_between(last_size, last, size, advantage_of_a);
      result.push_back({.curve = winner, .from_bytes = from});
    }
    last_size = size;
    last = advantage_of_a;
    tied_since = 0;
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
