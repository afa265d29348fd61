#include "model/child_process.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include <unistd.h>

#include "protocols/errors.hpp"

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

}  // namespace
}  // namespace twinlink::model
