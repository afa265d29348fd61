#include "real/system/mpi.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <numeric>

#include <sched.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "protocols/core/errors.hpp"
#include "real/system/watchdog.hpp"

#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace twinlink::real {

void check_mpi(int code, const char* call, std::source_location where) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  const bool known = MPI_Error_string(code, text.data(), &length) == MPI_SUCCESS;
  throw EnvironmentError(call, known ? std::string(text.data()) : "error " + std::to_string(code), where);
}

namespace {

/// Open MPI (4.1.4 and 5.0.7, ob1) writes beyond a receive's buffer if a longer message comes by a single copy between
/// processes, and 4.1 hangs if it is pushed instead: a wrong size would end in somebody else's memory. Who sets a
/// parameter takes it over. A release ignores the other's parameter.
void switch_off_single_copy() {
  ::setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);  // 4.1
  // From 5.0 on by components of their own. One must be left out by its name: "none" ends MPI_Init with an error.
  ::setenv("OMPI_MCA_smsc", "^cma,knem,xpmem", 0);
}

}  // namespace

Mpi::Mpi(Seconds patience) : patience_(patience) {
  switch_off_single_copy();
  {
    const Watchdog watchdog(
        patience,
        fmt::format("MPI_Init has waited {} for the other ranks: one is stopped, or stuck", format_seconds(patience)));
    check_mpi(MPI_Init(nullptr, nullptr), "MPI_Init");
  }
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
  for (MPI_Comm* communicator : {&data_, &control_}) {  // they inherit the error handler
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, communicator), "MPI_Comm_dup");
  }
  void* limit = nullptr;
  int known = 0;
  check_mpi(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&limit), &known), "MPI_Comm_get_attr");
  largest_tag_ = known != 0 ? *static_cast<int*>(limit) : 32767;  // the least that the standard allows
}

Mpi::~Mpi() {
  const Watchdog watchdog(patience_, fmt::format("MPI_Finalize has waited {} for the other ranks: one is stopped, or "
                                                 "stuck",
                                                 format_seconds(patience_)));
  // Errors can no longer be helped, and all memory of the job is about to go.
  MPI_Comm_free(&control_);
  MPI_Comm_free(&data_);
  MPI_Finalize();
}

bool Mpi::has_begun() {
  int begun = 0;
  check_mpi(MPI_Initialized(&begun), "MPI_Initialized");
  return begun != 0;
}

std::vector<std::string> Mpi::all_gather(const std::string& mine) const {
  const std::vector<int> lengths = all_gather_values(static_cast<int>(mine.size()));
  std::vector<int> offsets(lengths.size());
  std::partial_sum(lengths.begin(), std::prev(lengths.end()), std::next(offsets.begin()));
  std::string all(static_cast<std::size_t>(offsets.back() + lengths.back()), '\0');
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallgatherv(mine.data(), static_cast<int>(mine.size()), MPI_CHAR, all.data(), lengths.data(),
                            offsets.data(), MPI_CHAR, control_, &request),
            "MPI_Iallgatherv");
  await(request, "MPI_Iallgatherv");
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    texts.push_back(all.substr(static_cast<std::size_t>(offsets[r]), static_cast<std::size_t>(lengths[r])));
  }
  return texts;
}

void Mpi::gather_bytes(const void* mine, int size, void* all) const {
  barrier();  // which names who is missing
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallgather(mine, size, MPI_BYTE, all, size, MPI_BYTE, control_, &request), "MPI_Iallgather");
  await(request, "MPI_Iallgather");
}

void Mpi::await(MPI_Request request, const char* call) const {
  std::vector<MPI_Request> requests{request};
  if (unfinished(requests, MPI_Wtime() + patience_.value()).empty()) return;
  throw EnvironmentError(call, "the other ranks have not come");
}

std::vector<std::size_t> Mpi::unfinished(std::vector<MPI_Request>& requests, double deadline) {
  for (;;) {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      int ended = 0;
      check_mpi(MPI_Test(&requests[i], &ended, MPI_STATUS_IGNORE), "MPI_Test");
      if (ended == 0) open.push_back(i);
    }
    if (open.empty() || MPI_Wtime() > deadline) return open;
    ::sched_yield();  // the other ranks may want this core
  }
}

