#include "platforms/database/database.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include "protocols/core/errors.hpp"

namespace twinlink::platforms {

void Database::Close::operator()(sqlite3* connection) const { sqlite3_close(connection); }

Database::Database(const std::filesystem::path& file, Access access, Seconds patience) : file_(file) {
  const int flags = access == Access::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &connection, flags, nullptr);
  connection_.reset(connection);
  constexpr double kMsPerSecond = 1e3;
  if (code != SQLITE_OK) fail();
  if (sqlite3_busy_timeout(connection, static_cast<int>(patience.value() * kMsPerSecond)) != SQLITE_OK) fail();
}

void Database::fail() const {
  const char* const words = sqlite3_errmsg(connection_.get());
  constexpr int kPrimary = 0xff;  // extended codes have their reason above
  switch (sqlite3_errcode(connection_.get()) & kPrimary) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw UsageError(fmt::format("{}: another study or fleet is at work on it", file_.string()));
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      throw InputError(fmt::format("{}: error: no database: {}", file_.string(), words));
    default:
      throw EnvironmentError(file_.string() + ": SQLite", words);
  }
}

void Database::execute(const char* sql) const { Statement(*this, sql).run(); }

std::int64_t Database::changes() const { return sqlite3_total_changes(connection_.get()); }

std::int64_t Database::last_row() const { return sqlite3_last_insert_rowid(connection_.get()); }

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement::Statement(const Database& database, const char* sql) : database_(database) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(database.connection_.get(), sql, -1, &statement, nullptr);
  statement_.reset(statement);
  checked(code);
}

Statement& Statement::checked(int code) {
  if (code != SQLITE_OK) database_.fail();
  return *this;
}

Statement& Statement::bind(std::string_view text) {
  return checked(
      sqlite3_bind_text64(statement_.get(), ++bound_, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

Statement& Statement::bind(double number) { return checked(sqlite3_bind_double(statement_.get(), ++bound_, number)); }

Statement& Statement::bind(std::int64_t number) {
  return checked(sqlite3_bind_int64(statement_.get(), ++bound_, number));
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) database_.fail();
  return code == SQLITE_ROW;
}

void Statement::run() {
  while (step()) {
  }
  bound_ = 0;
  checked(sqlite3_reset(statement_.get()));
}

std::string Statement::text(int column) const {
  const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  return text == nullptr ? std::string() : std::string(text);
}

double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }

std::int64_t Statement::number(int column) const { return sqlite3_column_int64(statement_.get(), column); }

Transaction::Transaction(const Database& database) : database_(database) { database.execute("BEGIN IMMEDIATE"); }

Transaction::~Transaction() {
  // A failure that has ended the transaction by itself leaves nothing to take back.
  if (!done_) sqlite3_exec(database_.connection_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  database_.execute("COMMIT");
  done_ = true;
}

}  // namespace twinlink::platforms
