// MPI, as far as Twinlink uses it: checked calls, collective exchange of facts, messages of any length.
#pragma once

#include <mpi.h>

#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "protocols/core/path.hpp"
#include "protocols/core/units.hpp"

namespace twinlink::real {

/// Throws an EnvironmentError with MPI's text unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call, std::source_location where = std::source_location::current());

/// From MPI_Init to MPI_Finalize; once per process. Data and control messages have a communicator each, so that equal
/// tags do not meet.
class Mpi {
 public:
  /// Collective calls are for ranks that come at about the same time: each waits `patience` for the others, then it is
  /// an EnvironmentError that names who has not come. MPI_Init and MPI_Finalize end the process instead.
  explicit Mpi(Seconds patience);
  ~Mpi();
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;

  /// Has this process been in MPI, or is it still?
  [[nodiscard]] static bool has_begun();

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] MPI_Comm data() const { return data_; }
  [[nodiscard]] MPI_Comm control() const { return control_; }
  /// The largest tag that messages may have.
  [[nodiscard]] int largest_tag() const { return largest_tag_; }

  /// Every rank's text, in the order of the ranks. Collective.
  [[nodiscard]] std::vector<std::string> all_gather(const std::string& mine) const;
  /// Every rank's value, in the order of the ranks. Collective.
  template <class T>
  [[nodiscard]] std::vector<T> all_gather_values(const T& mine) const {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(static_cast<std::size_t>(size_));
    gather_bytes(&mine, sizeof(T), all.data());
    return all;
  }
  /// All ranks have come here.
  void barrier() const;
  /// Have all ranks come here within `patience`? Where not, nothing but abort() is left.
  [[nodiscard]] bool all_come(Seconds patience) const;

  /// Ends all ranks of the job at once with this exit code.
  [[noreturn]] void abort(int exit_code) const;

 private:
  void gather_bytes(const void* mine, int size, void* all) const;
  /// Waits for a collective that `call` has started.
  void await(MPI_Request request, const char* call) const;
  /// Waits until all have ended, until `deadline`. Which have not.
  [[nodiscard]] static std::vector<std::size_t> unfinished(std::vector<MPI_Request>& requests, double deadline);

  Seconds patience_;
  int rank_ = 0;
  int size_ = 1;
  int largest_tag_ = 0;
  MPI_Comm data_ = MPI_COMM_NULL;
  MPI_Comm control_ = MPI_COMM_NULL;
};

/// What the library says about itself, in one line.
std::string mpi_library_version();
/// The value of a variable of the environment; empty if it is not set.
using Environment = std::function<std::string(const char* name)>;
/// Does the library of that version string read and write CUDA device memory? `says`: its own answer, where it has one.
Answer library_reads_cuda_memory(std::string_view library, std::optional<bool> says, const Environment& environment);
/// Does this job's?
Answer mpi_reads_cuda_memory();

/// Count and datatype of a message. MPI's counts are ints; longer messages get a datatype of their own.
class MessageType {
 public:
  /// `largest` is the largest count that may be passed to MPI.
  explicit MessageType(Bytes length, std::uint64_t largest = std::numeric_limits<int>::max());
  /// A datatype may be freed while messages of it are under way.
  ~MessageType();
  MessageType(const MessageType&) = delete;
  MessageType& operator=(const MessageType&) = delete;

  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] MPI_Datatype type() const { return type_; }

 private:
  int count_;
  MPI_Datatype type_ = MPI_BYTE;
};

/// The number of bytes that a completed receive has got.
Bytes received(const MPI_Status& status);

}  // namespace twinlink::real
