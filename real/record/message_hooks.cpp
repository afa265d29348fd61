#include "real/record/hooks.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "real/record/arguments.hpp"
#include "real/record/recorder.hpp"

namespace twinlink::record {
namespace {

using mpi::End;
using mpi::Kind;

std::uint8_t marks_of(const void* buffer) { return is_of_device(buffer) ? mpi::kOfDevice : 0; }

/// One that has ended, as the program learned.
struct Ending {
  MPI_Request handle = MPI_REQUEST_NULL;
  std::optional<Request> request{};
  MPI_Status status{};
};

int bytes_in(const MPI_Status& status, std::uint64_t& bytes) {
  MPI_Count count = 0;
  const int result = PMPI_Get_elements_x(&status, MPI_BYTE, &count);
  bytes = count < 0 ? 0 : static_cast<std::uint64_t>(count);
  return result;
}

void put_received(Entry& entry, const MPI_Status& status) {
  std::uint64_t bytes = 0;
  bytes_in(status, bytes);
  entry.put_place(status.MPI_SOURCE).put_place(status.MPI_TAG).put(bytes);
}

/// What the process has waited for.
void put_wait(const Call& call, const std::vector<Ending>& endings) {
  static thread_local std::vector<const Ending*> known;
  known.clear();
  Entry entry;
  for (const Ending& each : endings) {
    if (!each.request || !each.request->is_active) continue;
    known.push_back(&each);
    if (!each.request->is_persistent) continue;
    const auto found = entry.requests().find(to_word(each.handle));
    if (found != entry.requests().end()) found->second.is_active = false;
  }
  entry.call(Kind::wait, call).put(known.size());
  for (const Ending* const each : known) {
    const Request& request = *each->request;
    const MPI_Status& status = each->status;
    int is_cancelled = 0;
    if (Recorder::of_process().has_cancelled()) PMPI_Test_cancelled(&status, &is_cancelled);
    const bool came = request.receives && is_cancelled == 0 && status.MPI_SOURCE != MPI_PROC_NULL;
    entry.put(entry.requested() - request.number);
    entry.put(static_cast<std::uint64_t>(came                                    ? End::received
                                         : request.receives || is_cancelled != 0 ? End::cancelled
                                                                                 : End::sent));
    if (came) put_received(entry, status);
  }
}

/// Others may have the handle of one that has ended as soon as the call is through, so what has not ended goes back.
void put_back(const std::vector<Ending>& all) {
  Entry entry;
  for (const Ending& each : all) {
    if (each.request && !each.request->is_persistent) entry.requests().emplace(to_word(each.handle), *each.request);
  }
}

void put_poll(const Call& call) { Entry().poll(call); }

/// Request `place` of a call that has begun something; null for none.
Word made(const Call& call, std::size_t place) { return to_word(request_at(call, place)); }

Request message_of(const Call& call, bool receives) {
  return {.receives = receives,
          .of_device = is_of_device(call.as<const void*>(0)),
          .peer = call.as<int>(3),
          .tag = call.as<int>(4),
          .bytes = bytes_of(call, 1, 2)};
}

void put_begun(Entry& entry, const Call& call, const Request& request) {
  const std::uint8_t marks = mpi::kRequested | (request.of_device ? mpi::kOfDevice : 0);
  entry.call(request.receives ? Kind::receive : Kind::send, call, marks).put(request.communicator);
  if (!request.receives) entry.put_place(request.peer).put_place(request.tag).put(request.bytes);
}

int keep(Call& call, bool receives) {
  const int result = call.run();
  if (result != MPI_SUCCESS || call.as<int>(3) == MPI_PROC_NULL) return result;
  Request request = message_of(call, receives);
  const Word handle = made(call, 6);
  Entry entry;
  request.communicator = entry.number_of(call.comm(5));
  request.is_persistent = true;
  request.is_active = false;
  entry.add(handle, request);
  return result;
}

}  // namespace

int send(Call& call) {
  const int result = call.run();
  if (result != MPI_SUCCESS || call.as<int>(3) == MPI_PROC_NULL) return result;
  Request request = message_of(call, false);
  const bool goes_on = call.arguments > 6;
  const Word handle = goes_on ? made(call, 6) : 0;
  Entry entry;
  request.communicator = entry.number_of(call.comm(5));
  if (goes_on) {
    put_begun(entry, call, request);
    entry.add(handle, request);
  } else {
    entry.call(Kind::send, call, request.of_device ? mpi::kOfDevice : 0).put(request.communicator);
    entry.put_place(request.peer).put_place(request.tag).put(request.bytes);
  }
  return result;
}

int send_init(Call& call) { return keep(call, false); }
int receive_init(Call& call) { return keep(call, true); }

int receive(Call& call) {
  Statuses statuses(call, 6, -1);
  const int result = call.run();
  if (result != MPI_SUCCESS || call.as<int>(3) == MPI_PROC_NULL) return result;
  const std::uint8_t marks = marks_of(call.as<const void*>(0));
  Entry entry;
  const std::uint64_t number = entry.number_of(call.comm(5));
  entry.call(Kind::receive, call, marks).put(number);
  put_received(entry, statuses.at(0));
  return result;
}

int begin_receive(Call& call) {
  const int result = call.run();
  if (result != MPI_SUCCESS || call.as<int>(3) == MPI_PROC_NULL) return result;
  Request request = message_of(call, true);
  const Word handle = made(call, 6);
  Entry entry;
  request.communicator = entry.number_of(call.comm(5));
  put_begun(entry, call, request);
  entry.add(handle, request);
  return result;
}

int start(Call& call) {
  const bool is_one = call.arguments == 1;
  const int number = is_one ? 1 : call.as<int>(0);
  const int result = call.run();
  if (result != MPI_SUCCESS) return result;
  Entry entry;
  for (int i = 0; i < number; ++i) {
    const auto found = entry.requests().find(to_word(request_at(call, is_one ? 0 : 1, i)));
    if (found == entry.requests().end()) {
      const std::uint64_t name = entry.number_of_name("MPI_Start of a persistent collective");
      entry.call(Kind::other, call).put(name);
      call.begin = call.end;
      continue;
    }
    put_begun(entry, call, found->second);
    call.begin = call.end;
    found->second.number = entry.next_request();
    found->second.is_active = true;
  }
  return result;
}

int send_receive(Call& call) {
  const bool replaces = call.arguments == 9;
  const std::size_t source = replaces ? 5 : 8;
  Statuses statuses(call, replaces ? 8 : 11, -1);
  const int result = call.run();
  if (result != MPI_SUCCESS) return result;
  const Request request = message_of(call, false);
  Entry entry;
  const std::uint64_t number = entry.number_of(call.comm(replaces ? 7 : 10));
  entry.call(Kind::both, call, request.of_device ? mpi::kOfDevice : 0).put(number);
  if (request.peer == MPI_PROC_NULL) {
    entry.put(0);
  } else {
    entry.put_place(request.peer).put_place(request.tag).put(request.bytes);
  }
  if (call.as<int>(source) == MPI_PROC_NULL) {
    entry.put(0);
  } else {
    put_received(entry, statuses.at(0));
  }
  return result;
}

/// Which message it was is said by the receive of it.
int probe(Call& call) {
  const int result = call.run();
  if (result != MPI_SUCCESS) return result;
  const Word message = call.arguments == 5 ? to_word(message_at(call, 3)) : 0;
  Entry entry;
  const std::uint64_t number = entry.number_of(call.comm(2));
  if (message != 0) entry.probed()[message] = number;
  entry.call(Kind::wait, call).put(0);
  return result;
}

int ask(Call& call) {
  const int result = call.run();
  if (result != MPI_SUCCESS) return result;
  const Word message = call.arguments == 6 && int_at(call, 3) != 0 ? to_word(message_at(call, 4)) : 0;
  Entry entry;
  if (message != 0) entry.probed()[message] = entry.number_of(call.comm(2));
  entry.poll(call);
  return result;
}

int receive_probed(Call& call) {
  const Word message = to_word(message_at(call, 3));
  const bool goes_on = std::string_view(call.name) == "MPI_Imrecv";
  const auto finish = [&](int result, const Statuses* statuses) {
    if (result != MPI_SUCCESS) return result;
    Request request{
        .receives = true, .of_device = is_of_device(call.as<const void*>(0)), .bytes = bytes_of(call, 1, 2)};
    const Word handle = goes_on ? made(call, 4) : 0;
    Entry entry;
    const auto found = entry.probed().find(message);
    if (found == entry.probed().end()) return result;
    request.communicator = found->second;
    entry.probed().erase(found);
    if (goes_on) {
      put_begun(entry, call, request);
      entry.add(handle, request);
    } else {
      entry.call(Kind::receive, call, request.of_device ? mpi::kOfDevice : 0).put(request.communicator);
      put_received(entry, statuses->at(0));
    }
    return result;
  };
  if (goes_on) return finish(call.run(), nullptr);
  const Statuses statuses(call, 4, -1);
  return finish(call.run(), &statuses);
}

namespace {

/// The handles are taken before the call, which makes nothing of them, and what they stand for with them.
std::vector<Ending>& endings_at(const Call& call, std::size_t place, int count) {
  static thread_local std::vector<Ending> all;
  all.clear();
  Entry entry;
  for (int i = 0; i < count; ++i) {
    const MPI_Request handle = request_at(call, place, i);
    all.push_back({.handle = handle, .request = entry.take(to_word(handle))});
  }
  return all;
}

/// Those of `all` that have ended, with their statuses in a row.
int wait_for(Call& call, std::vector<Ending>& all, const Statuses& statuses, int result, bool has_ended) {
  if (result != MPI_SUCCESS || !has_ended) put_back(all);
  if (result != MPI_SUCCESS) return result;
  if (!has_ended) {
    put_poll(call);
    return result;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].handle != MPI_REQUEST_NULL) all[i].status = statuses.at(static_cast<int>(i));
  }
  put_wait(call, all);
  return result;
}

