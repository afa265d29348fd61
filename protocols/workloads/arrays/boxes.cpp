#include "protocols/workloads/arrays/boxes.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>

#include "protocols/core/errors.hpp"

namespace twinlink::workloads {
namespace {

/// As many elements as no machine holds; a limit, so that no product overflows.
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 40U;
constexpr std::string_view kLetters = "xyz";

/// Numbers between separators; nothing where there is anything else.
std::optional<std::vector<std::uint64_t>> read_numbers(std::string_view text, char separator) {
  std::vector<std::uint64_t> numbers;
  for (;;) {
    std::uint64_t number = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (wrong != std::errc{}) return std::nullopt;
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return numbers;
    if (text.front() != separator) return std::nullopt;
    text.remove_prefix(1);
  }
}

std::string corner(const Index& index, const Global& global) {
  std::string text = "(";
  for (int d = 0; d < global.dimensions; ++d) {
    text += (d == 0 ? "" : ",") + std::to_string(index[global.axis(d)]);
  }
  return text + ")";
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr std::string_view kBlanks = " \t\r";
  while (true) {
    const auto begin = line.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    const auto end = std::min(line.find_first_of(kBlanks), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

/// Which dimension a name ends with.
int dimension_of(std::string_view name, const Global& global) {
  const auto letter = kLetters.find(name.back());
  if (letter < static_cast<std::size_t>(global.dimensions)) return static_cast<int>(letter);
  throw UsageError(std::string(name) + ": " + to_string(global) + " has no such dimension");
}

}  // namespace

Box intersection(const Box& a, const Box& b) {
  Box both;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    both.lower[axis] = std::max(a.lower[axis], b.lower[axis]);
    both.upper[axis] = std::min(a.upper[axis], b.upper[axis]);
    if (both.upper[axis] <= both.lower[axis]) return {};
  }
  return both;
}

Global parse_global(std::string_view text) {
  const auto numbers = read_numbers(text, 'x');
  if (!numbers || numbers->size() > kAxes) {
    throw UsageError("'" + std::string(text) + "' is no size of an array: one to three numbers like 512x512x512");
  }
  Global global{.dimensions = static_cast<int>(numbers->size())};
  std::uint64_t all = 1;
  for (int d = 0; d < global.dimensions; ++d) {
    const std::uint64_t length = (*numbers)[static_cast<std::size_t>(d)];
    if (length == 0) throw UsageError("'" + std::string(text) + "': an array of no elements");
    if (length > kMostElements / all) throw UsageError("'" + std::string(text) + "' has more than 2^40 elements");
    all *= length;
    global.lengths[global.axis(d)] = length;
  }
  return global;
}

std::string to_string(const Global& global) {
  std::string text;
  for (int d = 0; d < global.dimensions; ++d) {
    text += (d == 0 ? "" : "x") + std::to_string(global.lengths[global.axis(d)]);
  }
  return text;
}

std::string describe(const Box& box, const Global& global) {
  return corner(box.lower, global) + " to " + corner(box.upper, global);
}

std::vector<std::uint64_t> boundaries(std::uint64_t length, std::span<const double> shares, const std::string& what) {
  const std::size_t parts = shares.size();
  if (length < parts) {
    throw UsageError(what + ": " + std::to_string(length) + " planes are not enough for " + std::to_string(parts) +
                     " ranks; boxes of a file may be empty");
  }
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  std::vector<std::uint64_t> begins{0};
  double before = 0;
  for (std::size_t i = 0; i + 1 < parts; ++i) {
    before += shares[i];
    const auto wanted = static_cast<std::uint64_t>(std::llround(static_cast<double>(length) * before / all));
    // One at least for this part and for each of those behind it.
    begins.push_back(std::clamp<std::uint64_t>(wanted, begins.back() + 1, length - (parts - 1 - i)));
  }
  begins.push_back(length);
  return begins;
}

Distribution slabs(const Global& global, int dimension, std::span<const double> shares) {
  const std::size_t axis = global.axis(dimension);
  Distribution result{.name = std::string("slab-") + kLetters[static_cast<std::size_t>(dimension)]};
  const auto begins = boundaries(global.lengths[axis], shares, result.name + " of " + to_string(global));
  for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
    Box box = global.box();
    box.lower[axis] = begins[i];
    box.upper[axis] = begins[i + 1];
    result.boxes.push_back(box);
  }
  return result;
}

Distribution pencils(const Global& global, int whole, int rows, int columns) {
  Distribution result{.name = std::string("pencil-") + kLetters[static_cast<std::size_t>(whole)]};
  const std::size_t first = whole == 0 ? 1 : 0;
  const std::size_t second = whole == 2 ? 1 : 2;
  const std::string what = result.name + " of " + to_string(global);
  const std::vector<double> equal_rows(static_cast<std::size_t>(rows), 1);
  const std::vector<double> equal_columns(static_cast<std::size_t>(columns), 1);
  const auto in_rows = boundaries(global.lengths[first], equal_rows, what);
  const auto in_columns = boundaries(global.lengths[second], equal_columns, what);
  for (std::size_t r = 0; r < equal_rows.size(); ++r) {
    for (std::size_t c = 0; c < equal_columns.size(); ++c) {
      Box box = global.box();
      box.lower[first] = in_rows[r];
      box.upper[first] = in_rows[r + 1];
      box.lower[second] = in_columns[c];
      box.upper[second] = in_columns[c + 1];
      result.boxes.push_back(box);
    }
  }
  return result;
}

std::array<int, 2> grid_of(int ranks) {
  int rows = 1;
  for (int factor = 2; factor * factor <= ranks; ++factor) {
    if (ranks % factor == 0) rows = factor;
  }
  return {rows, ranks / rows};
}

Distribution named_distribution(std::string_view name, const Global& global, std::span<const double> shares) {
  const bool is_slab = name.starts_with("slab-") && name.size() == 6;
  const bool is_pencil = name.starts_with("pencil-") && name.size() == 8;
  if ((!is_slab && !is_pencil) || kLetters.find(name.back()) == std::string_view::npos) {
    throw UsageError("there is no distribution '" + std::string(name) +
                     "' (there are: slab-x, slab-y, slab-z, pencil-x, pencil-y, pencil-z, or a file of boxes)");
  }
  if (is_slab) return slabs(global, dimension_of(name, global), shares);
  if (global.dimensions != 3) throw UsageError(std::string(name) + ": pencils are of three dimensions");
  if (std::ranges::any_of(shares, [&](double share) { return share != shares.front(); })) {
    throw UsageError(std::string(name) + ": --shares are of slabs");
  }
  const auto [rows, columns] = grid_of(static_cast<int>(shares.size()));
  return pencils(global, dimension_of(name, global), rows, columns);
}

Distribution read_boxes(std::string_view text, const std::string& file, const Global& global, int ranks) {
  Distribution result{.name = file};
  int line_number = 0;
  const auto wrong = [&](const std::string& why) {
    throw InputError(file + ":" + std::to_string(line_number) + ": error: " + why);
  };
  while (!text.empty()) {
    ++line_number;
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = line.substr(0, std::min(line.find('#'), line.size()));
    const auto words = words_of(line);
    if (words.empty()) continue;
    const auto lower = words.size() == 2 ? read_numbers(words[0], ',') : std::nullopt;
    const auto upper = words.size() == 2 ? read_numbers(words[1], ',') : std::nullopt;
    const auto dimensions = static_cast<std::size_t>(global.dimensions);
    if (!lower || !upper || lower->size() != dimensions || upper->size() != dimensions) {
      wrong("a line has a lower and an upper corner of " + std::to_string(dimensions) +
            " numbers each, like 0,0,0 8,8,4");
    }
    Box box{{0, 0, 0}, {1, 1, 1}};
    for (int d = 0; d < global.dimensions; ++d) {
      box.lower[global.axis(d)] = (*lower)[static_cast<std::size_t>(d)];
      box.upper[global.axis(d)] = (*upper)[static_cast<std::size_t>(d)];
      if (box.upper[global.axis(d)] < box.lower[global.axis(d)]) wrong("the upper corner lies below the lower one");
      if (box.upper[global.axis(d)] > global.lengths[global.axis(d)]) {
        wrong("the box " + describe(box, global) + " reaches beyond " + to_string(global));
      }
    }
    result.boxes.push_back(box);
  }
  if (result.boxes.size() == static_cast<std::size_t>(ranks)) return result;
  throw InputError(file + ": error: " + std::to_string(result.boxes.size()) + " boxes for " + std::to_string(ranks) +
                   " ranks");
}

void require_cover(const Distribution& distribution, const Global& global) {
  std::uint64_t covered = 0;
  for (std::size_t a = 0; a < distribution.boxes.size(); ++a) {
    covered += distribution.boxes[a].elements();
    for (std::size_t b = 0; b < a; ++b) {
      const Box both = intersection(distribution.boxes[a], distribution.boxes[b]);
      if (both.empty()) continue;
      throw UsageError(distribution.name + ": the boxes of ranks " + std::to_string(b) + " and " + std::to_string(a) +
                       " overlap: both have " + describe(both, global));
    }
  }
  const std::uint64_t all = global.box().elements();
  if (covered == all) return;
  throw UsageError(distribution.name + ": the boxes leave a gap: " + std::to_string(all - covered) + " of " +
                   std::to_string(all) + " elements are in none");
}

}  // namespace twinlink::workloads
