// The commands of twinlink-validate that have a file of their own.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "protocols/errors.hpp"

namespace twinlink::validate {

/// What the command that was asked for does.
using Action = std::function<ExitCode()>;

/// Adds the command; when it is parsed, it sets `action`, which must live until then.
void add_import_command(CLI::App& app, Action& action);

}  // namespace twinlink::validate
