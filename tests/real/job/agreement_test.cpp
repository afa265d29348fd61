#include "real/job/agreement.hpp"

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace twinlink::real {
namespace {

std::string text(const std::vector<Setting>& settings) { return to_text(settings); }

std::string of(const std::vector<std::string>& texts) { return difference(texts); }

TEST(Agreement, IsWhereAllHaveTheSame) {
  EXPECT_EQ(of({text({{"--chunk", "8M"}}), text({{"--chunk", "8M"}}), text({{"--chunk", "8M"}})}), "");
  EXPECT_EQ(of({"", ""}), "") << "no command";
}

TEST(Agreement, NamesTheFirstSettingThatDiffersWithItsValuesAndRanks) {
  EXPECT_EQ(of({text({{"--depth", "2"}, {"--chunk", "8M"}}), text({{"--depth", "2"}, {"--chunk", "4M"}}),
                text({{"--depth", "2"}, {"--chunk", "8M"}})}),
            "the ranks must be started alike: --chunk is 8M on ranks 0, 2 and 4M on rank 1");
}

TEST(Agreement, NamesASettingThatRankZeroDoesNotKnow) {
  EXPECT_EQ(of({text({{"--chunk", "8M"}}), text({{"--chunk", "8M"}, {"--new", "yes"}})}),
            "the ranks must be started alike: --new is not given on rank 0 and yes on rank 1");
}

/// What a rank that was started with `arguments` tells the others.
std::string told(std::vector<std::string> arguments) {
  CLI::App command("a command", "run");
  std::string value;
  std::vector<std::string> several;
  for (const char* name : {"--timeline", "--trace", "--gpus", "--host-memory", "--nvtx", "--expect", "--json", "--csv",
                           "--format", "--out", "--samples", "--chunk", "-p,--protocol"}) {
    command.add_option(name, value);
  }
  command.add_option("--depth", value)->default_str("the protocol's");
  command.add_option("-o,--option", several);
  command.add_flag("--bind");
  command.add_option("figure", value);
  std::ranges::reverse(arguments);
  command.parse(arguments);
  return text(settings_of(command, "1.0"));
}

TEST(Agreement, FilesThatRankZeroWritesMayDifferButNotWhetherAllTakePart) {
  for (const std::string name : {"--timeline", "--trace"}) {
    EXPECT_EQ(of({told({name, "a.json"}), told({name, "b.json"})}), "") << name;
    EXPECT_EQ(of({told({name, "a.json"}), told({})}),
              "the ranks must be started alike: " + name + " is given on rank 0 and not given on rank 1");
    EXPECT_EQ(of({told({}), told({name, "a.json"})}),
              "the ranks must be started alike: " + name + " is not given on rank 0 and given on rank 1");
  }
}

TEST(Agreement, EachRankHasItsOwnDeviceAndOutput) {
  for (const std::string name :
       {"--gpus", "--host-memory", "--nvtx", "--expect", "--json", "--csv", "--format", "--out", "--samples"}) {
    EXPECT_EQ(of({told({name, "a"}), told({name, "b"}), told({})}), "") << name;
  }
}

TEST(Agreement, WhatRunsIsOneForAll) {
  const auto differs = [](std::vector<std::string> one, std::vector<std::string> other) {
    return of({told(std::move(one)), told(std::move(other))});
  };
  const std::string alike = "the ranks must be started alike: ";
  EXPECT_EQ(differs({"--chunk", "1"}, {"--chunk", "1"}), "");
  EXPECT_EQ(differs({"--chunk", "1"}, {"--chunk", "2"}), alike + "--chunk is 1 on rank 0 and 2 on rank 1");
  EXPECT_EQ(differs({"-p", "host"}, {"--protocol", "host"}), "");
  EXPECT_EQ(differs({"-p", "host"}, {}), alike + "--protocol is host on rank 0 and not given on rank 1");
  EXPECT_EQ(differs({}, {"--depth", "3"}), alike + "--depth is the protocol's on rank 0 and 3 on rank 1");
  EXPECT_EQ(differs({"-o", "a=1", "-o", "b=2"}, {"-o", "a=1"}),
            alike + "--option is a=1 b=2 on rank 0 and a=1 on rank 1");
  EXPECT_EQ(differs({"--bind"}, {}), alike + "--bind is true on rank 0 and not given on rank 1");
  EXPECT_EQ(differs({"one"}, {"other"}), alike + "figure is one on rank 0 and other on rank 1");
  CLI::App command("a command", "run");
  EXPECT_EQ(of({text(settings_of(command, "1.0")), text(settings_of(command, "1.1"))}),
            alike + "the version is 1.0 on rank 0 and 1.1 on rank 1");
}

TEST(Agreement, IsNotWhereCommandsDiffer) {
  EXPECT_EQ(of({text({{"the command", "run"}}), text({{"the command", "probe"}})}),
            "the ranks run different commands; all must be started alike");
}

}  // namespace
}  // namespace twinlink::real
