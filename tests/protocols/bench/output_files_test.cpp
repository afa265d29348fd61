#include "protocols/bench/results/output_files.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/results/files.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::bench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNone = "nothing was refused";

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
    std::string text = said_by(check);
    const std::string prefix = folder_.string() + "/";
    for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) text.erase(at, prefix.size());
    return text;
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
      {"new", "other", kNone},
      {"new", "", kNone},
      {"", "", kNone},
      {"read", "", "--json read would overwrite an input; name another file"},
      {"./read", "", "--json ./read would overwrite an input; name another file"},
      {"sub/../read", "", "--json sub/../read would overwrite an input; name another file"},
      {"link", "", "--json link would overwrite an input; name another file"},
      {"hard", "", "--json hard would overwrite an input; name another file"},
      {"new", "read", "--csv read would overwrite an input; name another file"},
      {"missing", "", "--json missing would overwrite an input; name another file"},
      {"new", "new", "--json new and --csv new are the same file; name another one"},
      {"new", "sub/../new", "--json new and --csv sub/../new are the same file; name another one"},
      {"new", "link-to-new", "--json new and --csv link-to-new are the same file; name another one"},
      {"/dev/null", "/dev/null", kNone},
  };
  const auto in_folder = [this](const std::string& name) { return name.empty() ? fs::path() : folder_ / name; };
  for (const auto& [json, csv, expected] : cases) {
    const auto open = [&] {
      for (const fs::path& input : {folder_ / "read", folder_ / "missing", fs::path("/dev/null")}) note_input(input);
    };
    for (const bool later : {false, true}) {
      const FilesInUse files;
      if (!later) open();
      const auto ask = [&] {
        note_output("--json", in_folder(json));
        note_output("--csv", in_folder(csv));
        if (later) open();
      };
      EXPECT_EQ(refusal(ask), expected) << (later ? "opened later: " : "") << json << " " << csv;
    }
  }
}

/// Whoever forgets to ask overwrites nothing all the same.
/// What elsewhere means standard output made a file of that name here.
TEST_F(OutputFiles, AreNoDash) {
  const FilesInUse files;
  EXPECT_EQ(refusal([] { note_output("--json", "-"); }),
            "--json - is no file: name one, or ./-, or see what is printed");
  EXPECT_EQ(refusal([] { note_output("--json", "./-"); }), kNone);
}

TEST_F(OutputFiles, WhatWasReadIsNotWrittenByWhoeverAskedNothing) {
  const FilesInUse files;
  EXPECT_EQ(read_file(folder_ / "link"), "text");
  for (const char* name : {"read", "link", "hard", "./sub/../read"}) {
    EXPECT_EQ(refusal([&] { write_file(folder_ / name, "other"); }),
              std::string(name) + " would overwrite an input; name another file");
  }
  write_file(folder_ / "new", "other");
  EXPECT_EQ(read_file(folder_ / "hard"), "text");
}

TEST_F(OutputFiles, OfARunAreAllLookedAt) {
  const auto of = [&](const RunOptions& options) {
    const FilesInUse files;
    note_input(folder_ / "read");
    return refusal([&] { require_writable(options); });
  };
  EXPECT_EQ(of({.output = {.json = folder_ / "a", .csv = folder_ / "b"}, .trace = folder_ / "c"}), kNone);
  EXPECT_EQ(of({.output = {.json = folder_ / "read"}}), "--json read would overwrite an input; name another file");
  EXPECT_EQ(of({.trace = folder_ / "link"}), "--trace link would overwrite an input; name another file");
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
