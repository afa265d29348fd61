// The JSON Schema of platform files: as it is stored, and complete.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "platforms/machine/platform_numbers.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/tools/platform_schema.hpp"
#include "tests/platforms/whole_platform.hpp"

namespace twinlink::platforms {
namespace {

using nlohmann::json;

/// What the schema says of `key` in a map that `at` describes; nullptr if it allows no such key.
const json* step(const json& schema, const json* at, const std::string& key) {
  if (const auto reference = at->find("$ref"); reference != at->end()) {
    at = &schema.at(json::json_pointer(reference->get<std::string>().substr(1)));
  }
  if (const auto properties = at->find("properties"); properties != at->end() && properties->contains(key)) {
    return &properties->at(key);
  }
  const auto others = at->find("additionalProperties");
  return others != at->end() && others->is_object() ? &*others : nullptr;
}

TEST(PlatformSchema, IsStoredAsTheProgramPrintsIt) {
  std::ifstream file("platforms/platform.schema.json");
  const std::string stored{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(stored, platform_schema()) << "twinlink-sim list schema > platforms/platform.schema.json";
}

TEST(PlatformSchema, HasEveryNumberOfEveryPlatform) {
  const json schema = json::parse(platform_schema());
  std::vector<std::filesystem::path> files{testing::kWhole};
  for (const auto& entry : std::filesystem::directory_iterator("platforms")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  for (const std::filesystem::path& file : files) {
    for (const NumberEntry& number : all_numbers(read_platform(file))) {
      std::istringstream keys(number.path.substr(0, number.path.find('[')));
      const json* at = &schema;
      for (std::string key; at != nullptr && std::getline(keys, key, '.');) at = step(schema, at, key);
      ASSERT_NE(at, nullptr) << file << ": " << number.path;
      EXPECT_TRUE(at->contains("$ref")) << number.path << " is a number";
    }
  }
}

}  // namespace
}  // namespace twinlink::platforms
