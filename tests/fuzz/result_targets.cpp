// Result files and probe files: ours, and those of other tools.
#include <sstream>
#include <variant>

#include <nlohmann/json.hpp>

#include "protocols/bench/probe/probe.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/results.hpp"
#include "protocols/bench/workload/workload_file.hpp"
#include "tests/fuzz/targets.hpp"
#include "validate/import/import.hpp"

namespace twinlink::fuzz {
namespace {

nlohmann::json parse(const std::string& text) {
  std::istringstream stream(text);
  return bench::parse_json(stream, "input");
}

bench::Result read_back(const bench::Result&, const nlohmann::json& json) {
  return bench::result_from_json(json, "written");
}
bench::ProbeFile read_back(const bench::ProbeFile&, const nlohmann::json& json) {
  return bench::probes_from_json(json, "written");
}
bench::WorkloadFile read_back(const bench::WorkloadFile&, const nlohmann::json& json) {
  return bench::workload_from_json(json, "written");
}

/// What a program writes of what it has read can be read, and is the same.
template <class Document>
void promise_written_alike(const Document& document) {
  const std::string written = bench::to_text(bench::to_json(document), 1);
  std::string again;
  try {
    again = bench::to_text(bench::to_json(read_back(document, parse(written))), 1);
  } catch (const UsageError& error) {
    promise(false, std::string("an accepted file is refused once it is written: ") + error.what() + "\n" + written);
  }
  promise_same(written, again, "a file written and read again");
}

/// The text of a tool, or its JSON.
validate::Content content_of(const std::string& text) {
  if (text.starts_with('{')) return parse(text);
  return text;
}

void import(validate::Tool tool, const validate::Content& content, const validate::ImportWishes& wishes) {
  const validate::Imported imported = validate::import_content(tool, content, "input", wishes);
  std::visit([](const auto& document) { promise_written_alike(document); }, imported);
}

}  // namespace

void read_result(const std::string& text) { promise_written_alike(bench::result_from_json(parse(text), "input")); }

void read_probes(const std::string& text) { promise_written_alike(bench::probes_from_json(parse(text), "input")); }

/// What a collective lacks, nobody tells of a curve.
void import_osu(const std::string& text) {
  if (text.find("Avg Latency") == std::string::npos) return import(validate::Tool::osu, text, {});
  try {
    import(validate::Tool::osu, text, {.ranks = 4});
  } catch (const UsageError&) {
    import(validate::Tool::osu, text, {});
  }
}

void import_nvbandwidth(const std::string& text) {
  import(validate::Tool::nvbandwidth, content_of(text), {.size = Bytes{512U << 20U}});
}

void import_nccl_tests(const std::string& text) { import(validate::Tool::nccl_tests, content_of(text), {}); }

}  // namespace twinlink::fuzz
