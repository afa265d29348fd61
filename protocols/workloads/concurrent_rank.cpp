#include "protocols/workloads/concurrent_rank.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <utility>

#include "protocols/core/errors.hpp"
#include "protocols/core/fiber.hpp"

namespace twinlink {
namespace {

/// Of a work: what protocols put on it, twice over. Pages that nobody touches take no memory.
constexpr std::size_t kStack = std::size_t{256} << 10U;
using Stack = std::array<std::byte, kStack>;

/// What ends a work that waits when another has failed.
class CancelledError : public Error {
 public:
  CancelledError() : Error("given up, for something else that this rank did has failed") {}
};

}  // namespace

/// One work on its stack. It is resumed from outside until it waits or ends.
class ConcurrentRank::Work {
 public:
  Work() : stack_(std::make_unique_for_overwrite<Stack>()), fiber_(*stack_) {}
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  void begin(const std::function<void()>& body) {
    body_ = &body;
    waits_ = {};
    answer_.reset();
    failure_ = nullptr;
    fiber_.begin([](void* work) { static_cast<Work*>(work)->run(); }, this);
  }
  [[nodiscard]] bool ended() const { return fiber_.ended(); }
  [[nodiscard]] std::exception_ptr failure() const { return failure_; }

  void go_on() { fiber_.go_on(); }

  /// Called on the work: gives up the processor until somebody has an answer.
  std::optional<Completion> wait(std::span<const Op> ops, Seconds deadline) {
    waits_ = ops;
    deadline_ = deadline;
    fiber_.pause();
    return std::exchange(answer_, std::nullopt);
  }
  [[nodiscard]] std::span<const Op> waits() const { return waits_; }
  [[nodiscard]] Seconds deadline() const { return deadline_; }
  void answer(Completion completion) { answer_ = completion; }
  [[nodiscard]] bool has_answer() const { return answer_.has_value(); }

 private:
  void run() {
    try {
      (*body_)();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  std::unique_ptr<Stack> stack_;
  Fiber fiber_;
  const std::function<void()>* body_ = nullptr;
  std::span<const Op> waits_{};
  Seconds deadline_{};
  std::optional<Completion> answer_{};
  std::exception_ptr failure_{};
};

ConcurrentRank::ConcurrentRank(Rank& inner) : DecoratedRank(inner) {}
ConcurrentRank::~ConcurrentRank() = default;

void ConcurrentRank::resume(Work& work) {
  running_ = &work;
  work.go_on();
  running_ = nullptr;
}

void ConcurrentRank::run(std::span<const std::function<void()>> works) {
  if (running_ != nullptr) throw UsageError("a work of a rank cannot run others");
  if (works.size() == 1) return works.front()();
  while (works_.size() < works.size()) works_.push_back(std::make_unique<Work>());
  std::vector<Work*> live;
  for (std::size_t i = 0; i < works.size(); ++i) {
    works_[i]->begin(works[i]);
    live.push_back(works_[i].get());
  }
  std::vector<Work*> ready = live;
  std::exception_ptr failure;
  const auto fail = [&](std::exception_ptr with) {
    if (failure) return;
    failure = std::move(with);
    cancelled_ = true;
    ready = live;
  };
  while (!live.empty()) {
    for (std::size_t i = 0; i < ready.size(); ++i) {
      Work& work = *ready[i];
      if (work.ended()) continue;
      resume(work);
      if (!work.ended()) continue;
      std::erase(live, &work);
      if (work.failure()) {
        fail(work.failure());
        i = static_cast<std::size_t>(-1);  // all others once more, to be cancelled
      }
    }
    ready.clear();
    if (live.empty()) break;
    try {
      wait_for_all(live);
      const Seconds now = inner().now();
      for (Work* work : live) {
        if (work->has_answer() || now >= work->deadline()) ready.push_back(work);
      }
    } catch (...) {
      fail(std::current_exception());
    }
  }
  cancelled_ = false;
  if (failure) std::rethrow_exception(failure);
}

/// Until something has ended, or the first deadline has passed.
void ConcurrentRank::wait_for_all(std::span<Work* const> waiting) {
  ops_.clear();
  owners_.clear();
  Seconds deadline = waiting.front()->deadline();
  for (Work* work : waiting) {
    deadline = std::min(deadline, work->deadline());
    ops_.insert(ops_.end(), work->waits().begin(), work->waits().end());
    owners_.insert(owners_.end(), work->waits().size(), work);
  }
  const auto completion = inner().wait_any(ops_, deadline);
  if (!completion) return;
  Work& owner = *owners_[completion->index];
  const auto first = std::ranges::find(owners_, &owner) - owners_.begin();
  owner.answer({completion->index - static_cast<std::size_t>(first), completion->status});
}

std::optional<Completion> ConcurrentRank::wait_any(std::span<const Op> ops, Seconds deadline) {
  if (running_ == nullptr) return inner().wait_any(ops, deadline);
  if (cancelled_) throw CancelledError();
  const auto answer = running_->wait(ops, deadline);
  if (cancelled_ && !answer) throw CancelledError();
  return answer;
}

}  // namespace twinlink
