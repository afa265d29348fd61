#include "validate/calibrate/probe_set.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/validate/scratch_folder.hpp"

namespace twinlink::validate {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class ProbeSetOf : public testing::Test {
 protected:
  /// Reads both, of which the second one is `change`d.
  void read_with(const std::function<void(nlohmann::json&)>& change) const {
    nlohmann::json content = nlohmann::json::parse(
        test::read_file(std::filesystem::path(TWINLINK_SOURCE_DIR) / "tests/validate/h200/probes.json"));
    const auto first = folder_.write("first.json", content.dump());
    change(content);
    set_ = read_probe_set(std::vector{first, folder_.write("second.json", content.dump())});
  }

  test::ScratchFolder folder_;
  mutable ProbeSet set_;
};

TEST_F(ProbeSetOf, TwoFilesHasTheLinesOfBoth) {
  read_with(
      [](nlohmann::json& content) { content["lines"].erase(content["lines"].begin() + 1, content["lines"].end()); });
  ASSERT_EQ(set_.files.size(), 2U);
  EXPECT_EQ(set_.probes.back().file, 1U);
  EXPECT_EQ(set_.probes.back().line.name, set_.probes.front().line.name);
}

TEST_F(ProbeSetOf, MeasuredAndSimulatedFilesIsRefused) {
  EXPECT_THAT([&] { read_with([](nlohmann::json& content) { content["world"] = "simulated"; }); },
              ThrowsMessage<InputError>(
                  HasSubstr("second.json: error: measured and simulated probes do not belong into one platform")));
}

TEST_F(ProbeSetOf, ALineThatIsThereTwiceIsRefused) {
  EXPECT_THAT([&] { read_with([](nlohmann::json& content) { content["lines"].push_back(content["lines"][0]); }); },
              ThrowsMessage<InputError>(testing::AllOf(HasSubstr("second.json: error: "), HasSubstr(": named twice"))));
}

}  // namespace
}  // namespace twinlink::validate