/// Of several the one that the call says at `place`.
int wait_for_one(Call& call, std::vector<Ending>& all, const Statuses& statuses, int result, std::size_t place,
                 bool has_ended) {
  if (has_ended && result == MPI_SUCCESS) {
    const int index = int_at(call, place) - (call.is_fortran && int_at(call, place) != MPI_UNDEFINED ? 1 : 0);
    std::vector<Ending> ended;
    if (index != MPI_UNDEFINED && index >= 0) {
      ended.push_back(all[static_cast<std::size_t>(index)]);
      all.erase(all.begin() + index);
    }
    put_back(all);
    all = std::move(ended);
  }
  return wait_for(call, all, statuses, result, has_ended);
}

}  // namespace

int wait_one(Call& call) {
  auto& all = endings_at(call, 0, 1);
  const Statuses statuses(call, 1, -1);
  const int result = call.run();
  return wait_for(call, all, statuses, result, true);
}

int test_one(Call& call) {
  auto& all = endings_at(call, 0, 1);
  const Statuses statuses(call, 2, -1);
  const int result = call.run();
  return wait_for(call, all, statuses, result, int_at(call, 1) != 0);
}

int wait_all(Call& call) {
  auto& all = endings_at(call, 1, call.as<int>(0));
  const Statuses statuses(call, 2, call.as<int>(0));
  const int result = call.run();
  return wait_for(call, all, statuses, result, true);
}