/// Rank 0 hears from each rank, and answers all: MPI_Barrier could not say who is missing. In the world's communicator,
/// which carries nothing else.
void Mpi::barrier() const {
  const auto world = MPI_COMM_WORLD;
  const double deadline = MPI_Wtime() + patience_.value();
  const auto receive = [&](int peer) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Irecv(nullptr, 0, MPI_BYTE, peer, 0, world, &request), "MPI_Irecv");
    return request;
  };
  const auto send = [&](int peer) { check_mpi(MPI_Send(nullptr, 0, MPI_BYTE, peer, 0, world), "MPI_Send"); };
  if (rank_ != 0) {
    send(0);
    std::vector<MPI_Request> answer{receive(0)};
    constexpr double kItsReport = 2;  // seconds: rank 0 names the others, unless it is itself who is missing
    if (unfinished(answer, deadline + kItsReport).empty()) return;
    throw EnvironmentError(
        "MPI", fmt::format("rank 0 has not answered for {}: it is stopped, or stuck", format_seconds(patience_)));
  }
  std::vector<MPI_Request> heard;
  for (int peer = 1; peer < size_; ++peer) heard.push_back(receive(peer));
  std::vector<std::size_t> missing = unfinished(heard, deadline);
  for (std::size_t& each : missing) ++each;
  if (!missing.empty()) {
    throw EnvironmentError("MPI", fmt::format("waited {} for rank{} {}: stopped, or stuck", format_seconds(patience_),
                                              missing.size() == 1 ? "" : "s", fmt::join(missing, ", ")));
  }
  for (int peer = 1; peer < size_; ++peer) send(peer);
}

bool Mpi::all_come(Seconds patience) const {
  std::vector<MPI_Request> requests(1, MPI_REQUEST_NULL);
  check_mpi(MPI_Ibarrier(control_, requests.data()), "MPI_Ibarrier");
  return unfinished(requests, MPI_Wtime() + patience.value()).empty();
}

void Mpi::abort(int exit_code) const {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::abort();  // MPI_Abort is not declared as a call that does not return
}

std::string mpi_library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  check_mpi(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  std::string version = text.data();
  return version.substr(0, version.find('\n'));
}

Answer library_reads_cuda_memory(std::string_view library, std::optional<bool> says, const Environment& environment) {
  const auto is_on = [&](const char* name) { return environment(name) == "1"; };
  if (library.find("MVAPICH2") != std::string_view::npos) {
    return is_on("MV2_USE_CUDA") ? Answer::granted()
                                 : Answer::refused("MVAPICH2 takes device pointers only with MV2_USE_CUDA=1");
  }
  if (says.value_or(false)) return Answer::granted();
  if (library.find("MPICH") != std::string_view::npos) {
    return is_on("MPICH_GPU_SUPPORT_ENABLED")
               ? Answer::granted()
               : Answer::refused(
                     "MPICH takes device pointers only where it was built for it, or as Cray's with "
                     "MPICH_GPU_SUPPORT_ENABLED=1");
  }
  return Answer::refused("the MPI library is not CUDA-aware");
}

Answer mpi_reads_cuda_memory() {
  std::optional<bool> says;
#if defined(MPIX_CUDA_AWARE_SUPPORT)  // what it says is true of the library at build time; a job may run with another
                                      // one
  says = MPIX_Query_cuda_support() == 1;
#elif defined(MPIX_GPU_SUPPORT_CUDA)
  int supported = 0;
  says = MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &supported) == MPI_SUCCESS && supported != 0;
#endif
  return library_reads_cuda_memory(mpi_library_version(), says, [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  });
}

MessageType::MessageType(Bytes length, std::uint64_t largest) {
  if (length.count() <= largest) {
    count_ = static_cast<int>(length.count());
    return;
  }
  // Blocks of the largest count, and the rest as single bytes.
  const std::uint64_t blocks = length.count() / largest;
  MPI_Datatype block = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_contiguous(static_cast<int>(largest), MPI_BYTE, &block), "MPI_Type_contiguous");
  const std::array lengths{static_cast<int>(blocks), static_cast<int>(length.count() % largest)};
  const std::array<MPI_Aint, 2> offsets{0, static_cast<MPI_Aint>(blocks * largest)};
  const std::array types{block, MPI_BYTE};
  check_mpi(MPI_Type_create_struct(2, lengths.data(), offsets.data(), types.data(), &type_), "MPI_Type_create_struct");
  check_mpi(MPI_Type_free(&block), "MPI_Type_free");
  check_mpi(MPI_Type_commit(&type_), "MPI_Type_commit");
  count_ = 1;
}

MessageType::~MessageType() {
  if (type_ != MPI_BYTE) MPI_Type_free(&type_);
}

Bytes received(const MPI_Status& status) {
  MPI_Count count = 0;
  check_mpi(MPI_Get_elements_x(&status, MPI_BYTE, &count), "MPI_Get_elements_x");
  return Bytes{static_cast<std::uint64_t>(count)};
}

}  // namespace twinlink::real
