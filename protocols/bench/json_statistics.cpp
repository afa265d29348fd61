#include "protocols/bench/json_statistics.hpp"

#include <fmt/format.h>

namespace twinlink::bench {

void write_statistics(nlohmann::json& object, const Statistics& time_us) {
  object["n"] = time_us.n;
  object["time_us"] = time_us.median;
  object["min_us"] = time_us.min;
  object["max_us"] = time_us.max;
  object["p5_us"] = time_us.p5;
  object["p95_us"] = time_us.p95;
}

Statistics read_statistics(Members& members) {
  return {.n = members.count("n"),
          .median = members.number("time_us"),
          .min = members.number("min_us"),
          .max = members.number("max_us"),
          .p5 = members.number("p5_us"),
          .p95 = members.number("p95_us")};
}

std::string read_world(Members& members) {
  std::string world = members.text("world");
  if (world == "simulated" || world == "measured") return world;
  members.fail("world", fmt::format("is '{}', but must be 'simulated' or 'measured'", world));
}

}  // namespace twinlink::bench
