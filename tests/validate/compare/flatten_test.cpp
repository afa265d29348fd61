#include "validate/compare/flatten.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace twinlink::validate {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

TEST(Flatten, NamesEveryValueByItsPath) {
  const auto written = nlohmann::json::parse(R"({
    "mpi": {"version": "4.1.4", "cuda": false, "vendor": null},
    "hosts": ["a", "b"],
    "devices": [{"name": "x"}, {"name": "y", "memory": 3}],
    "none": [],
    "peers": [[0, 1], [1, 0]]})");
  EXPECT_EQ(flatten(written), (Lines{{"devices.0.name", "x"},
                                     {"devices.1.memory", "3"},
                                     {"devices.1.name", "y"},
                                     {"hosts", "a, b"},
                                     {"mpi.cuda", "false"},
                                     {"mpi.version", "4.1.4"},
                                     {"none", ""},
                                     {"peers.0", "0, 1"},
                                     {"peers.1", "1, 0"}}));
}

TEST(Flatten, NothingGivesNoLines) {
  EXPECT_TRUE(flatten(nullptr).empty());
  EXPECT_TRUE(flatten(nlohmann::json::object()).empty());
}

}  // namespace
}  // namespace twinlink::validate
