#include "protocols/bench/cli/program.hpp"

#include <csignal>
#include <filesystem>
#include <iostream>
#include <new>
#include <streambuf>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/results/output_files.hpp"
#include "protocols/registry.hpp"

namespace twinlink::bench {
namespace {

/// What is written to a stream, without the control characters that a file or a name may have brought into it: a
/// terminal would obey them.
class PlainStream : public std::streambuf {
 public:
  explicit PlainStream(std::ostream& stream) : stream_(stream), to_(stream.rdbuf(this)) {}
  ~PlainStream() override {
    release();
    stream_.rdbuf(to_);
  }
  PlainStream(const PlainStream&) = delete;
  PlainStream& operator=(const PlainStream&) = delete;

 private:
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    const auto byte = static_cast<unsigned char>(traits_type::to_char_type(c));
    const bool begins = byte == 0xC2;  // of U+0080 to U+00BF, of which the first 32 are control characters
    const bool second = held_ && byte >= 0x80 && byte < 0xA0;
    const bool control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
    if (held_ && !second && !put("\xC2")) return traits_type::eof();
    held_ = begins;
    if (begins) return c;
    const char itself = traits_type::to_char_type(c);
    return put(second || control ? "\uFFFD" : std::string_view(&itself, 1)) ? c : traits_type::eof();
  }
  int sync() override { return release() ? to_->pubsync() : -1; }

  bool put(std::string_view text) {
    const auto size = static_cast<std::streamsize>(text.size());
    return to_->sputn(text.data(), size) == size;
  }
  bool release() {
    const bool held = std::exchange(held_, false);
    return !held || put("\xC2");
  }

  std::ostream& stream_;
  std::streambuf* to_;
  bool held_ = false;  ///< the first byte of two
};

int report(const CLI::App& app, std::string_view message, ExitCode code) {
  std::cerr << app.get_name() << ": error: " << message << '\n';
  return static_cast<int>(code);
}

/// The findings of an input file stand as they are, for each begins with its place: editors jump there.
int report(const InputError& error) {
  std::cerr << error.what() << '\n';
  return static_cast<int>(error.exit_code());
}

int run(CLI::App& app, int argc, const char* const* argv, const std::function<ExitCode()>& body) {
  try {
    check_names(all_protocols());
    app.parse(argc, argv);
    return static_cast<int>(body());
  } catch (const CLI::ParseError& error) {
    // Zero: --help or --version.
    if (error.get_exit_code() == 0) return app.exit(error);
    return report(app, describe(app, error) + " (--help lists what is allowed)", ExitCode::bad_usage);
  } catch (const InputError& error) {
    return report(error);
  } catch (const Error& error) {
    return report(app, error.what(), error.exit_code());
  } catch (const std::bad_alloc&) {
    return report(app, "out of memory", ExitCode::failed);
  } catch (const std::filesystem::filesystem_error& error) {
    const std::string file = error.path1().empty() ? std::string() : error.path1().string() + ": ";
    return report(app, file + error.code().message(), ExitCode::failed);
  } catch (const std::exception& error) {
    // A library's words for what this program should have seen coming: they are for whoever mends it.
    return report(app,
                  std::string("this is a fault of the program, not of what it was given; please report it with the "
                              "command line: ") +
                      error.what(),
                  ExitCode::failed);
  }
}

bool needs_quotes(std::string_view word) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./:=,+@%";
  return word.empty() || word.find_first_not_of(kPlain) != std::string_view::npos;
}

}  // namespace

int run_main(CLI::App& app, int argc, const char* const* argv, const std::function<ExitCode()>& body) {
  const FilesInUse files;
  add_option_list(app);
  set_help_form(app);
  const PlainStream plain_output(std::cout);
  const PlainStream plain_errors(std::cerr);
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit on a file's size then fails as on a full disk
  const int code = run(app, argc, argv, body);
  std::cout.flush();
  if (code == 0 && !std::cout) return report(app, "standard output cannot be written", ExitCode::failed);
  return code;
}

std::string command_line(int argc, const char* const* argv) {
  std::string line;
  for (int i = 0; i < argc; ++i) {
    std::string_view word = argv[i];
    if (i == 0) word.remove_prefix(word.rfind('/') + 1);  // npos + 1 is 0
    if (i > 0) line += ' ';
    if (!needs_quotes(word)) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? "'\\''" : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace twinlink::bench
