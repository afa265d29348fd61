#include "real/system/mpi.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "protocols/core/errors.hpp"

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

Mpi::Mpi() {
  switch_off_single_copy();
  check_mpi(MPI_Init(nullptr, nullptr), "MPI_Init");
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
  int total = 0;
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    offsets[r] = total;
    total += lengths[r];
  }
  std::string all(static_cast<std::size_t>(total), '\0');
  check_mpi(MPI_Allgatherv(mine.data(), static_cast<int>(mine.size()), MPI_CHAR, all.data(), lengths.data(),
                           offsets.data(), MPI_CHAR, control_),
            "MPI_Allgatherv");
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    texts.push_back(all.substr(static_cast<std::size_t>(offsets[r]), static_cast<std::size_t>(lengths[r])));
  }
  return texts;
}

void Mpi::barrier() const { check_mpi(MPI_Barrier(control_), "MPI_Barrier"); }

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
