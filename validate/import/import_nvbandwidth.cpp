// nvbandwidth: a matrix of GB/s for each test, as texts with six digits, or "N/A".
//
// A GB is 10^9 bytes. The row of a matrix between GPUs is the one that copies, whether it reads or writes, and the
// column its peer; a matrix between host and GPUs has one row. Copies follow each other in a stream, so that a time is
// one without its launch.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/json_members.hpp"
#include "protocols/bench/results/json_statistics.hpp"
#include "validate/import/import_parts.hpp"

namespace twinlink::validate {
namespace {

using bench::Members;

constexpr double kMegabytesPerGigabyte = 1000;

/// Size of each copy, where nothing else is asked for.
constexpr Bytes kDefaultSize = 512_MiB;

/// One copy each way at once, until both have ended: the bandwidth is that of each.
constexpr std::string_view kBothWays = "copy pinned near both-ways";

enum class Shape { host_row, peers };

/// A test that measures one primitive. Of those that are busy both ways, host and device have a line of ours, and two
/// devices have none.
struct CopyTest {
  std::string_view name;
  std::string_view line;
  Shape shape;
};

constexpr std::array kCopyTests{CopyTest{"host_to_device_memcpy_ce", "copy pinned-to-device near", Shape::host_row},
                                CopyTest{"device_to_host_memcpy_ce", "copy device-to-pinned near", Shape::host_row},
                                CopyTest{"host_to_device_memcpy_sm", "copy kernel-from-pinned", Shape::host_row},
                                CopyTest{"device_to_host_memcpy_sm", "copy kernel-to-pinned", Shape::host_row},
                                CopyTest{"host_to_device_bidirectional_memcpy_ce", kBothWays, Shape::host_row},
                                CopyTest{"device_to_host_bidirectional_memcpy_ce", kBothWays, Shape::host_row},
                                CopyTest{"device_to_device_memcpy_read_ce", "peer copy read direct", Shape::peers},
                                CopyTest{"device_to_device_memcpy_write_ce", "peer copy write direct", Shape::peers},
                                CopyTest{"device_to_device_memcpy_read_sm", "copy kernel-pull", Shape::peers},
                                CopyTest{"device_to_device_memcpy_write_sm", "copy kernel-push", Shape::peers}};

std::string place(std::size_t gpu) { return fmt::format("0/{}", gpu); }

class NvbandwidthReader {
 public:
  NvbandwidthReader(const std::string& file, Bytes size) : file_(file), size_(size) {}

  bench::ProbeFindings read(const nlohmann::json& testcases) {
    std::size_t index = 0;
    for (const auto& json : testcases) {
      read_test(Members(json, file_, fmt::format("nvbandwidth.testcases[{}]", index)));
      ++index;
    }
    if (findings_.lines.empty()) {
      std::string notes;
      for (const auto& note : findings_.notes) notes += fmt::format("{}{}", notes.empty() ? "" : "; ", note);
      throw InputError(
          fmt::format("{}: error: holds nothing that can be imported: {}", file_, notes.empty() ? "no test" : notes));
    }
    return std::move(findings_);
  }

 private:
  void read_test(Members test) {
    const auto name = test.text("name");
    const auto status = test.text("status");
    const auto* known = std::ranges::find(kCopyTests, name, &CopyTest::name);
    if (known == kCopyTests.end()) return note(fmt::format("{} left out: no probe measures this", name));
    if (!seen_.insert(name).second) test.fail("name", fmt::format("is {} once more: one report after another", name));
    if (status != "Passed") {
      const auto error = test.has("error") ? ": " + test.text("error") : std::string();
      return note(fmt::format("{} left out: {}{}", name, status, error));
    }
    const auto& matrix = test.array("bandwidth_matrix");
    if (test.has("bandwidth_description") && test.text("bandwidth_description").find("(GB/s)") == std::string::npos) {
      test.fail("bandwidth_description", "does not say (GB/s)");
    }
    for (const auto& row : matrix) {
      if (!row.is_array() || row.size() != matrix.front().size()) {
        test.fail("bandwidth_matrix", "is no matrix: its rows differ in length");
      }
    }
    if (known->shape == Shape::host_row) {
      if (matrix.size() != 1)
        test.fail("bandwidth_matrix", fmt::format("has {} rows, not the host's one", matrix.size()));
      return read_row(*known, test, matrix[0], std::nullopt);
    }
    read_peers(*known, test, matrix);
  }

  void read_peers(const CopyTest& known, Members& test, const nlohmann::json& matrix) {
    const std::size_t gpus = matrix.empty() ? 0 : matrix.front().size();
    if (gpus == 0 || matrix.size() != gpus) {
      test.fail("bandwidth_matrix", fmt::format("has {} rows of {} columns: it must be square", matrix.size(), gpus));
    }
    for (std::size_t row = 0; row < gpus; ++row) read_row(known, test, matrix[row], row);
  }

