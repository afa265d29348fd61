#include "protocols/bench/cli/program.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <new>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>

namespace twinlink::bench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Ending {
  int code = 0;
  std::string out{};
  std::string err{};
};

Ending run(std::vector<const char*> arguments, const std::function<ExitCode()>& body) {
  CLI::App app("Does something.", "twinlink-test");
  int size = 0;
  app.add_option("--size", size, "A size in bytes");
  arguments.insert(arguments.begin(), "./twinlink-test");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = run_main(app, static_cast<int>(arguments.size()), arguments.data(), body);
  return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

template <class E>
Ending ending_of(const E& error) {
  return run({}, [&]() -> ExitCode { throw error; });
}

ExitCode succeed() { return ExitCode::ok; }
ExitCode must_not_run() {
  ADD_FAILURE() << "the body ran";
  return ExitCode::ok;
}

TEST(Program, EndsWithTheCodeOfItsBody) {
  EXPECT_EQ(run({}, succeed).code, 0);
  EXPECT_EQ(run({"--size", "3"}, [] { return ExitCode::failed; }).code, 1);
}

TEST(Program, HelpGoesToStandardOutput) {
  const Ending ending = run({"--help"}, must_not_run);
  EXPECT_EQ(ending.code, 0);
  EXPECT_THAT(ending.out, AllOf(HasSubstr("Does something."), HasSubstr("A size in bytes")));
  EXPECT_EQ(ending.err, "");
}

TEST(Program, ListsItsOptionsForOtherPrograms) {
  const Ending ending = run({"--list-options"}, must_not_run);
  EXPECT_EQ(ending.code, 0);
  EXPECT_THAT(ending.out, AllOf(HasSubstr(R"("kind":"twinlink-options")"), HasSubstr(R"("name":"size")")));
}

TEST(Program, UsageErrorsGoToStandardErrorAndEndWithTwo) {
  for (const auto& arguments : {std::vector{"--siez", "3"}, {"--size", "many"}, {"--size"}}) {
    const Ending ending = run(arguments, must_not_run);
    EXPECT_EQ(ending.code, 2);
    EXPECT_EQ(ending.out, "");
    EXPECT_THAT(ending.err,
                AllOf(testing::StartsWith("twinlink-test: error: "), HasSubstr("--si"), HasSubstr("--help")));
  }
}

TEST(Program, ErrorsEndWithTheirOwnCode) {
  EXPECT_EQ(ending_of(UsageError("no")).code, 2);
  EXPECT_EQ(ending_of(UnavailableError("no GPU")).code, 77);
  EXPECT_EQ(ending_of(Error("lost")).code, 1);
  EXPECT_EQ(ending_of(Error("lost")).err, "twinlink-test: error: lost\n");
}

TEST(Program, OtherExceptionsEndWithOne) {
  EXPECT_EQ(ending_of(std::runtime_error("odd")).code, 1);
  EXPECT_EQ(ending_of(std::runtime_error("odd")).err,
            "twinlink-test: error: this is a fault of the program, not of what it was given; please report it with the "
            "command line: odd\n");
  const std::filesystem::filesystem_error gone("cannot remove", "x.json",
                                               std::make_error_code(std::errc::no_such_file_or_directory));
  EXPECT_EQ(ending_of(gone).err, "twinlink-test: error: x.json: No such file or directory\n");
  EXPECT_EQ(ending_of(std::bad_alloc()).err, "twinlink-test: error: out of memory\n");
}

TEST(Program, EveryFindingOfAFileKeepsItsPlace) {
  EXPECT_EQ(ending_of(InputError("p.yaml:3:5: error: one\np.yaml:4:1: error: two")).err,
            "p.yaml:3:5: error: one\np.yaml:4:1: error: two\n");
}

TEST(CommandLine, IsOneThatAShellReadsBack) {
  const std::vector<const char*> words{"twinlink-sim", "--set", "a b=1", "it's", "", "0/1", "$HOME"};
  EXPECT_EQ(command_line(static_cast<int>(words.size()), words.data()),
            R"(twinlink-sim --set 'a b=1' 'it'\''s' '' 0/1 '$HOME')");
}

TEST(CommandLine, NamesTheProgramAndNotItsFolder) {
  const std::vector<const char*> words{"/home/me/build/bin/twinlink-sim", "check", "platforms/a.yaml"};
  EXPECT_EQ(command_line(static_cast<int>(words.size()), words.data()), "twinlink-sim check platforms/a.yaml");
}

}  // namespace
}  // namespace twinlink::bench
