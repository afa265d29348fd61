#include "real/record/arguments.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <string>

namespace twinlink::record {
namespace {

#ifdef MPI_F_STATUS_SIZE
constexpr std::size_t kStatus = MPI_F_STATUS_SIZE;
#else
constexpr std::size_t kStatus = sizeof(MPI_Status) / sizeof(MPI_Fint);
#endif

const MPI_Fint* integers_at(const Call& call, std::size_t place) { return call.as<const MPI_Fint*>(place); }

/// Open MPI has an address for each way in which compilers write names.
enum class Constant : std::uint8_t { in_place, status_ignore, statuses_ignore };

bool is_fortran_constant(Constant constant, Word address) {
  constexpr std::array kNames{"in_place", "status_ignore", "statuses_ignore"};
  constexpr std::array kEndings{"", "_", "__"};
  static const auto addresses = [&] {
    std::array<std::array<Word, kEndings.size()>, kNames.size()> all{};
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      for (std::size_t k = 0; k < kEndings.size(); ++k) {
        const std::string name = std::string("mpi_fortran_") + kNames[i] + kEndings[k];
        all[i][k] = to_word(::dlsym(RTLD_DEFAULT, name.c_str()));
      }
    }
    return all;
  }();
  const auto& own = addresses[static_cast<std::size_t>(constant)];
  return address != 0 && std::ranges::find(own, address) != own.end();
}

}  // namespace

MPI_Request request_at(const Call& call, std::size_t place, int i) {
  if (call.is_fortran) return PMPI_Request_f2c(integers_at(call, place)[i]);
  return call.as<const MPI_Request*>(place)[i];
}

MPI_Message message_at(const Call& call, std::size_t place) {
  return call.is_fortran ? PMPI_Message_f2c(*integers_at(call, place)) : *call.as<const MPI_Message*>(place);
}

MPI_Comm comm_at(const Call& call, std::size_t place) {
  return call.is_fortran ? PMPI_Comm_f2c(*integers_at(call, place)) : *call.as<const MPI_Comm*>(place);
}

MPI_Datatype type_at(const Call& call, std::size_t place, int i) {
  if (call.is_fortran) return PMPI_Type_f2c(integers_at(call, place)[i]);
  return call.as<const MPI_Datatype*>(place)[i];
}

int int_at(const Call& call, std::size_t place, int i) {
  static_assert(sizeof(MPI_Fint) == sizeof(int));
  return call.as<const int*>(place)[i];
}

bool is_in_place(const Call& call, std::size_t place) {
  if (call.is_fortran) return is_fortran_constant(Constant::in_place, call.a[place]);
  return call.as<void*>(place) == MPI_IN_PLACE;
}

std::uint64_t size_of(MPI_Datatype type) {
  MPI_Count bytes = 0;
  PMPI_Type_size_x(type, &bytes);
  return bytes < 0 ? 0 : static_cast<std::uint64_t>(bytes);
}

std::uint64_t bytes_of(const Call& call, std::size_t count, std::size_t type) {
  return static_cast<std::uint64_t>(call.as<std::int64_t>(count)) * size_of(call.as<MPI_Datatype>(type));
}

Statuses::Statuses(Call& call, std::size_t place, int count) : is_fortran_(call.is_fortran), where_(call.a[place]) {
  // NOLINTNEXTLINE(bugprone-branch-clone): they are the same in some libraries
  bool is_ignored = where_ == to_word(count < 0 ? MPI_STATUS_IGNORE : MPI_STATUSES_IGNORE);
  if (is_fortran_) {
    is_ignored = where_ == to_word(count < 0 ? MPI_F_STATUS_IGNORE : MPI_F_STATUSES_IGNORE) ||
                 is_fortran_constant(count < 0 ? Constant::status_ignore : Constant::statuses_ignore, where_);
  }
  if (!is_ignored) return;
  own_.resize(static_cast<std::size_t>(count < 0 ? 1 : count));
  where_ = to_word(own_.data());
  call.passed[place] = where_;
}

MPI_Status Statuses::at(int i) const {
  if (!is_fortran_) return from_word<const MPI_Status*>(where_)[i];
  MPI_Status status;
  PMPI_Status_f2c(from_word<MPI_Fint*>(where_) + static_cast<std::size_t>(i) * kStatus, &status);
  return status;
}

}  // namespace twinlink::record
