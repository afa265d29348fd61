// A stand-in for libnccl.so.2, which writes down what it is told to do. Addresses are so many bytes behind the first
// one that it was given, or before it. Where TWINLINK_FAKE_NCCL names a call, that one fails.
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "real/nccl/nccl_library.hpp"

namespace {

using namespace twinlink::real::nccl;  // NOLINT(google-build-using-namespace)

constexpr Result kSystemError = 2;

std::string told;
const char* base = nullptr;

std::string at(const void* memory) {
  const auto* const address = static_cast<const char*>(memory);
  if (base == nullptr) base = address;
  return " +" + std::to_string(address - base);
}

template <class... Words>
Result tell(std::string_view call, const Words&... words) {
  told += call;
  ((told += std::string(words)), ...);
  told += '\n';
  const char* const failing = std::getenv("TWINLINK_FAKE_NCCL");
  return failing != nullptr && call == failing ? kSystemError : kSuccess;
}

std::string number(std::string_view name, std::size_t value) {
  return " " + std::string(name) + " " + std::to_string(value);
}
std::string type(int type) { return type == kUint64 ? " numbers" : type == 1 ? " bytes" : " of another type"; }
std::string sum(int operation) { return operation == kSum ? " sum" : " of another operation"; }
std::string in(Comm comm, Queue queue) {
  const bool right = comm == reinterpret_cast<Comm>(&told) && queue == &base;
  return right ? "" : " in another queue or communicator";
}

}  // namespace

extern "C" {

/// What was told since the last question; `queue` is the one that is right.
const char* fake_nccl_told() {
  static std::string last;
  last = std::exchange(told, {});
  base = nullptr;
  return last.c_str();
}
void* fake_nccl_queue() { return &base; }

Result ncclGetVersion(int* version) {
  *version = 22803;
  return kSuccess;
}
Result ncclGetUniqueId(UniqueId* id) {
  std::strcpy(id->bytes.data() + 100, "id");
  return tell("get id");
}
Result ncclCommInitRank(Comm* comm, int ranks, UniqueId id, int rank) {
  *comm = reinterpret_cast<Comm>(&told);
  return tell("init rank ", std::to_string(rank), number("of", static_cast<std::size_t>(ranks)), " with ",
              id.bytes.data() + 100);
}
Result ncclCommDestroy(Comm comm) { return tell("destroy", in(comm, &base)); }
Result ncclCommAbort(Comm comm) { return tell("abort", in(comm, &base)); }
const char* ncclGetErrorString(Result code) { return code == kSystemError ? "made to fail" : "no error"; }
Result ncclGroupStart() { return tell("group start"); }
Result ncclGroupEnd() { return tell("group end"); }
Result ncclAllReduce(const void* from, void* to, std::size_t count, int of, int operation, Comm comm, Queue queue) {
  return tell("all-reduce", at(from), at(to), number("of", count), type(of), sum(operation), in(comm, queue));
}
Result ncclAllGather(const void* from, void* to, std::size_t count, int of, Comm comm, Queue queue) {
  const std::string there = at(to);  // all of it, where the buffer begins
  return tell("all-gather", at(from), there, number("of", count), type(of), in(comm, queue));
}
Result ncclReduceScatter(const void* from, void* to, std::size_t count, int of, int operation, Comm comm, Queue queue) {
  const std::string here = at(from);
  return tell("reduce-scatter", here, at(to), number("of", count), type(of), sum(operation), in(comm, queue));
}
Result ncclBroadcast(const void* from, void* to, std::size_t count, int of, int root, Comm comm, Queue queue) {
  return tell("broadcast", at(from), at(to), number("of", count), type(of),
              number("from", static_cast<std::size_t>(root)), in(comm, queue));
}
Result ncclReduce(const void* from, void* to, std::size_t count, int of, int operation, int root, Comm comm,
                  Queue queue) {
  return tell("reduce", at(from), at(to), number("of", count), type(of), sum(operation),
              number("to", static_cast<std::size_t>(root)), in(comm, queue));
}
Result ncclSend(const void* from, std::size_t count, int of, int peer, Comm comm, Queue queue) {
  return tell("send", at(from), number("of", count), type(of), number("to", static_cast<std::size_t>(peer)),
              in(comm, queue));
}
Result ncclRecv(void* to, std::size_t count, int of, int peer, Comm comm, Queue queue) {
  return tell("recv", at(to), number("of", count), type(of), number("from", static_cast<std::size_t>(peer)),
              in(comm, queue));
}

}  // extern "C"
