// libtwinlink-record.so: put before a program that uses MPI, it writes down the program's calls.
//
//   TWINLINK_RECORD=FOLDER LD_PRELOAD=libtwinlink-record.so ./program
//
//   1. The loader takes MPI_Send and mpi_send_ from here. Their hooks call what MPI's library has under another name:
//      PMPI_Send, or the next mpi_send_, which goes on to PMPI_Send by itself.
//   2. What MPI calls meanwhile of these functions belongs to the call, and is not written.
//   3. Recording lasts from the end of MPI_Init to the beginning of MPI_Finalize.
#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <utility>

#include "real/record/functions.hpp"
#include "real/record/hooks.hpp"
#include "real/record/recorder.hpp"

namespace twinlink::record {
namespace {

[[gnu::tls_model("initial-exec")]] thread_local int depth = 0;

template <class Function>
struct Signature;
template <class Result, class... P>
struct Signature<Result(P...)> {
  static constexpr std::size_t kArguments = sizeof...(P);
  template <std::size_t i>
  using At = std::tuple_element_t<i, std::tuple<P...>>;
};
template <class Function, std::size_t i>
using At = typename Signature<Function>::template At<i>;

int hooked(int (*hook)(Call&), Call& call) {
  ++depth;
  const int result = hook(call);
  --depth;
  return result;
}
bool is_recorded() { return depth == 0 && Recorder::of_process().is_on(); }

/// What comes behind this library of that name: of Fortran, also where a module has been loaded for itself alone.
void* next_of(const char* symbol) {
  if (void* const next = ::dlsym(RTLD_NEXT, symbol)) return next;
  struct Search {
    const char* symbol;
    void* found;
  } search{symbol, nullptr};
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        if (object->dlpi_name == nullptr || std::strstr(object->dlpi_name, "libmpi") == nullptr) return 0;
        void* const library = ::dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
        if (library == nullptr) return 0;
        wanted.found = ::dlsym(library, wanted.symbol);
        return wanted.found == nullptr ? 0 : 1;
      },
      &search);
  if (search.found != nullptr) return search.found;
  std::fprintf(stderr, "twinlink-record: no library of MPI has %s: this program cannot be recorded\n", symbol);
  std::abort();
}

template <auto function, class Function, std::size_t... i>
int call_c(const Call& call, std::index_sequence<i...> /*places*/) {
  return function(from_word<At<Function, i>>(call.passed[i])...);
}

template <auto function, class... P>
int from_c(const char* name, int (*hook)(Call&), P... arguments) {
  if (!is_recorded()) return function(arguments...);
  std::array<Word, sizeof...(P)> words{to_word(arguments)...};
  Call call{.name = name, .arguments = words.size(), .a = words.data(), .passed = words.data()};
  call.real = [](const Call& own) { return call_c<function, int(P...)>(own, std::index_sequence_for<P...>()); };
  return hooked(hook, call);
}

/// What C would have of an argument that Fortran gives by address.
template <class T>
Word from_address(void* address) {
  if constexpr (std::is_pointer_v<T> && !std::is_same_v<T, MPI_Comm> && !std::is_same_v<T, MPI_Datatype>) {
    return to_word(address);
  } else if constexpr (std::is_same_v<T, MPI_Comm>) {
    return to_word(PMPI_Comm_f2c(*static_cast<MPI_Fint*>(address)));
  } else if constexpr (std::is_same_v<T, MPI_Datatype>) {
    return to_word(PMPI_Type_f2c(*static_cast<MPI_Fint*>(address)));
  } else {
    return to_word(*static_cast<T*>(address));
  }
}

template <class T>
using Address = void*;

template <std::size_t... i>
int call_fortran(const Call& call, std::index_sequence<i...> /*places*/) {
  int result = MPI_SUCCESS;
  reinterpret_cast<void (*)(Address<decltype(i)>..., int*)>(call.fortran)(from_word<void*>(call.passed[i])..., &result);
  return result;
}

template <class Function, std::size_t... i>
int from_fortran(const char* name, int (*hook)(Call&), void* real, std::array<void*, sizeof...(i)> addresses,
                 std::index_sequence<i...> places) {
  std::array<Word, sizeof...(i)> passed{to_word(addresses[i])...};
  Call call{.name = name, .arguments = passed.size(), .passed = passed.data(), .is_fortran = true, .fortran = real};
  call.real = [](const Call& own) { return call_fortran(own, std::make_index_sequence<sizeof...(i)>()); };
  if (!is_recorded()) return call_fortran(call, places);
  const std::array<Word, sizeof...(i)> words{from_address<At<Function, i>>(addresses[i])...};
  call.a = words.data();
  return hooked(hook, call);
}

}  // namespace
}  // namespace twinlink::record

using namespace twinlink::record;  // NOLINT(google-build-using-namespace): of the functions below, which are all global

