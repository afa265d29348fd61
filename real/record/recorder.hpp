// The file of this process, and what is known of its communicators and requests. Any thread may use it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "protocols/workloads/goal/mpi_calls.hpp"
#include "real/record/call.hpp"

namespace twinlink::record {

namespace mpi = workloads::goal::mpi;

/// What a request stands for. Persistent ones have a number for each start.
struct Request {
  std::uint64_t number = 0;
  bool receives = false;
  bool is_persistent = false;
  bool is_active = true;
  bool of_device = false;
  std::uint64_t communicator = 0;
  int peer = 0;
  int tag = 0;
  std::uint64_t bytes = 0;
};

class Recorder {
 public:
  /// Never destroyed: programs call MPI while they end.
  static Recorder& of_process();

  [[nodiscard]] bool is_on() const { return is_on_.load(std::memory_order_relaxed); }
  /// After MPI_Init, by all processes of MPI_COMM_WORLD. One that cannot write ends the job, and says why.
  void begin();
  /// Before MPI_Finalize, by all; begun and ended as the call was.
  void end();
  /// What is there goes into the file: before MPI_Abort, and where a program ends without MPI_Finalize.
  void flush();
  void cancelled() { has_cancelled_ = true; }
  [[nodiscard]] bool has_cancelled() const { return has_cancelled_; }

 private:
  friend class Entry;
  struct Thread;
  Thread& thread();
  /// MPI says so before it frees one, whoever does: its address may be another's then.
  static int communicator_goes(MPI_Comm comm, int key, void* value, void* none);
  void stop(const std::string& why);
  void write_frame();
  void put(std::uint64_t number);
  void put_call(mpi::Kind kind, std::uint8_t marks, std::uint64_t begin, std::uint64_t end);
  void put_poll(Thread& thread);

  std::atomic<bool> is_on_{false};
  std::atomic<bool> has_cancelled_{false};
  bool has_begun_ = false;  ///< and so have all
  int key_ = MPI_KEYVAL_INVALID;
  std::mutex mutex_{};
  int file_ = -1;
  int process_ = 0;
  std::vector<unsigned char> frame_{};
  std::uint64_t written_ = 0;  ///< when the last frame was
  std::uint64_t begins_ = 0;
  std::uint64_t threads_ = 0;
  std::uint64_t requested_ = 0;
  std::uint64_t communicators_made_ = 0;
  std::unordered_map<Word, std::uint64_t> communicators_{};
  /// MPI may give one handle to several sends that have ended at once.
  std::unordered_multimap<Word, Request> requests_{};
  std::unordered_map<Word, std::uint64_t> probed_{};  ///< by message: its communicator
  std::unordered_map<std::string_view, std::uint64_t> names_{};
};

/// While it lives nobody else writes. Communicators and names come before the call that is put.
class Entry {
 public:
  Entry();
  ~Entry();
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  std::uint64_t number_of(MPI_Comm comm);
  void forget(MPI_Comm comm);
  std::uint64_t number_of_name(const char* name);
  /// The newest of that handle, which only a persistent one keeps.
  std::optional<Request> take(Word handle);
  std::unordered_multimap<Word, Request>& requests() { return to_.requests_; }
  std::unordered_map<Word, std::uint64_t>& probed() { return to_.probed_; }

  Entry& call(mpi::Kind kind, const Call& call, std::uint8_t marks = 0);
  Entry& put(std::uint64_t number);
  /// Ranks and tags: one more.
  Entry& put_place(int number) { return put(static_cast<std::uint64_t>(static_cast<std::int64_t>(number) + 1)); }
  /// A new request's number, and it is known from now on.
  void add(Word handle, Request request);
  [[nodiscard]] std::uint64_t requested() const { return to_.requested_; }
  std::uint64_t next_request() { return to_.requested_++; }
  void poll(const Call& call);

 private:
  Recorder& to_;
  std::lock_guard<std::mutex> lock_;
};

/// Is it a GPU's memory? Asked of CUDA's driver where the program has loaded it.
bool is_of_device(const void* buffer);

}  // namespace twinlink::record
