// Every member of result and probe files, made something else: the commands refuse it by the file's name, or can do
// with it. Nothing else may come of it.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/validate/calibrate/synthetic_probes.hpp"
#include "tests/validate/fixtures.hpp"
#include "tests/validate/scratch_folder.hpp"
#include "validate/calibrate/calibration.hpp"
#include "validate/calibrate/calibration_report.hpp"
#include "validate/compare/accuracy_table.hpp"
#include "validate/compare/ceiling.hpp"
#include "validate/compare/curve_settings.hpp"
#include "validate/compare/report.hpp"
#include "validate/suspect/suspect_report.hpp"

namespace twinlink::validate::test {
namespace {

using nlohmann::json;
using Use = std::function<void(const std::filesystem::path& file)>;

/// What a member is made: other kinds of values, and numbers at the ends of what a number may be.
std::vector<json> damages() {
  return {json(),         json(true), json("a text"), json(""),      json::array(), json::array({1, "a"}),
          json{{"a", 1}}, json(0),    json(-1),       json(1e-310),  json(1e-200),  json(1.5),
          json(2),        json(1e12), json(1e200),    json(1.7e308), json(-1e308),  json(UINT64_MAX),
          json(INT64_MIN)};
}

/// The places of all members, of each list those of the first two elements.
void list_places(const json& value, const json::json_pointer& here, std::vector<json::json_pointer>& places) {
  constexpr std::size_t kElements = 2;
  if (!here.empty()) places.push_back(here);
  if (value.is_array()) {
    for (std::size_t i = 0; i < std::min(value.size(), kElements); ++i) list_places(value[i], here / i, places);
  } else if (value.is_object()) {
    for (const auto& [key, child] : value.items()) list_places(child, here / key, places);
  }
}

std::vector<json::json_pointer> places_in(const json& whole) {
  std::vector<json::json_pointer> places;
  list_places(whole, json::json_pointer(), places);
  return places;
}

json read_stored(const std::string& name) {
  return json::parse(std::ifstream(std::filesystem::path(TWINLINK_VALIDATE_DATA) / name));
}

/// A measured curve with its expectation, of two sizes.
json stored_result() {
  json result = read_stored("h200-nvlink-gpudirect-v1.json");
  json& points = result["points"];
  points.erase(points.begin() + 2, points.end());
  return result;
}

/// The first line of each name.
json stored_probes() {
  json probes = read_stored("h200-nvlink-probes.json");
  std::set<std::string> names;
  json lines = json::array();
  for (const json& line : probes["lines"]) {
    if (names.insert(line["name"].get<std::string>()).second) lines.push_back(line);
  }
  probes["lines"] = lines;
  return probes;
}

/// So many of the ways at each place take a second or two; the number of all is no multiple of them.
/// TWINLINK_ALL_DAMAGES=1 tries all.
constexpr std::size_t kSomeWays = 6;
constexpr std::size_t kFewWays = 3;  // where a file takes long

class DamagedFiles : public ::testing::Test {
 protected:
  /// `use` is given the file with each place damaged, and without it. A place has `ways` of them, the next
  /// one the next ones.
  void damage(const json& whole, const std::vector<json::json_pointer>& places, const Use& use,
              std::size_t ways = kSomeWays) {
    const std::vector<json> values = damages();
    if (std::getenv("TWINLINK_ALL_DAMAGES") != nullptr) ways = SIZE_MAX;
    std::size_t next = 0;
    for (const json::json_pointer& place : places) {
      for (std::size_t i = 0; i < std::min(ways, values.size()); ++i) {
        const json& value = values[next++ % values.size()];
        json content = whole;
        content[place] = value;
        check(content, fmt::format("{} = {}", place.to_string(), value.dump()), use);
      }
      json content = whole;
      json& parent = content[place.parent_pointer()];
      if (!parent.is_object()) continue;
      parent.erase(place.back());
      check(content, place.to_string() + " is missing", use);
    }
    EXPECT_GT(refused_, places.size() / 2) << "the damage was not seen";
  }

  ScratchFolder folder_;

