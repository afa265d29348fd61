// SQLite's calls are checked, and what fails names the file.
#include "platforms/database/database.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>

#include "protocols/core/errors.hpp"

namespace twinlink::platforms {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class Databases : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove(file_); }
  void TearDown() override { std::filesystem::remove(file_); }

  template <class Failure, class Action>
  void expect_failure(const Action& action, const std::string& words) const {
    EXPECT_THAT(action, ThrowsMessage<Failure>(AllOf(HasSubstr(file_.string() + ": "), HasSubstr(words))));
  }
  static std::int64_t count(const Database& database) {
    Statement rows(database, "SELECT count(*) FROM t");
    rows.step();
    return rows.number(0);
  }

  std::filesystem::path file_ = ::testing::TempDir() + "twinlink-database.sqlite";
};

TEST_F(Databases, KeepValuesOfEachKind) {
  const Database database(file_, Database::Access::write);
  database.execute("CREATE TABLE t (a TEXT, b REAL, c INTEGER)");
  Statement add(database, "INSERT INTO t VALUES (?, ?, ?)");
  add.bind("a").bind(0.5).bind(std::int64_t{1} << 40U).run();
  add.bind("").bind(-1.0).bind(std::int64_t{-2}).run();
  EXPECT_EQ(database.changes(), 2);
  EXPECT_EQ(database.last_row(), 2);
  Statement rows(database, "SELECT a, b, c, NULL FROM t ORDER BY c DESC");
  ASSERT_TRUE(rows.step());
  EXPECT_EQ(rows.text(0), "a");
  EXPECT_EQ(rows.real(1), 0.5);
  EXPECT_EQ(rows.number(2), std::int64_t{1} << 40U);
  EXPECT_EQ(rows.text(3), "");
  EXPECT_TRUE(rows.step());
  EXPECT_FALSE(rows.step());
}

TEST_F(Databases, CheckEveryCall) {
  expect_failure<EnvironmentError>([&] { Database(file_, Database::Access::read); }, "unable to open");
  const Database database(file_, Database::Access::write);
  database.execute("CREATE TABLE t (a UNIQUE)");
  expect_failure<EnvironmentError>([&] { Statement(database, "SELECT b FROM t"); }, "no such column: b");
  Statement add(database, "INSERT INTO t VALUES (?)");
  add.bind(0.5);
  for (const auto& bind : {std::function([&] { add.bind("more"); }), std::function([&] { add.bind(1.5); }),
                           std::function([&] { add.bind(std::int64_t{1}); })}) {
    expect_failure<EnvironmentError>(bind, "out of range");
  }
  add.run();
  expect_failure<EnvironmentError>([&] { Statement(database, "INSERT INTO t VALUES (0.5)").step(); }, "UNIQUE");
  const Database reader(file_, Database::Access::read);
  expect_failure<EnvironmentError>([&] { reader.execute("DELETE FROM t"); }, "readonly");
  const Transaction writes(database);
  expect_failure<UsageError>([&] { Transaction{Database(file_, Database::Access::write)}; }, "is at work on it");
}

TEST_F(Databases, OfOtherBytesAreRefused) {
  std::ofstream(file_) << std::string(5000, 'x');
  expect_failure<InputError>([&] { Database(file_, Database::Access::read).execute("SELECT * FROM t"); },
                             "error: no database: ");
}

TEST_F(Databases, TakeAllOfATransactionOrNothing) {
  const Database database(file_, Database::Access::write);
  database.execute("CREATE TABLE t (a)");
  {
    const Transaction given_up(database);
    database.execute("INSERT INTO t VALUES (1)");
  }
  EXPECT_EQ(count(database), 0);
  Transaction all(database);
  database.execute("INSERT INTO t VALUES (1)");
  all.commit();
  EXPECT_EQ(count(database), 1);
}

}  // namespace
}  // namespace twinlink::platforms
