// Advice in words for people, as JSON and as CSV.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "model/study/survey.hpp"
#include "protocols/bench/results/json_value.hpp"

namespace twinlink::model {

inline constexpr int kAdviceSchema = 1;
inline constexpr std::string_view kAdviceKind = "twinlink-advice";

/// Advice with all that it rests on.
struct AdviceReport {
  std::string program{};
  std::string command{};
  bench::JsonValue environment{};
  std::string platform{};  ///< its name
  bench::Pattern pattern = bench::Pattern::pingpong;
  int window = 1;
  Place from{};  ///< with the device's model
  Place to{};
  Survey survey{};
  Advice advice{};
  std::vector<SingleTuning> singles{};  ///< in the order of the contestants
  std::vector<LibraryAdvice> libraries{};
};

/// The whole advice: winner, tuning and runner-up of every size, crossovers, single settings, who takes no part.
void print_advice(const AdviceReport& report, std::ostream& out);
/// All protocols at the only size of the report, the fastest first.
void print_comparison(const AdviceReport& report, std::ostream& out);

nlohmann::json to_json(const AdviceReport& report);
/// One row per size and protocol, the fastest first.
std::string to_csv(const AdviceReport& report);

}  // namespace twinlink::model
