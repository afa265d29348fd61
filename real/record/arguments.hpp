// Handles and statuses that a call gives by address, in C or in Fortran.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "real/record/call.hpp"

namespace twinlink::record {

MPI_Request request_at(const Call& call, std::size_t place, int i = 0);
MPI_Message message_at(const Call& call, std::size_t place);
MPI_Comm comm_at(const Call& call, std::size_t place);
MPI_Datatype type_at(const Call& call, std::size_t place, int i);
int int_at(const Call& call, std::size_t place, int i = 0);
bool is_in_place(const Call& call, std::size_t place);

std::uint64_t size_of(MPI_Datatype type);
std::uint64_t bytes_of(const Call& call, std::size_t count, std::size_t type);

/// Where the program ignores them, the library fills ours.
class Statuses {
 public:
  /// A negative `count`: one status, not an array.
  Statuses(Call& call, std::size_t place, int count);
  [[nodiscard]] MPI_Status at(int i) const;

 private:
  bool is_fortran_;
  Word where_;  ///< in the language's form
  std::vector<MPI_Status> own_{};
};

}  // namespace twinlink::record
