#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "protocols/bench/cli/help.hpp"
#include "real/cli/commands.hpp"
#include "real/record/settings.hpp"

namespace twinlink::real {
namespace {

namespace fs = std::filesystem;

struct RecordOptions {
  fs::path out{};
  std::vector<std::string> program{};
};

/// Not what lies in a folder that may not be looked into.
bool can_run(const fs::path& file) {
  std::error_code ignored;
  return fs::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0;
}

/// Where the shell would find it; empty: nowhere.
fs::path find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return can_run(name) ? fs::path(name) : fs::path();
  const char* const variable = std::getenv("PATH");
  std::string_view folders = variable == nullptr ? "/usr/bin:/bin" : variable;
  while (!folders.empty()) {
    const std::string_view folder = folders.substr(0, folders.find(':'));
    if (fs::path file = fs::path(folder) / name; can_run(file)) return file;
    folders.remove_prefix(std::min(folder.size() + 1, folders.size()));
  }
  return {};
}

/// Beside this program where it was built, in the folder of libraries where it is installed.
fs::path find_library() {
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  for (const char* const folder : {".", "../" TWINLINK_LIBRARIES}) {
    if (fs::path file = here / folder / record::kLibrary; fs::exists(file)) return fs::canonical(file);
  }
  throw UnavailableError(fmt::format("{} is neither beside {} nor in ../{}: build or install it", record::kLibrary,
                                     here.string(), TWINLINK_LIBRARIES));
}

/// All ranks come here, each before its program begins: files of this job are not there yet.
void prepare(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder)) {
    throw UsageError(fmt::format("--out: {} is no folder and cannot be made: {}", folder.string(), error.message()));
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.find(".mpi") == std::string::npos) continue;
    throw UsageError(fmt::format("--out: {} holds {} of another job: name a new folder", folder.string(), name));
  }
  if (::access(folder.c_str(), W_OK) != 0) {
    throw UsageError(fmt::format("--out: {} cannot be written to", folder.string()));
  }
}

ExitCode record_program(const RecordOptions& options) {
  const fs::path program = find_program(options.program.front());
  if (program.empty()) {
    throw UsageError(fmt::format("{}: there is no such program; behind '--' stands what mpirun would start",
                                 options.program.front()));
  }
  const fs::path library = find_library();
  prepare(options.out);
  std::string preloaded = library.string();
  if (const char* const others = std::getenv("LD_PRELOAD"); others != nullptr && *others != '\0') {
    preloaded += fmt::format(":{}", others);
  }
  ::setenv("LD_PRELOAD", preloaded.c_str(), 1);
  ::setenv(record::kFolderVariable, fs::absolute(options.out).c_str(), 1);
  std::vector<std::string> words = options.program;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  throw EnvironmentError(fmt::format("execv {}", program.string()), std::generic_category().message(errno));
}

}  // namespace

void add_record_command(Program& program) {
  auto* command =
      program.app.add_subcommand("record", "Write down what any MPI program does, for 'twinlink-sim convert'");
  const auto options = std::make_shared<RecordOptions>();
  command->add_option("program", options->program, "What mpirun would start, and its arguments, behind '--'")
      ->required()
      ->type_name("PROGRAM...");
  command->option_defaults()->group("Output");
  command->add_option("--out", options->out, "The folder for a file of each rank; it is made where there is none")
      ->required()
      ->type_name("NEW/");
  bench::add_examples(*command, {"mpirun -n 4 twinlink-real record --out job -- ./program -x 3",
                                 "twinlink-sim convert job --out job.goal"});
  command->callback([&program, options] { program.action = [options] { return record_program(*options); }; });
}

}  // namespace twinlink::real
