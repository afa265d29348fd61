// The measured figures that platforms are held against: tests/data/*.csv.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace twinlink::platforms::testing {

/// One row by column name.
using Row = std::map<std::string, std::string>;

/// Reads a CSV file of tests/data/, whose fields may be quoted. A runtime_error if it cannot be read.
std::vector<Row> read_rows(const std::string& file);

/// The copies that KIDS is held against: those of the machine of its shape in starpu_bus_fit.csv; of the other machine,
/// only the copies from the far socket.
std::vector<Row> rows_for_kids();

/// The number in a column.
double number(const Row& row, const std::string& column);

/// Whether a field's text has `part` in it.
bool contains(const std::string& text, const std::string& part);

}  // namespace twinlink::platforms::testing

namespace twinlink::model::testing {
using namespace platforms::testing;  // NOLINT(google-build-using-namespace): model's tests use it as their own
}  // namespace twinlink::model::testing
