// Calls that are over, as lines of files: in the form of NCCL Inspector's dumps (JSON v4.2: header, metadata,
// "coll_perf" or "p2p_perf"), with what that does not have. A thread writes, so that no call waits for a disk.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "real/nccl/profiler/profiler_interface.hpp"

namespace twinlink::profiler {

/// A text that needs no memory: what is longer is cut.
using Name = std::array<char, 24>;

class RecordFile;

/// Of a communicator, at one of its ranks.
struct Member {
  std::uint64_t communicator = 0;
  int rank = 0;
  int ranks = 0;
  int nodes = 0;
  RecordFile* file = nullptr;
};

struct Call {
  Member member{};
  bool is_message = false;
  Name function{};
  Name type{};
  Name algorithm{};
  Name format{};
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;  ///< the type's times the count
  int other = 0;            ///< root or peer
  int channels = 0;
  // ns since 1970 of the host, 0: not seen; of the GPU by its globaltimer.
  std::int64_t called = 0;
  std::int64_t returned = 0;
  std::int64_t host_begin = 0;  ///< of the kernel, as the host has seen it
  std::int64_t host_end = 0;
  std::uint64_t gpu_begin = 0;
  std::uint64_t gpu_end = 0;
};

class RecordFile {
 public:
  /// Makes `folder`/HOST-PID[-gpuN].jsonl, which nobody has yet. A std::runtime_error that says why it cannot.
  RecordFile(const std::string& folder, int device);
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;
  ~RecordFile();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int device() const { return device_; }
  void add(const Call& call);
  /// False, once: it cannot be written any more, and nothing else will be.
  bool write();

 private:
  std::string name_{};
  std::string metadata_{};
  std::string text_{};
  int device_ = -1;
  int file_ = -1;
};

/// Of the process. It is never destroyed, for other threads may call until the end.
class RecordWriter {
 public:
  /// Starts the thread; std::system_error.
  RecordWriter();

  /// The file of a device, -1: of all. A std::runtime_error where there can be none.
  RecordFile* file_for(const std::string& folder, int device, Log log);
  /// Allocates nothing and waits for no disk. What comes faster than it can be written is counted and left out.
  void add(const Call& call) noexcept;
  /// Waits until all is written, so long at most.
  void flush(int seconds) noexcept;

 private:
  static constexpr std::size_t kMostWaiting = 32'768;

  void run() noexcept;
  void say(const char* what, const char* why = "") const noexcept;

  std::mutex mutex_{};
  std::condition_variable wake_{};
  std::condition_variable written_{};
  std::vector<Call> waiting_{};
  std::vector<Call> leaving_{};  ///< the thread's
  bool is_writing_ = false;
  std::uint64_t lost_ = 0;
  Log log_ = nullptr;
  std::vector<std::unique_ptr<RecordFile>> files_{};
};

}  // namespace twinlink::profiler
