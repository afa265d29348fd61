#include "model/study/child_process.hpp"

#include <gtest/gtest.h>

#include <array>
#include <csignal>

#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "protocols/core/errors.hpp"

namespace twinlink::model {
namespace {

/// The class of what a child that throws `thrown` gives its parent.
template <class Expected, class Thrown>
void expect_same(const Thrown& thrown) {
  try {
    in_child_process([&]() -> std::string { throw thrown; });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(typeid(error), typeid(Expected));
    EXPECT_STREQ(error.what(), thrown.what());
  }
}

TEST(ChildProcess, GivesItsText) {
  const std::string text(1'000'000, 'x');  // more than a pipe holds
  EXPECT_EQ(in_child_process([&] { return text; }), text);
}

TEST(ChildProcess, GivesItsTextWhateverInterruptsIt) {
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += std::to_string(i);
  EXPECT_EQ(in_child_process([&] {
              struct sigaction action {};
              action.sa_handler = [](int) {};
              ::sigaction(SIGALRM, &action, nullptr);
              const itimerval often{.it_interval = {.tv_sec = 0, .tv_usec = 50},
                                    .it_value = {.tv_sec = 0, .tv_usec = 50}};
              ::setitimer(ITIMER_REAL, &often, nullptr);
              return text;
            }),
            text);
}

TEST(ChildProcess, ItsErrorsKeepTheirClass) {
  expect_same<InputError>(InputError("p.yaml:3:5: error: one"));
  expect_same<UsageError>(UsageError("wrong"));
  expect_same<UnavailableError>(UnavailableError("no GPU"));
  expect_same<Error>(Error("lost"));
  expect_same<Error>(std::runtime_error("odd"));
}

TEST(ChildProcess, ItsDeathIsAnError) {
  EXPECT_THROW(in_child_process([]() -> std::string {
                 ::raise(SIGKILL);
                 return {};
               }),
               EnvironmentError);
  EXPECT_THROW(in_child_process([]() -> std::string { ::_exit(99); }), EnvironmentError);
}

using Works = std::vector<std::function<std::string()>>;

TEST(ChildProcesses, GiveTheirTextsInOrderWhoeverEndsFirst) {
  // Of two at a time, the first waits for the second: it ends when the second closes its end of a pipe.
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const Works works{[&] {
                      char c = 0;
                      return ::read(ends[0], &c, 1) == 1 ? std::string(1, c) : "nothing";
                    },
                    [&] { return ::write(ends[1], "x", 1) == 1 ? std::string(200'000, 'y') : "nothing"; },
                    [] { return std::string("z"); }};
  EXPECT_EQ(in_child_processes(works, 2), (std::vector<std::string>{"x", std::string(200'000, 'y'), "z"}));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(ChildProcesses, OneAtATimeAndNoneAreFine) {
  const Works works{[] { return std::string("a"); }, [] { return std::string("b"); }, [] { return std::string(); }};
  EXPECT_EQ(in_child_processes(works, 1), (std::vector<std::string>{"a", "b", ""}));
  EXPECT_TRUE(in_child_processes({}, 4).empty());
}

TEST(ChildProcesses, TheFirstErrorInTheOrderOfTheWorksIsThrownAfterAllHaveEnded) {
  const Works works{[] { return std::string("fine"); }, []() -> std::string { throw UsageError("first"); },
                    []() -> std::string { throw UnavailableError("second"); }};
  try {
    in_child_processes(works, 3);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "first");
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

/// As long as this lives, the process can have no file with a number of `most` or above.
class FewFiles {
 public:
  explicit FewFiles(int most) {
    ::getrlimit(RLIMIT_NOFILE, &usual_);
    const rlimit few{.rlim_cur = static_cast<rlim_t>(most), .rlim_max = usual_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewFiles() { ::setrlimit(RLIMIT_NOFILE, &usual_); }
  FewFiles(const FewFiles&) = delete;
  FewFiles& operator=(const FewFiles&) = delete;

 private:
  rlimit usual_{};
};

/// The number that the next file will get.
int next_file() {
  const int file = ::dup(STDERR_FILENO);
  ::close(file);
  return file;
}

TEST(ChildProcesses, LeaveNothingBehindWhereOneCannotBegin) {
  const auto sleep = []() -> std::string {
    ::alarm(30);
    ::pause();
    return {};
  };
  const Works works{sleep, sleep};
  const int first = next_file();
  {
    // Room for the pipe of one child, and for half of the next one's.
    const FewFiles few(first + 2);
    EXPECT_THROW(in_child_processes(works, 2), EnvironmentError);
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
  EXPECT_EQ(next_file(), first) << "a pipe is left";
}

TEST(EachChildProcess, TellsWhatIsLostFromWhatFails) {
  const std::vector<std::function<std::string()>> works{
      [] { return std::string("a text"); },
      []() -> std::string { throw UsageError("wrong"); },
      []() -> std::string { throw InputError("file:1"); },
      []() -> std::string { throw EnvironmentError("write", "full"); },
      []() -> std::string { throw std::bad_alloc(); },
      []() -> std::string {
        std::raise(SIGKILL);
        return "";
      }};
  std::vector<int> lost(works.size(), -1);
  std::string text;
  in_each_child_process(
      works.size(), [&](std::size_t number) { return works[number](); }, 2,
      [&](const ChildEnd& end) {
        lost[end.number] = end.lost() ? 1 : 0;
        if (end.number == 0) text = end.get();
        if (end.number > 0) {
          EXPECT_THROW((void)end.get(), Error);
        }
      });
  EXPECT_EQ(text, "a text");
  EXPECT_EQ(lost, (std::vector{0, 0, 0, 1, 1, 1}));
}

}  // namespace
}  // namespace twinlink::model
