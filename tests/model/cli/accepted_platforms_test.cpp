// Whatever platform `check` accepts, the other commands simulate with times that are finite and positive, or refuse by
// naming what of it they cannot do. Shipped platforms, changed at random from a seed, are what is tried.
//
// TWINLINK_MUTATIONS=5000 tries as many, TWINLINK_SEED=7 begins elsewhere.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/engine/flows/platform_names.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/reader/platform_writer.hpp"
#include "platforms/yaml/yaml_text.hpp"
#include "protocols/core/errors.hpp"
#include "tests/support/number_from.hpp"

namespace twinlink::model {
namespace {

namespace fs = std::filesystem;
using Kind = YamlValue::Kind;

std::string read_text(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// One change of a platform's tree, chosen by a seed, and what it was in words.
class Mutation {
 public:
  explicit Mutation(std::uint64_t seed) : random_(seed) {}

  std::string apply(YamlValue& document) {
    collect(document, "");
    switch (below(4)) {
      case 0:
      case 1:
        return change_number();
      case 2:
        return remove_key();
      default:
        return exchange_word();
    }
  }

 private:
  struct Scalar {
    YamlValue* value;
    std::string path;
    std::string key;
  };
  struct Entry {
    YamlValue* map;
    std::size_t place;
    std::string path;
  };

  std::size_t below(std::size_t limit) { return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_); }

  template <class T>
  T& any(std::vector<T>& all) {
    return all[below(all.size())];
  }

  void collect(YamlValue& value, const std::string& path) {
    for (std::size_t i = 0; i < value.entries.size(); ++i) {
      YamlValue::Entry& entry = value.entries[i];
      if (path.empty() && (entry.key == "sources" || entry.key == "description" || entry.key == "schema")) continue;
      const std::string here = path + (path.empty() ? "" : ".") + entry.key;
      entries_.push_back({&value, i, here});
      if (value.is_number() && entry.key != "value") continue;  // its source
      take(entry.value, here, entry.key, value.is_number());
    }
  }

  void take(YamlValue& value, const std::string& path, const std::string& key, bool number) {
    if (value.kind == Kind::scalar) (number ? numbers_ : words_).push_back({&value, path, key});
    for (YamlValue& item : value.items) take(item, path, key, number);
    if (value.kind == Kind::map) collect(value, path);
  }

  std::string change_number() {
    constexpr std::array<double, 9> kFactors{0, -1, 1e-300, 1e-12, 1e-3, 1e3, 1e12, 1e300, NAN};
    Scalar& number = any(numbers_);
    std::istringstream text(number.value->text);
    double value = 0;
    std::string unit;
    text >> value >> unit;
    const std::string changed = fmt::format("{:.12g} {}", value * kFactors[below(kFactors.size())], unit);
    return std::exchange(number.value->text, changed) + " of " + number.path + " became " + changed;
  }

  std::string remove_key() {
    const Entry gone = any(entries_);
    gone.map->entries.erase(gone.map->entries.begin() + static_cast<std::ptrdiff_t>(gone.place));
    return gone.path + " was removed";
  }

  /// A word takes the place of another one, of the same key half of the time: links end elsewhere, counts grow.
  std::string exchange_word() {
    Scalar& word = any(words_);
    constexpr int kTries = 8;
    std::string other = any(words_).value->text;
    for (int i = 0; i < kTries; ++i) {
      const Scalar& candidate = any(words_);
      if (candidate.key == word.key && candidate.value->text != word.value->text) other = candidate.value->text;
    }
    return std::exchange(word.value->text, other) + " of " + word.path + " became " + other;
  }

  std::mt19937_64 random_;
  std::vector<Scalar> numbers_{};
  std::vector<Scalar> words_{};
  std::vector<Entry> entries_{};
};

std::vector<fs::path> shipped() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(TWINLINK_SOURCE_DIR) / "platforms")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

/// A time that a file tells must be one. What is no number stands in JSON as null.
void check_times(const nlohmann::json& json) {
  for (const auto& [key, value] : json.items()) {
    if (value.is_structured()) check_times(value);
    if (!key.ends_with("_us") && key != "bandwidth_MBps") continue;
    if (value.is_array()) continue;
    ASSERT_TRUE(value.is_number()) << key << " is " << value;
    if (key == "time_us") {
      EXPECT_GT(value.get<double>(), 0);
    }
  }
}

class AcceptedPlatforms : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / fmt::format("accepted_platforms_{}", ::getpid());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// twinlink-sim ends in time, by itself, and with what a user can do something about.
  void expect_answer(const std::string& arguments) {
    SCOPED_TRACE(arguments);
    const fs::path out = folder_ / "out.json";
    fs::remove(out);
    const std::string command = fmt::format("cd '{}' && timeout 60 '{}' {} --json out.json >out.log 2>err.log",
                                            folder_.string(), TWINLINK_SIM_PROGRAM, arguments);
    const int status = std::system(command.c_str());
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    const std::string error = read_text(folder_ / "err.log");
    switch (static_cast<ExitCode>(code)) {
      case ExitCode::ok:
        check_times(nlohmann::json::parse(read_text(out)));
        return;
      case ExitCode::bad_usage:
        EXPECT_THAT(error, ::testing::HasSubstr("changed.yaml"));
        return;
      case ExitCode::unavailable:  // no protocol or no peer, with the reason
        EXPECT_NE(error, "");
        return;
      case ExitCode::failed:
        EXPECT_THAT(error, ::testing::HasSubstr("timed out"));  // so slow that nobody waits for it
        return;
    }
    ADD_FAILURE() << "ended with " << code << ": " << error;
  }

  fs::path folder_;
};

TEST_F(AcceptedPlatforms, AreSimulatedOrRefusedByName) {
  const std::uint64_t mutations = number_from("TWINLINK_MUTATIONS", 40);
  const std::uint64_t first = number_from("TWINLINK_SEED", 1);
  const std::vector<fs::path> files = shipped();
  constexpr std::array kProtocols{"staging", "host", "cuda-ipc", "gpudirect-v1", "gpudirect-v2", "cuda-aware"};
  int accepted = 0;
  for (std::uint64_t seed = first; seed < first + mutations; ++seed) {
    const fs::path& shipped_file = files[seed % files.size()];
    YamlValue tree = platform_tree(read_platform(shipped_file));
    const std::string what = Mutation(seed).apply(tree);
    SCOPED_TRACE(fmt::format("seed {}: {}: {}", seed, shipped_file.filename().string(), what));
    const std::string text = to_yaml(tree);
    std::ofstream(folder_ / "changed.yaml") << text;
    try {
      static_cast<void>(read_platform(folder_ / "changed.yaml"));
    } catch (const InputError&) {
      continue;
    }
    ++accepted;
    const std::string platform = " --platform changed.yaml ";
    expect_answer("run" + platform + "-b 4 -e 64K -f 16384 -p " + kProtocols[seed % kProtocols.size()]);
    expect_answer("explain" + platform + "-s 64K");
    expect_answer("advise" + platform + "-b 64K -e 64K -p staging,gpudirect-v1,gpudirect-v2 --chunk 0 --depth 1 -j 1");
    expect_answer("probe" + platform + "--only pinned-to-device -b 4 -e 64K -f 16384");
    if (HasFailure()) break;
  }
  EXPECT_GT(accepted, static_cast<int>(mutations / 10)) << "nearly all of the changes are refused";
}

}  // namespace
}  // namespace twinlink::model
