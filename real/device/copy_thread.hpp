// A thread beside the rank's own that has copies made one after the other, each until it has ended.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace twinlink::real {

/// CPUs that threads may run on.
class Cpus {
 public:
  /// Those of the calling thread, now. An EnvironmentError if the system does not tell.
  Cpus();

  [[nodiscard]] std::size_t count() const;
  /// Whoever calls it runs on them from now on. An EnvironmentError if the system refuses.
  void bind() const;

 private:
  [[nodiscard]] std::size_t bytes() const { return sets_.size() * sizeof(cpu_set_t); }

  std::vector<cpu_set_t> sets_;  ///< one set: a machine may have more CPUs than the type
};

/// Used by one other thread, which gives it copies. It looks for the next one all the time for a millisecond, and then
/// sleeps until there is one.
class CopyThread {
 public:
  struct Copy {
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    std::size_t size = 0;
  };
  /// Copies, and returns when the bytes are there.
  using Mover = std::function<void(const Copy&)>;

  /// Runs on `cpus`, wherever its creator is bound. An UnavailableError if that is one CPU: it would take turns with
  /// the rank, which never sleeps.
  CopyThread(Cpus cpus, Mover mover);
  /// Waits for all that was given.
  ~CopyThread();
  CopyThread(const CopyThread&) = delete;
  CopyThread& operator=(const CopyThread&) = delete;

  /// Behind all others. Returns the copy's number.
  std::uint64_t give(const Copy& copy);
  /// Has the copy of that number ended? Throws what the mover has thrown; no copy behind that one is made.
  [[nodiscard]] bool ended(std::uint64_t number) const;
  /// Waits for all that was given, busily, and throws as ended().
  void wait() const;

 private:
  void run();
  /// Waits for copy number `number` to be given.
  void await(std::uint64_t number) const;
  /// The next one; nothing to end with.
  [[nodiscard]] std::optional<Copy> take();
  void put(std::optional<Copy> copy);

  Cpus cpus_;
  Mover mover_;
  std::mutex mutex_;
  std::deque<std::optional<Copy>> waiting_;  ///< under the mutex
  std::atomic<std::uint64_t> given_{0};
  std::atomic<std::uint64_t> ended_{0};
  std::exception_ptr failure_;  ///< read by others once failed_ says so
  std::atomic<bool> failed_{false};
  std::thread thread_;
};

}  // namespace twinlink::real
