#include "real/job/agreement.hpp"

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

#include <algorithm>

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
  for (const char* name : {"--timeline", "--trace", "--json", "--chunk"}) command.add_option(name, value);
  std::ranges::reverse(arguments);
  command.parse(arguments);
  return text(settings_of(command, "1.0"));
}

TEST(Agreement, FilesThatRankZeroWritesMayDifferButNotWhetherAllTakePart) {
  for (const std::string name : {"--timeline", "--trace"}) {
    EXPECT_EQ(of({told({name, "a.json"}), told({name, "b.json"})}), "") << name;
    EXPECT_NE(of({told({name, "a.json"}), told({})}), "") << name;
    EXPECT_NE(of({told({}), told({name, "a.json"})}), "") << name;
  }
  EXPECT_EQ(of({told({"--json", "a.json"}), told({})}), "");
  EXPECT_EQ(of({told({"--chunk", "1"}), told({"--chunk", "1"})}), "");
  EXPECT_NE(of({told({"--chunk", "1"}), told({"--chunk", "2"})}), "");
}

TEST(Agreement, IsNotWhereCommandsDiffer) {
  EXPECT_EQ(of({text({{"the command", "run"}}), text({{"the command", "probe"}})}),
            "the ranks run different commands; all must be started alike");
}

}  // namespace
}  // namespace twinlink::real
