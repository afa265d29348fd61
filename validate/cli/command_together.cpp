// The command that puts several visits to one machine together.
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "protocols/bench/cli/print.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/results.hpp"
#include "validate/cli/commands.hpp"
#include "validate/compare/visits.hpp"

namespace twinlink::validate {
namespace {

struct TogetherOptions {
  std::vector<std::string> files{};
  std::string out{};
  bool drop_samples = false;
};

ExitCode run_together(const TogetherOptions& options) {
  std::vector<Visit> visits;
  for (const std::string& file : options.files) require_another_file(options.out, file, "one of the files");
  bench::require_writable(std::filesystem::path(options.out));
  for (const std::string& file : options.files) visits.push_back({file, bench::read_json(file)});
  bench::Result all = together(std::move(visits));
  if (options.drop_samples) {
    for (bench::Point& point : all.series.points) point.samples_us.clear();
  }
  print_table(all, std::cout);
  write_json(all, options.out);
  return ExitCode::ok;
}

}  // namespace

void add_together_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<TogetherOptions>();
  CLI::App& command = *app.add_subcommand("together", "Put several measurements of one curve together");
  command.footer(
      "At every size the rounds of those files count whose medians are within a tenth of the quickest, and of files\n"
      "in which something disturbed it none beside one in which nothing did: the rule of --passes, over hours.\n"
      "Exit codes: 0 written; 1 writing failed; 2 bad usage, or files that are not of one curve.");
  command.add_option("files", options->files, "measured results with their raw samples")
      ->type_name("MEASURED")
      ->required();
  command.add_option("--out", options->out, "the file to write, as JSON")->type_name("FILE")->required();
  command.add_flag("--drop-samples", options->drop_samples, "leave the raw samples out of it");
  command.callback([options, &action] { action = [options] { return run_together(*options); }; });
}

}  // namespace twinlink::validate
