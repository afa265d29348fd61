#include "tests/platforms/reference_rows.hpp"

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace twinlink::platforms::testing {
namespace {

std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> result(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      result.emplace_back();
    } else {
      result.back() += c;
    }
  }
  return result;
}

}  // namespace

std::vector<Row> read_rows(const std::string& file) {
  std::ifstream stream(std::filesystem::path(TWINLINK_SOURCE_DIR) / "tests/data" / file);
  std::string line;
  if (!std::getline(stream, line)) throw std::runtime_error("cannot read tests/data/" + file);
  const std::vector<std::string> columns = fields(line);
  std::vector<Row> rows;
  while (std::getline(stream, line)) {
    const std::vector<std::string> values = fields(line);
    Row row;
    for (std::size_t i = 0; i < columns.size(); ++i) row[columns[i]] = values.at(i);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Row> rows_for_kids() {
  std::vector<Row> rows = read_rows("starpu_bus_fit.csv");
  std::erase_if(rows,
                [](const Row& row) { return row.at("system") != "mirage" && !contains(row.at("path"), "remote"); });
  return rows;
}

double number(const Row& row, const std::string& column) { return std::stod(row.at(column)); }

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace twinlink::platforms::testing
