#include "protocols/bench/results/json_statistics.hpp"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace twinlink::bench {
namespace {

/// Files of before this member have "left_out", a number of rounds, and "disturbed": others on a rank's core had made
/// some of those that count longer.
bool read_unstable(Members& members) {
  if (members.has("left_out")) static_cast<void>(members.count("left_out"));
  const bool disturbed = members.has("disturbed") && members.flag("disturbed");
  return members.has("unstable") ? members.flag("unstable") : disturbed;
}

}  // namespace

Provenance provenance_of(const nlohmann::json& environment) {
  return environment.contains(std::string(kOriginMember)) ? Provenance::imported : Provenance::own;
}

void write_text(nlohmann::json& object, const char* name, const std::string& text, Provenance provenance) {
  if (provenance == Provenance::own || !text.empty()) object[name] = text;
}

std::string read_text(Members& members, const char* name, Provenance provenance) {
  return provenance == Provenance::own || members.has(name) ? members.text(name) : "";
}

void write_statistics(nlohmann::json& object, const Statistics& time_us) {
  object["time_us"] = time_us.median;
  if (time_us.n == 0) return;
  object["n"] = time_us.n;
  object["min_us"] = time_us.min;
  object["max_us"] = time_us.max;
  object["p5_us"] = time_us.p5;
  object["p95_us"] = time_us.p95;
  object["unstable"] = time_us.unstable;
}

Statistics read_statistics(Members& members, Provenance provenance) {
  if (provenance == Provenance::imported && !members.has("n")) return {.median = members.number("time_us")};
  if (members.count("n") == 0) members.fail("n", "is 0: figures of no rounds");
  return {.n = members.count("n"),
          .median = members.number("time_us"),
          .min = members.number("min_us"),
          .max = members.number("max_us"),
          .p5 = members.number("p5_us"),
          .p95 = members.number("p95_us"),
          .unstable = read_unstable(members)};
}

void write_samples(nlohmann::json& object, const std::vector<double>& samples_us) {
  if (samples_us.empty()) return;
  // A tenth of a nanosecond is finer than any clock; more digits would be most of a file.
  constexpr double kDigits = 1e4;
  constexpr double kWithoutDigits = 1e11;  // a day: the product of what is much longer is infinite
  nlohmann::json& samples = object["samples_us"];
  for (const double sample : samples_us) {
    const bool rounds = std::abs(sample) < kWithoutDigits;
    samples.push_back(rounds ? std::round(sample * kDigits) / kDigits : sample);
  }
}

std::vector<double> read_samples(Members& members) {
  std::vector<double> samples_us;
  if (!members.has("samples_us")) return samples_us;
  for (const nlohmann::json& sample : members.array("samples_us")) {
    if (!sample.is_number()) members.fail("samples_us", "holds something that is no number");
    samples_us.push_back(sample.get<double>());
  }
  return samples_us;
}

std::string read_world(Members& members) {
  std::string world = members.text("world");
  if (world == "simulated" || world == "measured") return world;
  members.fail("world", fmt::format("is '{}', but must be 'simulated' or 'measured'", world));
}

}  // namespace twinlink::bench
