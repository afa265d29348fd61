// The measured figures that platforms are held against: tests/data/*.csv.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace twinlink::model::testing {

/// One row by column name.
using Row = std::map<std::string, std::string>;

/// Reads a CSV file of tests/data/, whose fields may be quoted. A runtime_error if it cannot be read.
std::vector<Row> read_rows(const std::string& file);

/// The number in a column.
double number(const Row& row, const std::string& column);

}  // namespace twinlink::model::testing
