// SQLite's files. Every call is checked. What fails throws, here and below, and names the file with SQLite's words: a
// UsageError where another program is at work on the file, an InputError where it is no database or a damaged one, an
// EnvironmentError for all else.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "protocols/core/units.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace twinlink::platforms {

class Database {
 public:
  enum class Access {
    read,
    write  ///< makes the file where it is missing
  };
  /// Who finds it locked tries again for so long.
  Database(const std::filesystem::path& file, Access access, Seconds patience = {});

  /// One statement that takes no values; what it answers is thrown away.
  void execute(const char* sql) const;
  /// Rows that were inserted, changed or deleted since it was opened, and the last one that was inserted.
  [[nodiscard]] std::int64_t changes() const;
  [[nodiscard]] std::int64_t last_row() const;

 private:
  friend class Statement;
  friend class Transaction;
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  [[noreturn]] void fail() const;

  std::filesystem::path file_;
  std::unique_ptr<sqlite3, Close> connection_;
};

/// A prepared statement, which can be run again with other values. `database` must outlive it.
class Statement {
 public:
  Statement(const Database& database, const char* sql);

  /// The next one of its values, in their order.
  Statement& bind(std::string_view text);
  Statement& bind(double number);
  Statement& bind(std::int64_t number);
  /// Is there a row?
  bool step();
  /// Runs it to its end, and makes it ready for other values.
  void run();

  // Of the row, by column from 0.
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::int64_t number(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement& checked(int code);

  const Database& database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bound_ = 0;
};

/// Either all of what is done until commit(), or nothing. `database` must outlive it.
class Transaction {
 public:
  explicit Transaction(const Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  const Database& database_;
  bool done_ = false;
};

}  // namespace twinlink::platforms
