#include "protocols/bench/cli/help.hpp"

#include <algorithm>
#include <cassert>
#include <memory>
#include <set>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "protocols/core/text.hpp"

namespace twinlink::bench {
namespace {

constexpr std::size_t kNamesWidth = 26;  ///< of the column of options; longer ones have a line of their own
constexpr std::string_view kExitCodes =
    "Exit codes: 0 done; 1 a check, a limit, a peer or the environment failed; 2 wrong usage or input; 77 this machine "
    "cannot do it, and the message says why.";

/// `text` in lines that end before kHelpWidth, all but the first after `indent` spaces. Lines that begin with a space
/// stay as they are.
std::string wrap(const std::string& text, std::size_t indent) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!out.empty()) out += '\n' + std::string(indent, ' ');
    if (line.starts_with(' ')) {
      out += line;
      continue;
    }
    std::size_t column = indent;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      if (column > indent && column + 1 + word.size() > kHelpWidth) {
        out += '\n' + std::string(indent, ' ');
        column = indent;
      } else if (column > indent) {
        out += ' ';
        ++column;
      }
      out += word;
      column += word.size();
    }
  }
  return out;
}

std::string row(const std::string& names, const std::string& description) {
  std::string out = "  " + names;
  out +=
      out.size() + 2 > kNamesWidth ? '\n' + std::string(kNamesWidth, ' ') : std::string(kNamesWidth - out.size(), ' ');
  return out + wrap(description, kNamesWidth) + '\n';
}

std::vector<std::string> sorted_names(const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options) names.push_back(option->get_name());
  std::ranges::sort(names);  // a set of pointers has another order in every run
  return names;
}

std::string joined(const std::set<CLI::Option*>& options) {
  return fmt::format("{}", fmt::join(sorted_names(options), ", "));
}

/// A switch takes none: CLI11 gives it a size, and expects nothing.
bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

/// Without what CLI11 adds for a check: "PERCENT:FLOAT in [0 - 1000]".
std::string type_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto check = type.find(" in [");
  return check == std::string::npos ? type : type.substr(0, type.rfind(':', check));
}

/// Something that has its place alone, and no name that is written.
bool is_argument(const CLI::Option& option) {
  return option.get_positional() && option.get_lnames().empty() && option.get_snames().empty();
}

std::string names_of(const CLI::Option& option) {
  if (is_argument(option)) return type_of(option);
  std::string names = option.get_name(false, true);
  if (const auto comma = names.find(','); comma != std::string::npos) names.insert(comma + 1, " ");
  return takes_value(option) ? names + " " + type_of(option) : names;
}

std::string description_of(const CLI::Option& option) {
  std::string text = option.get_description();
  if (option.get_required() && !is_argument(option)) text += " (required)";
  if (takes_value(option) && !option.get_default_str().empty()) text += " (default: " + option.get_default_str() + ")";
  if (!option.get_needs().empty()) text += " (needs " + joined(option.get_needs()) + ")";
  if (!option.get_excludes().empty()) text += " (not with " + joined(option.get_excludes()) + ")";
  return text;
}

std::string usage(const CLI::App& app, const std::string& name) {
  std::string text = "Usage: " + name;
  const auto add = [&](bool arguments) {
    for (const CLI::Option* option : app.get_options()) {
      if (is_argument(*option) != arguments || !option->get_required()) continue;
      const std::string value = option->get_type_name();
      text += ' ';
      if (arguments) {
        text += value;
      } else {  // "[--platform] NAME": its name may be left out
        text +=
            fmt::format("{} {}", option->get_positional() ? '[' + option->get_name() + ']' : option->get_name(), value);
      }
      if (arguments && option->get_expected_max() > 1) text += "...";
    }
  };
  add(false);
  text += app.get_subcommands(nullptr).empty() ? " [OPTION...]" : " COMMAND [OPTION...]";
  add(true);
  return wrap(text, 4);
}

std::string group(const CLI::App& app, const std::string& name, std::string_view title) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) {
    if (!is_argument(*option) && option->get_group() == name) text += row(names_of(*option), description_of(*option));
  }
  return text.empty() ? text : fmt::format("\n{}:\n{}", title, text);
}

class HelpForm final : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode /*mode*/) const override {
    std::string text = wrap(app->get_description(), 0) + "\n\n" + usage(*app, name) + '\n';
    std::string commands;
    for (const CLI::App* command : app->get_subcommands(nullptr)) {
      commands += row(command->get_name(), command->get_description());
    }
    if (!commands.empty()) text += "\nCommands (each has a --help of its own):\n" + commands;
    std::string operands;
    for (const CLI::Option* option : app->get_options()) {
      if (is_argument(*option)) operands += row(names_of(*option), description_of(*option));
    }
    if (!operands.empty()) text += "\nArguments:\n" + operands;
    // What has no group of its own comes last, for --help is among it.
    const std::string& rest = app->get_help_ptr()->get_group();
    for (const std::string& each : app->get_groups()) {
      if (each != rest && each != kHidden) text += group(*app, each, each);
    }
    text += group(*app, rest, "Options");
    if (!app->get_footer().empty()) text += '\n' + wrap(app->get_footer(), 0) + '\n';
    return text + '\n' + wrap(std::string(kExitCodes), 0) + '\n';
  }
};

