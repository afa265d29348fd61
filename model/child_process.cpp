#include "model/child_process.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <iostream>

#include <sys/wait.h>
#include <unistd.h>

#include "protocols/errors.hpp"

namespace twinlink::model {
namespace {

// How a child ends, beside the exit codes of its errors.
constexpr int kFoundInput = 3;  ///< an InputError, whose message stands as it is
constexpr int kCannotWrite = 4;

void write_all(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(file, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) ::_exit(kCannotWrite);
    done += static_cast<std::size_t>(count);
  }
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 65536> block{};
  for (;;) {
    const ssize_t count = ::read(file, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw EnvironmentError("read", std::strerror(errno));
    if (count == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(count));
  }
}

/// The child's life. _exit() instead of return: the parent's buffers and destructors are not the child's.
[[noreturn]] void be_child(int to_parent, const std::function<std::string()>& work) {
  try {
    write_all(to_parent, work());
  } catch (const InputError& error) {
    write_all(to_parent, error.what());
    ::_exit(kFoundInput);
  } catch (const Error& error) {
    write_all(to_parent, error.what());
    ::_exit(static_cast<int>(error.exit_code()));
  } catch (const std::exception& error) {
    write_all(to_parent, error.what());
    ::_exit(static_cast<int>(ExitCode::failed));
  }
  ::_exit(0);
}

/// Throws the child's error again.
[[noreturn]] void rethrow(int exit_status, const std::string& message) {
  if (exit_status == kFoundInput) throw InputError(message);
  switch (static_cast<ExitCode>(exit_status)) {
    case ExitCode::bad_usage:
      throw UsageError(message);
    case ExitCode::unavailable:
      throw UnavailableError(message);
    case ExitCode::failed:
      throw Error(message);
    default:
      throw EnvironmentError("simulation in a child process", "it died before its end");
  }
}

}  // namespace

std::string in_child_process(const std::function<std::string()>& work) {
  std::cout.flush();
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw EnvironmentError("pipe", std::strerror(errno));
  const pid_t child = ::fork();
  if (child < 0) throw EnvironmentError("fork", std::strerror(errno));
  if (child == 0) {
    ::close(ends[0]);
    be_child(ends[1], work);
  }
  ::close(ends[1]);
  std::string text = read_all(ends[0]);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw EnvironmentError("waitpid", std::strerror(errno));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  rethrow(WIFEXITED(status) ? WEXITSTATUS(status) : kCannotWrite, text);
}

}  // namespace twinlink::model