// NOLINTBEGIN(readability-identifier-naming, readability-inconsistent-declaration-parameter-name)
#define TWINLINK_P_1(f) At<f, 0> a0
#define TWINLINK_P_2(f) TWINLINK_P_1(f), At<f, 1> a1
#define TWINLINK_P_3(f) TWINLINK_P_2(f), At<f, 2> a2
#define TWINLINK_P_4(f) TWINLINK_P_3(f), At<f, 3> a3
#define TWINLINK_P_5(f) TWINLINK_P_4(f), At<f, 4> a4
#define TWINLINK_P_6(f) TWINLINK_P_5(f), At<f, 5> a5
#define TWINLINK_P_7(f) TWINLINK_P_6(f), At<f, 6> a6
#define TWINLINK_P_8(f) TWINLINK_P_7(f), At<f, 7> a7
#define TWINLINK_P_9(f) TWINLINK_P_8(f), At<f, 8> a8
#define TWINLINK_P_10(f) TWINLINK_P_9(f), At<f, 9> a9
#define TWINLINK_P_11(f) TWINLINK_P_10(f), At<f, 10> a10
#define TWINLINK_P_12(f) TWINLINK_P_11(f), At<f, 11> a11
#define TWINLINK_A_1 a0
#define TWINLINK_A_2 TWINLINK_A_1, a1
#define TWINLINK_A_3 TWINLINK_A_2, a2
#define TWINLINK_A_4 TWINLINK_A_3, a3
#define TWINLINK_A_5 TWINLINK_A_4, a4
#define TWINLINK_A_6 TWINLINK_A_5, a5
#define TWINLINK_A_7 TWINLINK_A_6, a6
#define TWINLINK_A_8 TWINLINK_A_7, a7
#define TWINLINK_A_9 TWINLINK_A_8, a8
#define TWINLINK_A_10 TWINLINK_A_9, a9
#define TWINLINK_A_11 TWINLINK_A_10, a10
#define TWINLINK_A_12 TWINLINK_A_11, a11
#define TWINLINK_C(name, fortran, count, hook)                                              \
  int MPI_##name(TWINLINK_P_##count(decltype(PMPI_##name))) {                               \
    return from_c<&PMPI_##name>("MPI_" #name, &twinlink::record::hook, TWINLINK_A_##count); \
  }
/// `symbol` as a compiler of Fortran writes it; of mpi_f08 the last address may be null.
#define TWINLINK_FORTRAN_SYMBOL(symbol, name, count, hook)                                                           \
  [[gnu::visibility("default")]] void symbol(TWINLINK_P_##count(AnyAddresses), int* error) {                         \
    static void* const real = next_of(#symbol);                                                                      \
    const int result = from_fortran<decltype(PMPI_##name)>("MPI_" #name, &twinlink::record::hook, real,              \
                                                           {TWINLINK_A_##count}, std::make_index_sequence<count>()); \
    if (error != nullptr) *error = result;                                                                           \
  }
#define TWINLINK_FORTRAN(name, fortran, count, hook)           \
  TWINLINK_FORTRAN_SYMBOL(mpi_##fortran##_, name, count, hook) \
  TWINLINK_FORTRAN_SYMBOL(mpi_##fortran##_f08_, name, count, hook)

using AnyAddresses = int(void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*);

extern "C" {
TWINLINK_MPI_FUNCTIONS(TWINLINK_C)
TWINLINK_MPI_FUNCTIONS_IN_C(TWINLINK_C)
TWINLINK_MPI_FUNCTIONS(TWINLINK_FORTRAN)

int MPI_Init(int* count, char*** words) {
  const int result = PMPI_Init(count, words);
  if (result == MPI_SUCCESS) Recorder::of_process().begin();
  return result;
}
int MPI_Init_thread(int* count, char*** words, int required, int* provided) {
  const int result = PMPI_Init_thread(count, words, required, provided);
  if (result == MPI_SUCCESS) Recorder::of_process().begin();
  return result;
}
int MPI_Finalize() {
  Recorder::of_process().end();
  return PMPI_Finalize();
}
int MPI_Abort(MPI_Comm comm, int code) {
  Recorder::of_process().flush();
  return PMPI_Abort(comm, code);
}

#define TWINLINK_BEGINNING(symbol, parameters, ...)                      \
  [[gnu::visibility("default")]] void symbol parameters {                \
    ++depth;                                                             \
    reinterpret_cast<void(*) parameters>(next_of(#symbol))(__VA_ARGS__); \
    --depth;                                                             \
    if (depth == 0) Recorder::of_process().begin();                      \
  }
#define TWINLINK_BEGINNINGS(symbol)                                                                                  \
  TWINLINK_BEGINNING(mpi_init##symbol, (int* error), error)                                                          \
  TWINLINK_BEGINNING(mpi_init_thread##symbol, (int* required, int* provided, int* error), required, provided, error) \
  [[gnu::visibility("default")]] void mpi_finalize##symbol(int* error) {                                             \
    const int result = MPI_Finalize();                                                                               \
    if (error != nullptr) *error = result;                                                                           \
  }
TWINLINK_BEGINNINGS(_)
TWINLINK_BEGINNINGS(_f08_)
}
// NOLINTEND(readability-identifier-naming, readability-inconsistent-declaration-parameter-name)

namespace {
/// A program may end without MPI_Finalize.
[[gnu::destructor]] void keep_what_there_is() { Recorder::of_process().flush(); }
}  // namespace
