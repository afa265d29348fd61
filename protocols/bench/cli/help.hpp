// What --help says, in one form for every command of every program, and what a mistyped word was meant to be.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace twinlink::bench {

/// No line of a help text is longer, unless it is a word or an example.
inline constexpr std::size_t kHelpWidth = 100;

/// What stands under this heading is not shown. CLI11 hides what has none, and forgets its name in errors.
inline constexpr const char* kHidden = "hidden";

/// While it lives, options that are added to `command` stand under that heading of --help.
class OptionGroup {
 public:
  OptionGroup(CLI::App& command, const std::string& heading);
  ~OptionGroup();
  OptionGroup(const OptionGroup&) = delete;
  OptionGroup& operator=(const OptionGroup&) = delete;

 private:
  CLI::App& command_;
  std::string before_;
};

/// Command lines that --help shows below the options.
void add_examples(CLI::App& command, std::initializer_list<std::string_view> examples);

/// "draw: argument and option platform", where an argument of a command of `app` has the name of an option of that
/// command or of one below it; else "". CLI11 refuses such names from 2.4 on, when the program starts, 2.1 does not.
std::string clash_of_names(const CLI::App& app);

/// Gives `app` and all its commands the common form: options by group, defaults in one notation, exit codes. To be
/// called when all commands are there. No names may clash.
void set_help_form(CLI::App& app);

/// Adds --list-options, which prints what option_list() says and ends the program as --version does.
void add_option_list(CLI::App& app);

/// All commands of `app` with their arguments and options, for programs that call it: {"kind", "schema", "program",
/// "command"}, and a command has `name`, `description`, `options` and, below it, `commands`. An option has its long
/// `name` (an argument's is the word for its value), `argument`, `flag`, `repeats`, `required`, `type` and `default` as
/// --help shows them, `description`, and the names that it `needs` and `excludes`. `version` is what the program says
/// of itself.
nlohmann::json option_list(const CLI::App& app, const std::string& version);

/// What was wrong with a command line that `app` has refused with `error`: the error's own text, or a better one for a
/// command that there is not, and what a mistyped word may have meant.
std::string describe(const CLI::App& app, const CLI::ParseError& error);

}  // namespace twinlink::bench
