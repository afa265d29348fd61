// Platforms by name, from any folder.
#include "platforms/reader/platform_file.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/reader/platform_reader.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::platforms {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const std::string kFolder = TWINLINK_SOURCE_DIR "/platforms";

class PlatformFile : public ::testing::Test {
 protected:
  void SetUp() override { setenv("TWINLINK_PLATFORMS", kFolder.c_str(), 1); }
};

TEST_F(PlatformFile, IsFoundByName) {
  EXPECT_EQ(find_platform("keeneland-kids"), kFolder + "/keeneland-kids.yaml");
  EXPECT_EQ(read_platform("keeneland-kids").name, "keeneland-kids");
}

TEST_F(PlatformFile, APathStaysAsItIs) {
  EXPECT_EQ(find_platform("./keeneland-kids"), "./keeneland-kids");
  EXPECT_EQ(find_platform("keeneland-kids.yaml"), "keeneland-kids.yaml");
}

TEST_F(PlatformFile, AFileOfTheNameBesideTheUserIsNamedAndNotTaken) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "beside";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "keeneland-kids") << "name: another\n";
  std::ofstream(folder / "mine.yml") << "name: another\n";
  std::filesystem::current_path(folder);
  EXPECT_EQ(find_platform("keeneland-kids"), kFolder + "/keeneland-kids.yaml");
  EXPECT_THAT([] { find_platform("mine.yml"); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("there is no platform 'mine.yml'"), HasSubstr("./mine.yml"))));
}

TEST_F(PlatformFile, AnUnknownNameSaysWhatThereIs) {
  EXPECT_THAT([] { find_platform("keneland-kids"); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("there is no platform 'keneland-kids' in " + kFolder),
                                              HasSubstr("did you mean 'keeneland-kids'?"), HasSubstr(" h200-nvlink"))));
}

TEST_F(PlatformFile, AFolderThatIsNotThereIsRefused) {
  setenv("TWINLINK_PLATFORMS", "/no/such/folder", 1);
  EXPECT_THAT([] { find_platform("keeneland-kids"); },
              ThrowsMessage<UsageError>(HasSubstr("TWINLINK_PLATFORMS: there is no folder /no/such/folder")));
}

}  // namespace
}  // namespace twinlink::platforms
