#include "platforms/tools/filter_program.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <sys/wait.h>
#include <unistd.h>

#include "protocols/core/errors.hpp"

namespace twinlink::platforms {
namespace {

constexpr int kNoProgram = 127;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using TemporaryFile = std::unique_ptr<std::FILE, CloseFile>;

TemporaryFile temporary_file() {
  TemporaryFile file(std::tmpfile());
  if (!file) throw EnvironmentError("tmpfile", std::strerror(errno));
  return file;
}

std::string content(std::FILE* file) {
  std::rewind(file);
  std::string text;
  std::array<char, 65536> block{};
  for (std::size_t count = 1; count > 0;) {
    count = std::fread(block.data(), 1, block.size(), file);
    text.append(block.data(), count);
  }
  return text;
}

[[noreturn]] void become(std::vector<char*> arguments, std::FILE* in, std::FILE* out, std::FILE* errors) {
  if (::dup2(::fileno(in), STDIN_FILENO) >= 0 && ::dup2(::fileno(out), STDOUT_FILENO) >= 0 &&
      ::dup2(::fileno(errors), STDERR_FILENO) >= 0) {
    ::execvp(arguments.front(), arguments.data());
  }
  ::_exit(kNoProgram);
}

}  // namespace

std::string filter_through(const std::vector<std::string>& command, const std::string& text,
                           const std::string& advice) {
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // Files, not pipes: neither side waits for the other to read.
  const TemporaryFile in = temporary_file();
  const TemporaryFile out = temporary_file();
  const TemporaryFile errors = temporary_file();  // of a picture that came out well they mean nothing to a user
  if (std::fwrite(text.data(), 1, text.size(), in.get()) != text.size() || std::fflush(in.get()) != 0) {
    throw EnvironmentError("fwrite", std::strerror(errno));
  }
  std::rewind(in.get());
  const pid_t id = ::fork();
  if (id < 0) throw EnvironmentError("fork", std::strerror(errno));
  if (id == 0) become(arguments, in.get(), out.get(), errors.get());
  int status = 0;
  while (::waitpid(id, &status, 0) < 0) {
    if (errno != EINTR) throw EnvironmentError("waitpid", std::strerror(errno));
  }
  const std::string& program = command.front();
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoProgram) {
    throw EnvironmentError(program, "no such program; " + advice);
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw EnvironmentError(program, content(errors.get()));
  return content(out.get());
}

std::string svg_of(const std::string& dot_text) {
  return filter_through({"dot", "-Tsvg"}, dot_text, "'apt-get install graphviz' installs it, and FILE.dot needs none");
}

}  // namespace twinlink::platforms
