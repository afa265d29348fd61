// The frame of every program: command line, errors, exit codes.
#pragma once

#include <functional>
#include <string>

#include "protocols/core/errors.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace twinlink::bench {

/// Parses the command line with `app`, whose name is the program's, then calls `body`; returns the process exit code.
/// Help and version go to standard output. Errors go to standard error as "twinlink-sim: error: ...", those of an input
/// file as "file:line:col: error: ...". Usage errors, also a protocol that was added under a name that is taken, end
/// with ExitCode::bad_usage, errors of Twinlink with their own code, any other exception and an unwritable standard
/// output with ExitCode::failed.
int run_main(CLI::App& app, int argc, const char* const* argv, const std::function<ExitCode()>& body);

/// The command line as one line that a shell reads back. Of the program its name without its folder: two builds of one
/// source write the same.
std::string command_line(int argc, const char* const* argv);

}  // namespace twinlink::bench