void set_form(CLI::App& app, const std::shared_ptr<CLI::FormatterBase>& form) {
  app.formatter(form);
  app.get_help_ptr()->description("Print this and exit");
  for (CLI::App* command : app.get_subcommands(nullptr)) set_form(*command, form);
}

/// clash_of_names() of `app`, which stands below commands with these `arguments`.
std::string clash_below(const CLI::App& app, std::vector<std::string> arguments) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) arguments.push_back(option->get_name(true));
  }
  for (const CLI::Option* option : app.get_options()) {
    for (const auto& names : {option->get_lnames(), option->get_snames()}) {
      const auto clash = std::ranges::find_first_of(names, arguments);
      if (clash != names.end()) return fmt::format("{}: argument and option {}", app.get_name(), *clash);
    }
  }
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (std::string clash = clash_below(*command, arguments); !clash.empty()) return clash;
  }
  return "";
}

nlohmann::json described(const CLI::Option& option) {
  const bool argument = is_argument(option);
  return {{"name", argument || option.get_lnames().empty() ? type_of(option) : option.get_lnames().front()},
          {"argument", argument},
          {"flag", !takes_value(option)},
          {"repeats", takes_value(option) && option.get_expected_max() > 1},
          {"required", option.get_required()},
          {"type", takes_value(option) ? type_of(option) : ""},
          {"default", option.get_default_str()},
          {"description", option.get_description()},
          {"needs", sorted_names(option.get_needs())},
          {"excludes", sorted_names(option.get_excludes())}};
}

nlohmann::json described(const CLI::App& command) {
  nlohmann::json options = nlohmann::json::array();
  for (const CLI::Option* option : command.get_options()) {
    if (option != command.get_help_ptr() && option != command.get_version_ptr()) options.push_back(described(*option));
  }
  nlohmann::json below = nlohmann::json::array();
  for (const CLI::App* each : command.get_subcommands(nullptr)) below.push_back(described(*each));
  return {{"name", command.get_name()},
          {"description", command.get_description()},
          {"options", std::move(options)},
          {"commands", std::move(below)}};
}

/// The last of the commands that were recognized.
const CLI::App& last_command(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? app : last_command(*parsed.back());
}

std::string guess(const std::string& word, const std::vector<std::string>& names) {
  const std::string meant = closest(word, names);
  return meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant);
}

}  // namespace

OptionGroup::OptionGroup(CLI::App& command, const std::string& heading)
    : command_(command), before_(command.option_defaults()->get_group()) {
  command.option_defaults()->group(heading);
}

OptionGroup::~OptionGroup() { command_.option_defaults()->group(before_); }

void add_examples(CLI::App& command, std::initializer_list<std::string_view> examples) {
  std::string text = command.get_footer();
  if (!text.empty()) text += "\n\n";
  text += "Examples:";
  for (const std::string_view example : examples) text += fmt::format("\n  {}", example);
  command.footer(text);
}

std::string clash_of_names(const CLI::App& app) { return clash_below(app, {}); }

void set_help_form(CLI::App& app) {
  assert(clash_of_names(app).empty());
  set_form(app, std::make_shared<HelpForm>());
}

nlohmann::json option_list(const CLI::App& app, const std::string& version) {
  return {{"kind", "twinlink-options"}, {"schema", 1}, {"program", version}, {"command", described(app)}};
}

void add_option_list(CLI::App& app) {
  app.add_flag_callback(
      "--list-options", [&app] { throw CLI::CallForVersion(option_list(app, app.version()).dump(), 0); },
      "Print all commands and options as JSON, for programs that call this one, and exit");
}

std::string describe(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = last_command(app);
  std::vector<std::string> commands;
  for (const CLI::App* each : command.get_subcommands(nullptr)) commands.push_back(each->get_name());
  std::vector<std::string> options;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
  }
  for (std::string word : app.remaining(true)) {
    if (!word.starts_with('-') && !commands.empty()) {
      return fmt::format("there is no command '{}'{}", word, guess(word, commands));
    }
    word = word.substr(0, word.find('='));
    if (!word.starts_with("--")) continue;
    if (const std::string meant = guess(word, options); !meant.empty()) {
      return fmt::format("there is no option '{}'{}", word, meant);
    }
  }
  const bool wants_command = std::string_view(error.what()).starts_with("A subcommand is required");
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && wants_command) return "a command is required";
  return error.what();
}

}  // namespace twinlink::bench