  void read_row(const CopyTest& known, const Members& test, const nlohmann::json& row,
                std::optional<std::size_t> copier) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      if (copier == column) continue;  // a GPU and itself: N/A, and 0.00 of old releases
      const auto rate_MBps = read_rate(test, row[column]);
      if (!rate_MBps) continue;  // two without peer access
      add({.name = std::string(known.line),
           .gpu = place(copier.value_or(column)),
           .peer = copier ? place(column) : "",
           .size = size_,
           .time_us = single_figure(static_cast<double>(size_.count()) / *rate_MBps),
           .bandwidth_MBps = *rate_MBps});
    }
  }

  /// The slower one of both ways at once says when both have ended.
  void add(bench::ProbeLine line) {
    const auto same = [&](const bench::ProbeLine& other) { return other.name == kBothWays && other.gpu == line.gpu; };
    const auto found = line.name == kBothWays ? std::ranges::find_if(findings_.lines, same) : findings_.lines.end();
    if (found == findings_.lines.end()) {
      findings_.lines.push_back(std::move(line));
    } else if (line.bandwidth_MBps < found->bandwidth_MBps) {
      *found = std::move(line);
    }
  }

  [[nodiscard]] std::optional<double> read_rate(const Members& test, const nlohmann::json& cell) const {
    if (cell == "N/A") return std::nullopt;
    double value = 0;
    if (cell.is_number()) value = cell.get<double>();
    if (cell.is_string()) {
      const auto& text = cell.get_ref<const std::string&>();
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc{} || end != text.data() + text.size()) value = 0;
    }
    if (!(value > 0) || !std::isfinite(value)) {
      test.fail("bandwidth_matrix", fmt::format("holds {}, which is no positive number of GB/s", bench::to_text(cell)));
    }
    const double rate_MBps = value * kMegabytesPerGigabyte;
    if (const auto why = bench::why_no_time(static_cast<double>(size_.count()) / rate_MBps); !why.empty()) {
      test.fail("bandwidth_matrix",
                fmt::format("holds {} GB/s for copies of {}: {}", bench::to_text(cell), format_size(size_), why));
    }
    return rate_MBps;
  }

  void note(std::string text) { findings_.notes.push_back(std::move(text)); }

  const std::string& file_;
  Bytes size_;
  std::set<std::string> seen_;
  bench::ProbeFindings findings_;
};

}  // namespace

bench::ProbeFindings read_copies(const nlohmann::json& testcases, const std::string& file, Bytes size) {
  return NvbandwidthReader(file, size).read(testcases);
}

bench::ProbeFile import_nvbandwidth(const nlohmann::json& content, const std::string& file,
                                    const ImportWishes& wishes) {
  Members members = Members(content, file).members("nvbandwidth");
  const auto version = members.has("version") ? members.text("version") : members.text("git_version");
  if (!members.has("testcases")) {
    const auto error = members.has("error") ? members.text("error") : "no test ran";
    throw InputError(fmt::format("{}: error: holds no result: {}", file, error));
  }
  const auto& testcases = members.array("testcases");
  const auto program = fmt::format("nvbandwidth {}", version);
  auto origin = make_origin(Tool::nvbandwidth, program, file);
  for (const auto* fact : {"CUDA Runtime Version", "Driver Version", "GPU Device list", "GPU Device info", "Hostname",
                           "git_version", "warning", "error"}) {
    if (members.has(fact)) origin[fact] = content["nvbandwidth"][fact];
  }
  origin["figure"] = "rate of copies that follow each other, without their launch";
  origin["bytes"] = wishes.size ? "told by the user" : "nvbandwidth's default";
  bench::ProbeFile probes{.world = "measured",
                          .program = program,
                          .environment = nlohmann::json{{bench::kOriginMember, std::move(origin)}},
                          .findings = read_copies(testcases, file, wishes.size.value_or(kDefaultSize))};
  if (!wishes.size) {
    probes.findings.notes.push_back(fmt::format(
        "nvbandwidth does not tell how large its copies were: {}, unless its --bufferSize was given; --size says so",
        format_size(kDefaultSize)));
  }
  for (const auto* complaint : {"warning", "error"}) {
    if (members.has(complaint))
      probes.findings.notes.push_back(fmt::format("nvbandwidth's {}: {}", complaint, members.text(complaint)));
  }
  probes.findings.notes.emplace_back("rates of copies that follow each other: the times lack their launch");
  return probes;
}

}  // namespace twinlink::validate
