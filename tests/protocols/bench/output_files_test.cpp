#include "protocols/bench/results/output_files.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

#include "protocols/bench/cli/options.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::bench {
namespace {

namespace fs = std::filesystem;

class OutputFiles : public testing::Test {
 protected:
  OutputFiles() {
    fs::create_directories(folder_ / "sub");
    std::ofstream(folder_ / "read") << "text";
    fs::create_symlink("read", folder_ / "link");
    fs::create_symlink("new", folder_ / "link-to-new");
    fs::create_hard_link(folder_ / "read", folder_ / "hard");
  }
  ~OutputFiles() override { fs::remove_all(folder_); }

  /// What `check` says, without the name of the folder.
  template <class Check>
  std::string refusal(const Check& check) {
    try {
      check();
    } catch (const UsageError& error) {
      std::string text = error.what();
      const std::string prefix = folder_.string() + "/";
      for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) text.erase(at, prefix.size());
      return text;
    }
    return "";
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("twinlink-output-files-" + std::to_string(::getpid()));
};

TEST_F(OutputFiles, AreOthersThanTheInputsAndEachOther) {
  struct Case {
    std::string json;
    std::string csv;
    std::string refusal;
  };
  const std::vector<Case> cases{
      {"new", "other", ""},
      {"new", "", ""},
      {"", "", ""},
      {"read", "", "--json read would overwrite the input; name another file"},
      {"./read", "", "--json ./read would overwrite the input; name another file"},
      {"sub/../read", "", "--json sub/../read would overwrite the input; name another file"},
      {"link", "", "--json link would overwrite the input; name another file"},
      {"hard", "", "--json hard would overwrite the input; name another file"},
      {"new", "read", "--csv read would overwrite the input; name another file"},
      {"missing", "", "--json missing would overwrite the input; name another file"},
      {"new", "new", "--json new and --csv new are the same file; name another one"},
      {"new", "sub/../new", "--json new and --csv sub/../new are the same file; name another one"},
      {"new", "link-to-new", "--json new and --csv link-to-new are the same file; name another one"},
      {"/dev/null", "/dev/null", ""},
  };
  const NamedFiles inputs = named("the input", {folder_ / "read", folder_ / "missing", "/dev/null"});
  const auto in_folder = [this](const std::string& name) { return name.empty() ? fs::path() : folder_ / name; };
  for (const auto& [json, csv, expected] : cases) {
    const NamedFiles outputs{{"--json", in_folder(json)}, {"--csv", in_folder(csv)}};
    EXPECT_EQ(refusal([&] { require_other_files(outputs, inputs); }), expected) << json << " " << csv;
  }
}

TEST_F(OutputFiles, OfARunAreAllLookedAt) {
  const NamedFiles inputs{{"the platform", folder_ / "read"}, {"nothing", {}}};
  const auto of = [&](RunOptions options) { return refusal([&] { require_writable(options, inputs); }); };
  EXPECT_EQ(of({.output = {.json = folder_ / "a", .csv = folder_ / "b"}, .trace = folder_ / "c"}), "");
  EXPECT_EQ(of({.output = {.json = folder_ / "read"}}), "--json read would overwrite the platform; name another file");
  EXPECT_EQ(of({.trace = folder_ / "link"}), "--trace link would overwrite the platform; name another file");
  EXPECT_EQ(of({.output = {.json = folder_ / "a"}, .trace = folder_ / "a"}),
            "--json a and --trace a are the same file; name another one");
  EXPECT_EQ(of({.output = {.json = folder_ / "a", .csv = folder_ / "a"}}),
            "--json a and --csv a are the same file; name another one");
  // Of several pairs each has a file.
  EXPECT_EQ(of({.output = {.json = folder_ / "a.json", .csv = folder_ / "a-2.json"}, .pairs = parse_pairs("0-1,2-3")}),
            "--csv a-2.json and --json a-2.json are the same file; name another one");
}

}  // namespace
}  // namespace twinlink::bench
