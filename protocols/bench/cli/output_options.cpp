#include "protocols/bench/cli/output_options.hpp"

#include <ostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "protocols/bench/cli/csv.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/cli/print.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/osu_form.hpp"
#include "protocols/bench/results/output_files.hpp"

namespace twinlink::bench {
namespace {

/// In one of the forms that everything has.
template <class File>
void show(const File& file, Format format, std::ostream& out) {
  if (format == Format::csv) {
    out << to_csv(file);
  } else if (format == Format::json) {
    out << to_text(to_json(file), 2) << '\n';
  } else {
    print_table(file, out);
  }
}

/// The files that were asked for, of any kind of file.
template <class File>
void store_file(const File& file, const OutputOptions& options) {
  if (!options.json.empty()) write_json_file(options.json, to_json(file));
  if (!options.csv.empty()) write_file(options.csv, to_csv(file));
}

}  // namespace

void add_output_options(CLI::App& app, OutputOptions& options, const std::map<std::string, Format>& formats,
                        const std::string& row) {
  std::string names;
  for (const auto& [name, format] : formats) names += (names.empty() ? "" : ", ") + name;
  const OptionGroup group(app, "Output");
  add_read_option(app, "--format", "NAME", "table", "What is printed: " + names,
                  [&options, formats, names](const std::string& text) {
                    const auto found = formats.find(text);
                    if (found == formats.end()) {
                      throw UsageError(fmt::format("unknown format '{}' (there are: {})", text, names));
                    }
                    options.format = found->second;
                  });
  app.add_option("--json", options.json, "Also write the result to this file, as JSON")->type_name("FILE");
  app.add_option("--csv", options.csv, fmt::format("Also write the result to this file, one row for each {}", row))
      ->type_name("FILE");
}

void require_writable(const OutputOptions& options) {
  require_output("--json", options.json);
  require_output("--csv", options.csv);
}

void add_json_option(CLI::App& app, std::filesystem::path& file) {
  app.add_option("--json", file, "Also write what is printed to this file, as JSON")
      ->type_name("FILE")
      ->group("Output");
}

void require_json_option(const std::filesystem::path& file) { require_output("--json", file); }

void write_json_option(const std::filesystem::path& file, const nlohmann::json& json) {
  if (!file.empty()) write_json_file(file, json);
}

void deliver(const PairFile& pairs, const OutputOptions& options, std::ostream& out) {
  show(pairs, options.format, out);
  store_file(pairs, options);
}

void deliver(const Result& result, const OutputOptions& options, std::ostream& out) {
  if (options.format == Format::osu) {
    print_osu(result, out);
  } else {
    show(result, options.format, out);
  }
  store(result, options);
}

void add_timeline_option(CLI::App& app, std::filesystem::path& file, std::string_view tracks) {
  app.add_option("--timeline", file,
                 fmt::format("Also write what the ranks do to this file in the Chrome trace format, which "
                             "ui.perfetto.dev and chrome://tracing open: {}",
                             tracks))
      ->type_name("FILE.json")
      ->group("Output");
}

void store(const Result& result, const OutputOptions& options) { store_file(result, options); }

void deliver(std::span<const Result> pairs, const OutputOptions& options, std::ostream& out) {
  if (pairs.size() == 1) return deliver(pairs.front(), options, out);
  show(pairs, options.format, out);
  for (std::size_t pair = 0; pair < pairs.size() && !options.json.empty(); ++pair) {
    write_json(pairs[pair], file_of_pair(options.json, pair));
  }
  if (!options.csv.empty()) write_file(options.csv, to_csv(pairs));
}

void deliver(const ProbeFile& probes, const OutputOptions& options, std::ostream& out) {
  if (options.format == Format::osu) throw UsageError("probes have no OSU form");
  show(probes, options.format, out);
  store_file(probes, options);
}

}  // namespace twinlink::bench
