#include "model/tools/graphviz.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <sys/wait.h>
#include <unistd.h>

#include "protocols/core/errors.hpp"

namespace twinlink::model {
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

[[noreturn]] void become_dot(std::FILE* in, std::FILE* out, std::FILE* errors) {
  if (::dup2(::fileno(in), STDIN_FILENO) >= 0 && ::dup2(::fileno(out), STDOUT_FILENO) >= 0 &&
      ::dup2(::fileno(errors), STDERR_FILENO) >= 0) {
    ::execlp("dot", "dot", "-Tsvg", static_cast<char*>(nullptr));
  }
  ::_exit(kNoProgram);
}

}  // namespace

std::string svg_of(const std::string& dot_text) {
  // Files, not pipes: neither side waits for the other to read.
  const TemporaryFile in = temporary_file();
  const TemporaryFile out = temporary_file();
  const TemporaryFile errors = temporary_file();  // of a picture that came out well they mean nothing to a user
  if (std::fwrite(dot_text.data(), 1, dot_text.size(), in.get()) != dot_text.size() || std::fflush(in.get()) != 0) {
    throw EnvironmentError("fwrite", std::strerror(errno));
  }
  std::rewind(in.get());
  const pid_t id = ::fork();
  if (id < 0) throw EnvironmentError("fork", std::strerror(errno));
  if (id == 0) become_dot(in.get(), out.get(), errors.get());
  int status = 0;
  while (::waitpid(id, &status, 0) < 0) {
    if (errno != EINTR) throw EnvironmentError("waitpid", std::strerror(errno));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoProgram) {
    throw EnvironmentError("dot -Tsvg",
                           "no such program; 'apt-get install graphviz' installs it, and FILE.dot needs none");
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw EnvironmentError("dot -Tsvg", content(errors.get()));
  return content(out.get());
}

}  // namespace twinlink::model
