#include "model/study/child_process.hpp"

#include <array>
#include <cassert>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <utility>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "protocols/core/errors.hpp"

namespace twinlink::model {
namespace {

// How a child ends, beside the exit codes of its errors.
constexpr int kFoundInput = 3;  ///< an InputError, whose message stands as it is
constexpr int kCannotWrite = 4;
constexpr int kLost = 5;  ///< by the environment: it might end well another time

void write_all(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(file, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) ::_exit(kCannotWrite);
    done += static_cast<std::size_t>(count);
  }
}

/// The child's life. _exit() instead of return: the parent's buffers and destructors are not the child's.
[[noreturn]] void be_child(int to_parent, const std::function<std::string()>& work) {
  try {
    write_all(to_parent, work());
  } catch (const InputError& error) {
    write_all(to_parent, error.what());
    ::_exit(kFoundInput);
  } catch (const EnvironmentError& error) {
    write_all(to_parent, error.what());
    ::_exit(kLost);
  } catch (const std::bad_alloc&) {
    ::_exit(kLost);
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
  if (exit_status == kLost) throw Error(message.empty() ? "out of memory" : message);
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

struct Child {
  std::size_t number;  ///< of its work
  pid_t id;
  int output;          ///< the reading end of its pipe
  std::string text{};  ///< what has come so far
};

/// Children that run, each with its pipe. Those that are left when an exception passes are ended: nobody wants their
/// texts any more.
struct Children {
  std::vector<Child> running{};

  Children() = default;
  ~Children() {
    for (const Child& child : running) {
      ::close(child.output);
      ::kill(child.id, SIGKILL);
      while (::waitpid(child.id, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
};

Child start_child(std::size_t number, const std::function<std::string(std::size_t)>& work) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw EnvironmentError("pipe", std::strerror(errno));
  const pid_t parent = ::getpid();
  const pid_t id = ::fork();
  if (id < 0) {
    const int reason = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    throw EnvironmentError("fork", std::strerror(reason));
  }
  if (id == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody waits for it any more
    if (::getppid() != parent) ::_exit(kLost);
    ::close(ends[0]);
    be_child(ends[1], [&] { return work(number); });
  }
  ::close(ends[1]);
  return {.number = number, .id = id, .output = ends[0]};
}

/// Takes what the child has written. False: it has closed its end.
bool read_some(Child& child) {
  std::array<char, 65536> block{};
  const ssize_t count = ::read(child.output, block.data(), block.size());
  if (count < 0 && errno == EINTR) return true;
  if (count < 0) throw EnvironmentError("read", std::strerror(errno));
  child.text.append(block.data(), static_cast<std::size_t>(count));
  return count > 0;
}

ChildEnd await_end(Child& child) {
  ::close(child.output);
  int status = 0;
  while (::waitpid(child.id, &status, 0) < 0) {
    if (errno != EINTR) throw EnvironmentError("waitpid", std::strerror(errno));
  }
  return {child.number, WIFEXITED(status) ? WEXITSTATUS(status) : kCannotWrite, std::move(child.text)};
}

/// Waits until some of `children` have written or ended. Those that have ended leave `children`.
void take_output(std::vector<Child>& children, const std::function<void(const ChildEnd&)>& on_end) {
  std::vector<pollfd> files;
  for (const Child& child : children) files.push_back({.fd = child.output, .events = POLLIN, .revents = 0});
  if (::poll(files.data(), files.size(), -1) < 0) {
    if (errno == EINTR) return;
    throw EnvironmentError("poll", std::strerror(errno));
  }
  for (std::size_t i = children.size(); i-- > 0;) {
    if (files[i].revents == 0 || read_some(children[i])) continue;
    Child ended = std::move(children[i]);
    children.erase(children.begin() + static_cast<std::ptrdiff_t>(i));
    on_end(await_end(ended));
  }
}

}  // namespace

bool ChildEnd::lost() const {
  const auto is = [this](ExitCode code) { return exit_status == static_cast<int>(code); };
  return exit_status != kFoundInput && !is(ExitCode::ok) && !is(ExitCode::failed) && !is(ExitCode::bad_usage) &&
         !is(ExitCode::unavailable);
}

const std::string& ChildEnd::get() const {
  if (exit_status != 0) rethrow(exit_status, text);
  return text;
}

void in_each_child_process(std::size_t count, const std::function<std::string(std::size_t)>& work, int at_once,
                           const std::function<void(const ChildEnd&)>& on_end) {
  assert(at_once >= 1);
  std::cout.flush();
  Children children;
  std::vector<Child>& running = children.running;
  for (std::size_t next = 0; next < count || !running.empty();) {
    if (next < count && running.size() < static_cast<std::size_t>(at_once)) {
      running.push_back(start_child(next, work));
      ++next;
    } else {
      take_output(running, on_end);
    }
  }
}

std::vector<std::string> in_child_processes(std::span<const std::function<std::string()>> works, int at_once,
                                            const std::function<void(std::size_t, std::size_t)>& on_end) {
  std::vector<ChildEnd> ends(works.size());
  std::size_t ended = 0;
  in_each_child_process(
      works.size(), [&](std::size_t number) { return works[number](); }, at_once,
      [&](const ChildEnd& end) {
        ends[end.number] = end;
        if (on_end) on_end(++ended, works.size());
      });
  std::vector<std::string> texts;
  for (const ChildEnd& end : ends) texts.push_back(end.get());
  return texts;
}

std::string in_child_process(const std::function<std::string()>& work) {
  return std::move(in_child_processes({&work, 1}, 1).front());
}

}  // namespace twinlink::model
