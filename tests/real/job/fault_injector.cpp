// A library for LD_PRELOAD that lets calls of the system, of MPI or of CUDA fail in the midst of a real program.
//
//   TWINLINK_FAULT=CALL:NUMBER   calls of CALL fail from the NUMBER-th on, counted from 1
//   TWINLINK_FAULT_MARK=FILE     is made when the first one fails: the fault has happened, and when
//
// CALL is one of:
//   MPI                    the process is killed, at a call that sends or lets messages go on
//   ftruncate              of shared memory: "No space left on device"
//   open                   of another process's shared memory: "Permission denied"
//   cudaIpcOpenMemHandle   cudaErrorMapBufferObjectFailed
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

/// The function that the program would have called without this library.
template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

void leave_mark() {
  const char* const file = std::getenv("TWINLINK_FAULT_MARK");
  if (file == nullptr) return;
  const int mark = ::creat(file, 0644);
  if (mark >= 0) ::close(mark);
}

/// Counts a call of `call`; returns whether it is to fail.
bool fails(std::string_view call) {
  const char* const fault = std::getenv("TWINLINK_FAULT");
  const std::string_view text = fault != nullptr ? fault : "";
  if (text.substr(0, text.find(':')) != call) return false;
  static const long from = std::strtol(fault + call.size() + 1, nullptr, 10);
  static long calls = 0;
  ++calls;
  if (calls == from) leave_mark();
  return calls >= from;
}

/// MPI and the system library have files of their own, which are to go on.
bool is_shared_memory(int file) {
  std::array<char, 64> target{};
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t length = ::readlink(link.c_str(), target.data(), target.size());
  return length > 0 && std::string_view(target.data(), static_cast<std::size_t>(length)).starts_with("/memfd:twinlink");
}

bool is_of_another_process(std::string_view path) {
  return path.starts_with("/proc/") && path.find("/fd/") != std::string_view::npos;
}

}  // namespace

// The names are those of the functions in whose place these are called.
// NOLINTBEGIN(readability-identifier-naming,readability-inconsistent-declaration-parameter-name)
extern "C" {

int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request* request) {
  if (fails("MPI")) ::raise(SIGKILL);
  return PMPI_Isend(buffer, count, type, peer, tag, comm, request);
}

int MPI_Iprobe(int peer, int tag, MPI_Comm comm, int* arrived, MPI_Status* status) {
  if (fails("MPI")) ::raise(SIGKILL);
  return PMPI_Iprobe(peer, tag, comm, arrived, status);
}

int ftruncate(int file, off_t length) noexcept {
  if (is_shared_memory(file) && fails("ftruncate")) {
    errno = ENOSPC;
    return -1;
  }
  return next<int (*)(int, off_t)>("ftruncate")(file, length);
}

int open(const char* path, int flags, ...) {  // NOLINT(cert-dcl50-cpp): as the system declares it
  mode_t mode = 0;
  if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
    std::va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
  }
  if (is_of_another_process(path) && fails("open")) {
    errno = EACCES;
    return -1;
  }
  return next<int (*)(const char*, int, ...)>("open")(path, flags, mode);
}

struct IpcMemHandle {
  std::array<char, 64> reserved;
};

/// As cudaIpcOpenMemHandle() of the runtime API, without its headers: this library is built on every machine.
int cudaIpcOpenMemHandle(void** memory, IpcMemHandle handle, unsigned flags) {
  constexpr int kMapBufferObjectFailed = 205;
  if (fails("cudaIpcOpenMemHandle")) return kMapBufferObjectFailed;
  return next<int (*)(void**, IpcMemHandle, unsigned)>("cudaIpcOpenMemHandle")(memory, handle, flags);
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming,readability-inconsistent-declaration-parameter-name)
