#include "protocols/bench/cli/help.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace twinlink::bench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// A program with two commands, one of which takes something.
struct Sample {
  CLI::App app{"Does something.", "twinlink-test"};
  CLI::App* measure = app.add_subcommand("measure", "Measure something");
  std::string file{};
  std::string size = "4K";
  bool at_once = false;
  int times = 1;

  Sample() {
    app.require_subcommand(1);
    app.add_subcommand("list", "Say what there is");
    measure->add_option("file", file, "What is measured")->required()->type_name("FILE");
    CLI::Option* const option = measure->add_option("-s,--size", size, "How much of it, " + std::string(150, 'x'))
                                    ->type_name("SIZE")
                                    ->default_str("4K")
                                    ->group("Sizes");
    measure->add_option("--times", times, "How often")->check(CLI::Range(1, 9))->type_name("N");
    measure->add_flag("--at-once", at_once, "A word " + std::string(60, 'y') + " and another word")->needs(option);
    measure->footer("More to be said.");
    add_examples(*measure, {"twinlink-test measure a.txt", "twinlink-test measure -s 1M b.txt"});
    set_help_form(app);
  }

  /// What is said of a command line that is refused.
  std::string refusal(std::vector<std::string> words) {
    std::ranges::reverse(words);
    try {
      app.parse(words);
    } catch (const CLI::ParseError& error) {
      return describe(app, error);
    }
    return "";
  }
};

TEST(Help, AnArgumentAndAnOptionOfOneNameClash) {
  Sample sample;
  EXPECT_EQ(clash_of_names(sample.app), "");
  std::string value;
  CLI::App* const below = sample.measure->add_subcommand("again");
  below->add_option("--folder", value);
  EXPECT_EQ(clash_of_names(sample.app), "");
  // CLI11 2.4 sees it where the option comes last, so here it comes first.
  sample.measure->add_option("folder", value);
  EXPECT_EQ(clash_of_names(sample.app), "again: argument and option folder");
}

TEST(Help, AnArgumentMayHaveANameToo) {
  CLI::App app{"Does something.", "twinlink-test"};
  std::string machine;
  app.add_option("machine,--platform", machine, "Which machine")->required()->type_name("NAME");
  set_help_form(app);
  EXPECT_THAT(app.help(), AllOf(HasSubstr("Usage: twinlink-test [--platform] NAME [OPTION...]\n"),
                                HasSubstr("\n  --platform NAME         Which machine (required)\n"),
                                testing::Not(HasSubstr("Arguments:"))));
  for (const char* line : {"here", "--platform here"}) {
    app.parse(line);
    EXPECT_EQ(machine, "here");
  }
}

TEST(Help, NamesTheCommandsInTheirOrder) {
  Sample sample;
  const std::string help = sample.app.help();
  EXPECT_THAT(help, testing::StartsWith("Does something.\n\nUsage: twinlink-test COMMAND [OPTION...]\n"));
  EXPECT_THAT(help, HasSubstr("  measure                 Measure something\n"
                              "  list                    Say what there is\n"));
  EXPECT_THAT(help, HasSubstr("Exit codes: 0 done; 1 "));
}

TEST(Help, HasGroupsExamplesAndOneNotationOfDefaults) {
  Sample sample;
  const std::string help = sample.measure->help("twinlink-test");
  EXPECT_THAT(help, HasSubstr("Usage: twinlink-test measure [OPTION...] FILE\n\nArguments:\n  FILE "));
  EXPECT_THAT(help, HasSubstr("\nSizes:\n  -s, --size SIZE "));
  EXPECT_THAT(help, HasSubstr(" (default: 4K)\n"));
  EXPECT_THAT(help, HasSubstr("\n  --times N               How often\n"));
  EXPECT_THAT(help, HasSubstr("(needs --size)\n"));
  EXPECT_THAT(help, HasSubstr("\nMore to be said.\n\nExamples:\n  twinlink-test measure a.txt\n  twinlink-test m"));
}

TEST(Help, WrapsItsLines) {
  Sample sample;
  std::istringstream lines(sample.measure->help("twinlink-test"));
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with("xxx")) continue;  // a word of 150 letters
    EXPECT_LE(line.size(), kHelpWidth) << line;
  }
}

TEST(OptionList, SaysWhatEachCommandTakes) {
  Sample sample;
  const nlohmann::json list = option_list(sample.app, "twinlink-test 1.2");
  EXPECT_EQ(list["program"], "twinlink-test 1.2");
  const nlohmann::json& measure = list["command"]["commands"][0];
  EXPECT_EQ(measure["name"], "measure");
  std::map<std::string, nlohmann::json> options;
  for (const nlohmann::json& option : measure["options"]) options[option["name"]] = option;
  EXPECT_EQ(options.count("help"), 0U);
  EXPECT_EQ(options.at("FILE")["argument"], true);
  EXPECT_EQ(options.at("size")["argument"], false);
  EXPECT_EQ(options.at("size")["flag"], false);
  EXPECT_EQ(options.at("at-once")["flag"], true);
  EXPECT_EQ(options.at("size")["type"], "SIZE");
  EXPECT_EQ(options.at("size")["default"], "4K");
  EXPECT_EQ(options.at("times")["type"], "N");
  EXPECT_THAT(list.dump(), HasSubstr(R"("needs":["--size"])"));
}

TEST(Describe, GuessesWhatAWordWasMeantToBe) {
  EXPECT_EQ(Sample().refusal({"mesure"}), "there is no command 'mesure'; did you mean 'measure'?");
  EXPECT_EQ(Sample().refusal({"quite-another"}), "there is no command 'quite-another'");
  EXPECT_EQ(Sample().refusal({"measure", "a", "--sise=3"}), "there is no option '--sise'; did you mean '--size'?");
  EXPECT_THAT(Sample().refusal({"measure", "a", "--colour"}), HasSubstr("--colour"));
  EXPECT_THAT(Sample().refusal({"measure"}), HasSubstr("file is required"));
  EXPECT_EQ(Sample().refusal({}), "a command is required");
}

}  // namespace
}  // namespace twinlink::bench