int test_all(Call& call) {
  auto& all = endings_at(call, 1, call.as<int>(0));
  const Statuses statuses(call, 3, call.as<int>(0));
  const int result = call.run();
  return wait_for(call, all, statuses, result, int_at(call, 2) != 0);
}

int wait_any(Call& call) {
  auto& all = endings_at(call, 1, call.as<int>(0));
  const Statuses statuses(call, 3, -1);
  const int result = call.run();
  return wait_for_one(call, all, statuses, result, 2, true);
}

int test_any(Call& call) {
  auto& all = endings_at(call, 1, call.as<int>(0));
  const Statuses statuses(call, 4, -1);
  const int result = call.run();
  return wait_for_one(call, all, statuses, result, 2, int_at(call, 3) != 0);
}

/// And MPI_Testsome.
int wait_some(Call& call) {
  auto& all = endings_at(call, 1, call.as<int>(0));
  const Statuses statuses(call, 4, call.as<int>(0));
  const int result = call.run();
  const int count = int_at(call, 2);
  std::vector<Ending> some;
  for (int i = 0; result == MPI_SUCCESS && count != MPI_UNDEFINED && i < count; ++i) {
    Ending& each = all[static_cast<std::size_t>(int_at(call, 3, i) - (call.is_fortran ? 1 : 0))];
    some.push_back(each);
    each.request.reset();
  }
  put_back(all);
  return wait_for(call, some, statuses, result, count != 0);
}

/// The program never learns when it ends. What a receive would take is what it asks for.
int let_go(Call& call) {
  const Word handle = to_word(request_at(call, 0));
  Request request;
  {
    Entry entry;
    const std::optional<Request> known = entry.take(handle);
    if (known && known->is_persistent) entry.requests().erase(handle);
    request = known.value_or(Request{.is_active = false});
  }
  const int result = call.run();
  Entry entry;
  if (result != MPI_SUCCESS || !request.is_active || !request.receives || request.peer == MPI_ANY_SOURCE ||
      request.tag == MPI_ANY_TAG) {
    return result;
  }
  const std::uint64_t number = entry.number_of_name("MPI_Request_free of a receive");
  entry.call(Kind::other, call).put(number);
  return result;
}

int cancel(Call& call) {
  Recorder::of_process().cancelled();
  return call.run();
}

/// Its address stands last.
int make_communicator(Call& call) {
  const int result = call.run();
  if (result != MPI_SUCCESS) return result;
  const MPI_Comm comm = comm_at(call, call.arguments - 1);
  Entry entry;
  entry.call(Kind::wait, call).put(0);
  if (comm != MPI_COMM_NULL) entry.number_of(comm);
  return result;
}

int free_communicator(Call& call) {
  const int result = call.run();
  Entry().call(Kind::wait, call).put(0);
  return result;
}

int count(Call& call) {
  const int result = call.run();
  Entry entry;
  const std::uint64_t number = entry.number_of_name(call.name);
  entry.call(Kind::other, call).put(number);
  return result;
}

}  // namespace twinlink::record
