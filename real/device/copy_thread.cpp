#include "real/device/copy_thread.hpp"

#include <chrono>
#include <utility>

#include "protocols/core/errors.hpp"
#include "real/system/system_error.hpp"

namespace twinlink::real {
namespace {

using Clock = std::chrono::steady_clock;

/// To wake a sleeper takes as long as to copy some hundred kilobytes; pieces of one message follow each other sooner.
constexpr std::chrono::milliseconds kAwake{1};

}  // namespace

Cpus::Cpus() {
  constexpr std::size_t kMost = 64;
  do {
    sets_.emplace_back();
    if (sched_getaffinity(0, bytes(), sets_.data()) == 0) return;
  } while (errno == EINVAL && sets_.size() < kMost);
  throw_errno("sched_getaffinity");
}

std::size_t Cpus::count() const { return static_cast<std::size_t>(CPU_COUNT_S(bytes(), sets_.data())); }

void Cpus::bind() const {
  if (sched_setaffinity(0, bytes(), sets_.data()) != 0) throw_errno("sched_setaffinity");
}

CopyThread::CopyThread(Cpus cpus, Mover mover) : cpus_(std::move(cpus)), mover_(std::move(mover)) {
  if (cpus_.count() < 2) {
    throw UnavailableError(
        "copies by a thread beside the rank need a second CPU, and this rank may use one only: mpirun --bind-to none, "
        "or --bind");
  }
  thread_ = std::thread([this] { run(); });
}

CopyThread::~CopyThread() {
  put(std::nullopt);
  thread_.join();
}

void CopyThread::put(std::optional<Copy> copy) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(copy);
  }
  given_.fetch_add(1, std::memory_order_release);
  given_.notify_one();
}

std::uint64_t CopyThread::give(const Copy& copy) {
  put(copy);
  return given_.load(std::memory_order_relaxed);
}

bool CopyThread::ended(std::uint64_t number) const {
  const bool over = ended_.load(std::memory_order_acquire) >= number;
  // Asked after that: a copy that has failed counts as ended only when this says so.
  if (failed_.load(std::memory_order_acquire)) std::rethrow_exception(failure_);
  return over;
}

void CopyThread::wait() const {
  while (!ended(given_.load(std::memory_order_relaxed))) {
  }
}

void CopyThread::await(std::uint64_t number) const {
  const Clock::time_point since = Clock::now();
  for (std::uint64_t given = 0; (given = given_.load(std::memory_order_acquire)) < number;) {
    if (Clock::now() - since > kAwake) given_.wait(given, std::memory_order_acquire);
  }
}

std::optional<CopyThread::Copy> CopyThread::take() {
  const std::lock_guard lock(mutex_);
  const std::optional<Copy> next = waiting_.front();
  waiting_.pop_front();
  return next;
}

void CopyThread::run() {
  bool bound = false;
  for (std::uint64_t number = 1;; ++number) {
    await(number);
    const std::optional<Copy> copy = take();
    if (!copy) return;
    try {
      if (!std::exchange(bound, true)) cpus_.bind();
      if (!failed_.load(std::memory_order_relaxed)) mover_(*copy);
    } catch (...) {
      failure_ = std::current_exception();
      failed_.store(true, std::memory_order_release);
    }
    ended_.store(number, std::memory_order_release);
  }
}

}  // namespace twinlink::real
