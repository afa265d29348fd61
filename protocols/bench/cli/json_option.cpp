#include "protocols/bench/cli/json_option.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/output_files.hpp"

namespace twinlink::bench {

void add_json_option(CLI::App& app, std::filesystem::path& file) {
  app.add_option("--json", file, "Also write what is printed to this file, as JSON")
      ->type_name("FILE")
      ->group("Output");
}

void require_json_option(const std::filesystem::path& file) { require_output("--json", file); }

void write_json_option(const std::filesystem::path& file, const nlohmann::json& json) {
  if (!file.empty()) write_json_file(file, json);
}

}  // namespace twinlink::bench
