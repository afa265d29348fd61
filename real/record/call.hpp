// A call of MPI under way: its arguments by place, whichever language it came from, and what really does it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <mpi.h>

namespace twinlink::record {

/// An argument: a pointer, a handle or a number.
using Word = std::uintptr_t;

template <class T>
Word to_word(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<Word>(value);
  } else {
    return static_cast<Word>(value);
  }
}
template <class T>
T from_word(Word word) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(word);  // NOLINT(performance-no-int-to-ptr): it has been one
  } else {
    return static_cast<T>(word);
  }
}

struct Call {
  const char* name = nullptr;
  std::size_t arguments = 0;
  const Word* a = nullptr;  ///< as in C; arrays and addresses of handles and statuses as the language has them
  Word* passed = nullptr;   ///< what the library is given
  bool is_fortran = false;
  int (*real)(const Call&) = nullptr;
  void* fortran = nullptr;  ///< what `real` calls in Fortran
  std::uint64_t begin = 0;  ///< ns of CLOCK_MONOTONIC; set by run()
  std::uint64_t end = 0;

  template <class T>
  [[nodiscard]] T as(std::size_t place) const {
    return from_word<T>(a[place]);
  }
  [[nodiscard]] MPI_Comm comm(std::size_t place) const { return as<MPI_Comm>(place); }
  /// The library's own work, timed. MPI_SUCCESS or an error.
  int run();
};

std::uint64_t now();

}  // namespace twinlink::record
