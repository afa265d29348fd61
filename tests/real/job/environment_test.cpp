#include "real/job/environment.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace twinlink::real {
namespace {

TEST(CpuModel, IsTheFirstModelName) {
  EXPECT_EQ(cpu_model("processor\t: 0\nmodel\t\t: 44\nmodel name\t: Xeon X5660\nprocessor\t: 1\nmodel name\t: other\n"),
            "Xeon X5660");
}

TEST(CpuModel, IsUnknownWhereTheSystemSaysNothing) {
  EXPECT_EQ(cpu_model(""), "unknown");
  EXPECT_EQ(cpu_model("processor\t: 0\nBogoMIPS\t: 100\n"), "unknown");
  EXPECT_EQ(cpu_model("model name"), "unknown");
}

TEST(AsUtf8, ReplacesWhatIsNone) {
  const nlohmann::json facts = as_utf8({{"command", "run \xff \u00e4"}, {"numbers", {1, 2}}});
  EXPECT_EQ(facts.at("command"), "run \uFFFD \u00e4");
  EXPECT_EQ(facts.at("numbers"), (nlohmann::json{1, 2}));
  EXPECT_NO_THROW(static_cast<void>(facts.dump()));
}

TEST(Iso8601, IsUtc) {
  EXPECT_EQ(iso_8601(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(iso_8601(951'782'399), "2000-02-28T23:59:59Z");
  EXPECT_EQ(iso_8601(951'782'400), "2000-02-29T00:00:00Z");
}

}  // namespace
}  // namespace twinlink::real
