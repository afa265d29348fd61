#include "tests/validate/fixtures.hpp"

#include <nlohmann/json.hpp>

#include "protocols/bench/measure/expectation.hpp"

namespace twinlink::validate::test {
namespace {

bench::Statistics constant(double time_us) {
  return {.n = 1, .median = time_us, .min = time_us, .max = time_us, .p5 = time_us, .p95 = time_us};
}

/// In MB/s; none for the times that no clock can measure.
double rate(std::uint64_t size, double time_us) { return time_us > 0 ? static_cast<double>(size) / time_us : 0; }

}  // namespace

bench::Result make_result(const std::string& world, const std::string& protocol, const Curve& curve) {
  const bool measured = world == "measured";
  bench::Result result;
  result.world = world;
  result.program = measured ? "twinlink-real 0.1.0" : "twinlink-sim 0.1.0";
  result.command = result.program.substr(0, result.program.find(' ')) + " run --protocol " + protocol;
  if (measured) {
    result.environment = nlohmann::json{{"date", "2024-01-02"},
                                        {"devices", {{{"name", "emulated"}, {"uuid", "GPU-1"}}}},
                                        {"hosts", {"alpha", "beta"}},
                                        {"note", "one|two\nthree"}};
  } else {
    result.environment = nlohmann::json{{"platform", "example"}};
  }
  auto& series = result.series;
  series.label = protocol;
  series.protocol = protocol;
  series.settings.chunk = Bytes{262144};
  series.settings.depth = 2;
  series.from = "0/0";
  series.to = "1/0";
  series.clock = measured ? "host" : "simulated";
  series.cold_us = 100;
  for (const auto& [size, time_us] : curve) {
    bench::Point point;
    point.size = Bytes{size};
    point.time_us = constant(time_us);
    point.bandwidth_MBps = rate(size, time_us);
    point.path = "staged";
    point.verified = true;
    series.points.push_back(std::move(point));
  }
  return result;
}

bench::ProbeFile make_probes(const std::string& world, const Curve& curve) {
  bench::ProbeFile probes{.world = world,
                          .program = "twinlink probe",
                          .command = "twinlink probe",
                          .environment = nlohmann::json{{"date", "2024-01-02"}}};
  for (const auto& [size, time_us] : curve) {
    probes.findings.lines.push_back({.name = "host message",
                                     .gpu = "0/0",
                                     .peer = "1/0",
                                     .size = Bytes{size},
                                     .time_us = constant(time_us),
                                     .bandwidth_MBps = rate(size, time_us)});
  }
  return probes;
}

Recording make_recording(const std::string& world, const std::string& protocol, const Curve& curve) {
  auto result = make_result(world, protocol, curve);
  Recording recording{.file = protocol + "-" + world + ".json",
                      .world = result.world,
                      .program = result.program,
                      .command = result.command,
                      .environment = result.environment,
                      .series = std::move(result.series)};
  for (const auto& [size, time_us] : curve) {
    recording.samples.push_back({.key = {.size = Bytes{size}}, .time_us = time_us});
  }
  return recording;
}

Recording make_recording_of_probes(const std::string& world, const Curve& curve) {
  bench::ProbeFile probes = make_probes(world, curve);
  Recording recording{.file = "probes-" + world + ".json",
                      .world = probes.world,
                      .program = probes.program,
                      .command = probes.command,
                      .environment = probes.environment};
  for (const bench::ProbeLine& line : probes.findings.lines) {
    recording.samples.push_back({.key = {.name = line.name, .gpu = line.gpu, .peer = line.peer, .size = line.size},
                                 .time_us = line.time_us.median});
  }
  return recording;
}

Recording expect(Recording measured, const Curve& curve) {
  bench::Expectation expectation{.file = "expected.json", .platform = "example"};
  for (const auto& [size, time_us] : curve) expectation.points.push_back({Bytes{size}, time_us});
  measured.environment.set(std::string(bench::kExpectedMember), to_json(expectation));
  return measured;
}

}  // namespace twinlink::validate::test