 private:
  void check(const json& content, const std::string& what, const Use& use) {
    try {
      use(folder_.write("damaged.json", content.dump()));
    } catch (const InputError& error) {
      ++refused_;
      EXPECT_THAT(error.what(), ::testing::HasSubstr("damaged.json")) << what;
    } catch (const std::exception& error) {
      ADD_FAILURE() << what << ": not an InputError: " << error.what();
    }
  }

  std::size_t refused_ = 0;
};

/// No figure of a report is none.
void expect_numbers(const std::string& text) {
  for (const char* word : {" inf", " nan", "-inf", "-nan"})
    EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr(word)));
}

TEST_F(DamagedFiles, AResultIsComparedOrRefused) {
  const json whole = stored_result();
  const auto simulated = folder_.path() / "simulated.json";
  bench::Result other = make_result("simulated", "gpudirect-v1", {});
  other.series = bench::result_from_json(whole, "stored").series;
  other.series.clock = "simulated";
  write_json(other, simulated);
  damage(whole, places_in(whole), [&](const std::filesystem::path& file) {
    const Comparison comparison = compare_files(std::array{file, simulated}, {.geometric_mean = 0.1}, true);
    for (const auto format : {ReportFormat::text, ReportFormat::markdown, ReportFormat::json, ReportFormat::junit}) {
      expect_numbers(render_report(comparison, format));
    }
    to_markdown(accuracy_table(comparison));
  });
}

TEST_F(DamagedFiles, TheSettingsOfAResultAreToldOrRefused) {
  const json whole = stored_result();
  damage(whole, places_in(whole),
         [&](const std::filesystem::path& file) { run_options(bench::read_json(file).series, file.string()); });
}

TEST_F(DamagedFiles, AResultIsHeldAgainstItsCeilingOrRefused) {
  const json whole = stored_result();
  const ProbesFile probes{bench::probes_from_json(read_stored("h200-nvlink-probes.json"), "stored"), "stored"};
  damage(whole, places_in(whole), [&](const std::filesystem::path& file) {
    expect_numbers(to_text(hold_against({bench::read_json(file), file.string()}, probes,
                                        std::array{std::string("copy device-to-pinned near")})));
  });
}

TEST_F(DamagedFiles, ProbesAreACeilingOrRefused) {
  const json whole = stored_probes();
  const ResultFile result{bench::result_from_json(read_stored("h200-nvlink-gpudirect-v1.json"), "stored"), "stored"};
  damage(whole, places_in(whole), [&](const std::filesystem::path& file) {
    expect_numbers(to_text(hold_against(result, {bench::read_probes(file), file.string()},
                                        std::array{std::string("copy device-to-pinned near")})));
  });
}

void calibrate_from(const std::filesystem::path& file) {
  const Calibration calibration = calibrate(read_probe_set(std::array{file}), kPlatforms / "h200-nvlink.yaml", true);
  expect_numbers(to_text(calibration_report(calibration)));
  platform_of(calibration);
}

TEST_F(DamagedFiles, ProbesAreCalibratedFromOrRefused) {
  const json whole = stored_probes();
  damage(whole, places_in(whole), calibrate_from, kFewWays);
}

TEST_F(DamagedFiles, EveryLineOfProbesIsCalibratedFromOrRefused) {
  const json whole = stored_probes();
  std::vector<json::json_pointer> places;
  for (std::size_t i = 0; i < whole["lines"].size(); ++i) {
    for (const char* member : {"bytes", "time_us", "p95_us"}) {
      places.push_back(json::json_pointer("/lines") / i / std::string(member));
    }
  }
  damage(whole, places, calibrate_from, 1);
}

TEST_F(DamagedFiles, SuspectsAreFoundInProbesOrTheseAreRefused) {
  const json whole = stored_probes();
  damage(
      whole, places_in(whole),
      [](const std::filesystem::path& file) {
        expect_numbers(to_text(suspect_report(
            find_suspects(read_probe_set(std::array{file}), kPlatforms / "h200-nvlink.yaml", 0.1, true))));
      },
      kFewWays);
}

}  // namespace
}  // namespace twinlink::validate::test
