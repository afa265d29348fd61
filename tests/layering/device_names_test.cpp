// Rules go by facts and never by the name under which a device is sold: no code of protocols/ and model/ knows one.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twinlink::layering {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

/// The names in the code of a file, one for each line that has any. Comments may name devices.
std::vector<std::string> names_in(std::istream& code) {
  static const std::regex sold(
      "\\b(NVIDIA [A-Z]|Tesla |GeForce|Instinct|G?[HB][12]00|GH200|A[1-8]00?|V100|P100|[MKL][1-9]0[0-9]*[Sm]?|"
      "MI[1-3][05]0X?|RTX|TITAN)");
  std::vector<std::string> names;
  std::smatch found;
  for (std::string line; std::getline(code, line);) {
    line.resize(std::min(line.find("//"), line.size()));
    if (std::regex_search(line, found, sold)) names.push_back(found.str());
  }
  return names;
}

/// Help that names a device as an example.
constexpr std::array<std::string_view, 2> kHelp{"gpudirect_v2.cpp", "command_import.cpp"};

TEST(DeviceNames, NoneStandsInTheCode) {
  int files = 0;
  for (const char* folder : {"protocols", "model"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(TWINLINK_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
      ++files;
      if (std::ranges::find(kHelp, entry.path().filename().string()) != kHelp.end()) continue;
      std::ifstream code(entry.path());
      EXPECT_THAT(names_in(code), IsEmpty()) << entry.path();
    }
  }
  EXPECT_GT(files, 300);
}

TEST(DeviceNames, AreFoundWhereTheyStand) {
  std::istringstream code(
      "if (model.find(\"H100\")) {}  // not A100\n// V100\nx = \"Tesla K40m\";\nkMost100 HX100 \"hgx-h100\" M_PI\n");
  EXPECT_THAT(names_in(code), ElementsAre("H100", "Tesla "));
}

}  // namespace
}  // namespace twinlink::layering
