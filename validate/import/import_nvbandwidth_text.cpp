// nvbandwidth without -j: "Running TEST.", what the matrix holds, its columns' numbers, its rows, and its sum.
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "validate/import/import_parts.hpp"
#include "validate/import/launcher_text.hpp"

namespace twinlink::validate {
namespace {

bool is_whole(const std::string& word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
}

class NvbandwidthText {
 public:
  explicit NvbandwidthText(const std::string& file) : file_(file), complaints_(file) {}

  nlohmann::json read(const std::string& text) {
    std::istringstream lines(without_launcher(text));
    for (std::string line; std::getline(lines, line);) {
      ++line_;
      read_line(line, words(line));
    }
    end_matrix();
    has_sums_ = has_sums_ || !text.ends_with('\n');
    end_test();
    nlohmann::json all{{"version", version_.empty() ? "of an unknown version" : version_},
                       {"testcases", std::move(tests_)}};
    for (const auto& [name, value] : facts_.items()) all[name] = value;
    std::string complaints;
    for (const std::string& note : complaints_.notes()) complaints += (complaints.empty() ? "" : "; ") + note;
    if (!complaints.empty()) all["warning"] = complaints;
    return {{"nvbandwidth", std::move(all)}};
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(fmt::format("{}:{}: error: {}", file_, line_, what));
  }
  static std::string behind_colon(const std::string& line) {
    const std::size_t colon = line.find(": ");
    return colon == std::string::npos ? std::string() : line.substr(colon + 2);
  }

  void read_line(const std::string& line, const std::vector<std::string>& cells) {
    if (cells.empty()) return end_matrix();
    const auto begins = [&](std::string_view what) {
      const std::size_t first = line.find_first_not_of(" \t");
      return line.compare(first, what.size(), what) == 0;
    };
    if (begins("Running ") && cells.size() == 2 && cells[1].ends_with('.')) {
      end_matrix();
      end_test();
      test_ = {{"name", cells[1].substr(0, cells[1].size() - 1)}, {"status", "Passed"}};
    } else if (begins("nvbandwidth Version:")) {
      version_ = behind_colon(line);
    } else if (begins("CUDA Runtime Version:") || begins("Driver Version:")) {
      facts_[line.substr(line.find_first_not_of(" \t"), line.find(':') - line.find_first_not_of(" \t"))] =
          behind_colon(line);
    } else if (begins("Device ") && cells.size() > 2 && cells[1].ends_with(':')) {
      facts_["GPU Device list"].push_back(cells[1] + " " + behind_colon(line));
    } else if (test_.is_object() && (begins("Waived:") || begins("Failed:") || begins("Error:") || begins("ERROR"))) {
      test_["status"] = cells[0].substr(0, cells[0].find(':'));
      test_["error"] = line;
    } else if (line.find("(GB/s)") != std::string::npos) {
      // Whose line "Running" is lost has its name in that of the sum.
      const bool over = named_by_sum_ && summed_;
      if (over) end_test();
      if (!test_.is_object()) test_ = {{"name", ""}, {"status", "Passed"}};
      test_["bandwidth_description"] = line;
      expects_columns_ = true;
    } else if (expects_columns_ && is_whole(cells[0])) {
      read_columns(cells);
    } else if (columns_ > 0 && is_whole(cells[0])) {
      read_row(cells);
    } else if (begins("SUM ")) {
      end_matrix();
      if (test_.is_object()) read_sum(cells);
    } else if (begins("COEFFICIENT_OF_VARIATION ")) {
      end_matrix();
    } else if (is_complaint(line)) {
      complaints_.add(line_, line);
    }
  }

  void read_columns(const std::vector<std::string>& cells) {
    expects_columns_ = false;
    columns_ = cells.size();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells[i] != std::to_string(i)) fail(fmt::format("column {} of the matrix is called '{}'", i, cells[i]));
    }
    test_["bandwidth_matrix"] = nlohmann::json::array();
    summed_ = false;
  }

  void read_row(const std::vector<std::string>& cells) {
    nlohmann::json& matrix = test_["bandwidth_matrix"];
    if (cells[0] != std::to_string(matrix.size()))
      fail(fmt::format("row {} of the matrix is called '{}'", matrix.size(), cells[0]));
    if (cells.size() != columns_ + 1) {
      fail(fmt::format("a row of {} values, where there are {} columns: is it cut off?", cells.size() - 1, columns_));
    }
    matrix.push_back(std::vector<std::string>(cells.begin() + 1, cells.end()));
  }

  /// A line that is cut off, or one of a matrix that is, shows in the sum. All figures have two decimals.
  void read_sum(const std::vector<std::string>& cells) {
    constexpr double kHalfOfLastDigit = 0.005;
    double sum = 0;
    std::size_t count = 1;
    for (const auto& row : test_["bandwidth_matrix"]) {
      for (const auto& cell : row) {
        const std::optional<double> value = number_in(cell.get<std::string>());
        sum += value.value_or(0);
        count += value ? 1 : 0;
      }
    }
    const std::optional<double> told = cells.size() == 3 ? number_in(cells[2]) : std::nullopt;
    if (!told || std::abs(*told - sum) > kHalfOfLastDigit * static_cast<double>(count) + 1e-9 * sum) {
      fail(fmt::format("{} is not the sum of its matrix, {:.2f}: is it cut off?", cells.back(), sum));
    }
    summed_ = has_sums_ = true;
    if (is_named()) return;
    test_["name"] = cells[1];
    named_by_sum_ = true;
  }
  [[nodiscard]] bool is_named() const { return !test_.at("name").get_ref<const std::string&>().empty(); }
  static std::optional<double> number_in(const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
  }

  void end_matrix() { columns_ = 0; }

  void end_test() {
    named_by_sum_ = false;
    if (!test_.is_object()) return;
    if (!is_named()) {
      if (test_.contains("bandwidth_matrix")) fail("a matrix whose test is named neither before it nor by its SUM");
      test_ = {};
      return;
    }
    if (test_["status"] == "Passed" && !test_.contains("bandwidth_matrix")) {
      test_["status"] = "without a result";
    }
    if (test_["status"] == "Passed" && !summed_ && has_sums_) {
      fail(fmt::format("{} ends before its SUM: is it cut off?", test_["name"].get<std::string>()));
    }
    tests_.push_back(std::exchange(test_, {}));
    expects_columns_ = false;
    columns_ = 0;
  }

  const std::string& file_;
  int line_ = 0;
  Complaints complaints_;
  std::string version_{};
  nlohmann::json facts_ = nlohmann::json::object();
  nlohmann::json tests_ = nlohmann::json::array();
  nlohmann::json test_{};  ///< null: none has begun
  bool expects_columns_ = false;
  bool summed_ = true;  ///< the matrix that was read last
  bool named_by_sum_ = false;
  bool has_sums_ = false;    ///< a matrix without a sum is not whole
  std::size_t columns_ = 0;  ///< of the matrix that is open; 0: none
};

}  // namespace

nlohmann::json read_nvbandwidth_text(const std::string& text, const std::string& file) {
  return NvbandwidthText(file).read(text);
}

}  // namespace twinlink::validate
