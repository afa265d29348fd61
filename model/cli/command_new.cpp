#include <iostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "model/cli/commands.hpp"
#include "platforms/machine/platform.hpp"
#include "platforms/reader/platform_file.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/tools/template.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/output_files.hpp"

namespace twinlink::model {
namespace {

struct NewOptions {
  TemplateWishes wishes{.cpu = "2-sapphire-rapids", .mpi = "openmpi", .gpus = 8, .nodes = 2};
  std::filesystem::path out{};
};

/// Includes are found from the folder of the file, so it is tried out there under another name.
Platform try_out(const std::string& text, const std::filesystem::path& out) {
  const std::filesystem::path trial = out.parent_path() / ("." + out.filename().string() + ".trial.yaml");
  bench::write_file(trial, text);
  try {
    Platform platform = read_platform(trial);
    std::filesystem::remove(trial);
    return platform;
  } catch (const Error&) {
    std::filesystem::remove(trial);
    throw;
  }
}

ExitCode make_new(NewOptions options) {
  std::error_code none;
  if (std::filesystem::exists(options.out, none)) {
    throw UsageError("--out " + options.out.string() + " is there already; name another file");
  }
  bench::require_output("--out", options.out);
  if (options.wishes.name.empty()) options.wishes.name = options.out.stem().string();
  const std::string text = template_text(options.wishes, platforms_folder() / "parts");
  const Platform platform = try_out(text, options.out);
  bench::write_file(options.out, text);
  std::cout << fmt::format("{}: {}, {} node(s) with {} GPU(s)\n", options.out.string(), platform.description,
                           platform.node.count, platform.node.gpus.size());
  return ExitCode::ok;
}

}  // namespace

void add_new_command(Program& program) {
  auto* command =
      program.app.add_subcommand("new", "Begin a platform file: a template that includes the parts of platforms/parts");
  const auto options = std::make_shared<NewOptions>();
  TemplateWishes& wishes = options->wishes;
  const bench::OptionGroup group(*command, "Parts");
  const auto add_part = [&](const char* name, std::string& part, const char* about, const char* otherwise) {
    return command->add_option(name, part, about)->type_name("PART")->default_str(otherwise);
  };
  add_part("--gpu", wishes.gpu, "Its GPUs: h100, a100-pcie, or another of platforms/parts/gpu", "")->required();
  add_part("--cpu", wishes.cpu, "Its processors", "2-sapphire-rapids");
  add_part("--nic", wishes.nic, "Its adapters: cx7, slingshot11", "no network");
  add_part("--mpi", wishes.mpi, "Its MPI library", "openmpi");
  add_part("--driver", wishes.driver, "The GPUs' driver", "cuda12, or rocm6 for GPUs of AMD");
  add_part("--switch", wishes.switches, "What joins the GPUs beside PCIe, or none",
           "the NVSwitches of such GPUs, where there is a part");
  constexpr int kMostGpus = 64;
  bench::add_count_option(*command, "--gpus", 1, kMostGpus, "8", "GPUs of a node",
                          [options](int count) { options->wishes.gpus = count; });
  bench::add_count_option(*command, "--adapters", 1, kMostGpus, "as many as GPUs", "Adapters of a node",
                          [options](int count) { options->wishes.adapters = count; });
  bench::add_count_option(*command, "--nodes", 1, kMostNodes, "2, or 1 without a network", "How many nodes",
                          [options](int count) { options->wishes.nodes = count; });
  const bench::OptionGroup outputs(*command, "Output");
  command->add_option("--out", options->out, "The file to write, which is not there yet")
      ->type_name("FILE.yaml")
      ->required();
  command->add_option("--name", wishes.name, "The name of the platform")
      ->type_name("NAME")
      ->default_str("that of the file");
  bench::add_examples(*command, {"twinlink-sim new --gpu h100 --nic cx7 --mpi openmpi --out mine.yaml",
                                 "twinlink-sim new --gpu l40s --cpu 2-genoa --gpus 4 --out node.yaml"});
  command->callback([&program, options] { program.action = [options] { return make_new(*options); }; });
}

}  // namespace twinlink::model
