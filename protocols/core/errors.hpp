// What can go wrong, in two families that never mix.
//
// * Exceptions say that the program was used wrongly or that its environment is broken. Nothing useful can follow;
//   main() prints the message and ends with the exit code beside each class.
// * An Outcome says what became of a transfer. Timeouts and failed peers are part of what a protocol may meet.
//
// A violated assumption of our own is neither: that is an assert().
//
//   who asked for nonsense, or gave a broken file     UsageError, InputError         exit code 2
//   a call of the system, MPI or CUDA has failed      EnvironmentError               1
//   this machine has no GPU, no peer, no adapter      UnavailableError               77
//   a peer is silent, a length differs                Outcome: the caller goes on or gives up
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

namespace twinlink {

/// The process exit codes of all programs of Twinlink.
enum class ExitCode : int {
  ok = 0,
  failed = 1,       ///< a check failed: a payload, an error limit, a peer, the environment in the middle of a run
  bad_usage = 2,    ///< a wrong flag, a wrong value or a wrong input file
  unavailable = 77  ///< cannot run here: no GPU, no peer; the message says why
};

/// Base of everything that Twinlink throws on purpose.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  [[nodiscard]] virtual ExitCode exit_code() const { return ExitCode::failed; }
};

/// The caller asked for something that makes no sense; the message says what is allowed.
class UsageError : public Error {
 public:
  using Error::Error;
  [[nodiscard]] ExitCode exit_code() const override { return ExitCode::bad_usage; }
};

/// A file that cannot be used. The message holds one line per finding, each "file:line:col: error: ..." where the place
/// is known, so that a user sees all of them at once.
class InputError : public UsageError {
 public:
  using UsageError::UsageError;
};

/// A broken environment: an operating-system, MPI or CUDA call failed. The message carries the place in our source,
/// the call and the API's own text: "real/system/mpi.cpp:41: MPI_Isend: MPI_ERR_RANK: invalid rank".
class EnvironmentError : public Error {
 public:
  /// `call` names the function that failed, `reason` is the API's text for its error code.
  EnvironmentError(std::string_view call, std::string_view reason,
                   std::source_location where = std::source_location::current());
};

/// This machine lacks what was asked for (a GPU, a peer, an adapter). Not a failure: test runners count it as skipped.
class UnavailableError : public Error {
 public:
  using Error::Error;
  [[nodiscard]] ExitCode exit_code() const override { return ExitCode::unavailable; }
};

/// What became of a transfer.
enum class Status {
  delivered,    ///< every byte is where it belongs and the buffers are the caller's again
  unsupported,  ///< the path does not allow this protocol; nothing was moved
  timed_out,    ///< the deadline passed; what lies in the receive buffer is undefined
  peer_failed,  ///< the peer ended or reported an error
  wrong_size    ///< the peer sent another number of bytes than was expected
};

/// "delivered", "timed out", ...
std::string_view to_string(Status status);

/// The result of a transfer: a status and, unless it was delivered, the reason in words. It must be looked at:
///
///   if (Outcome outcome = channel.send(message); !outcome.ok()) return outcome;
struct [[nodiscard]] Outcome {
  Status status = Status::delivered;
  std::string reason{};

  [[nodiscard]] bool ok() const { return status == Status::delivered; }
};

}  // namespace twinlink
