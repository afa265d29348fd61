#include "protocols/workloads/concurrent_rank.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <utility>

#include "protocols/core/errors.hpp"
#include "protocols/fibers/fiber.hpp"

namespace twinlink {
namespace {

/// Stack of a work: twice what protocols put on it. Pages that nobody touches take no memory.
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

  void begin(const std::function<void()>& body, std::uint64_t number) {
    body_ = &body;
    number_ = number;
    waits_ = {};
    condition_ = nullptr;
    answer_.reset();
    failure_ = nullptr;
    fiber_.begin([](void* work) { static_cast<Work*>(work)->run(); }, this);
  }
  [[nodiscard]] bool ended() const { return fiber_.ended(); }
  [[nodiscard]] std::exception_ptr failure() const { return failure_; }

  void go_on() { fiber_.go_on(); }
  /// In the order in which works began.
  [[nodiscard]] std::uint64_t number() const { return number_; }

  /// Called on the work: gives up the processor until somebody has an answer.
  std::optional<Completion> wait(std::span<const Op> ops, Seconds deadline) {
    waits_ = ops;
    deadline_ = deadline;
    fiber_.pause();
    return std::exchange(answer_, std::nullopt);
  }
  /// Likewise, until `condition` holds or the work is to go on anyway.
  void wait(const std::function<bool()>& condition) {
    waits_ = {};
    condition_ = &condition;
    fiber_.pause();
    condition_ = nullptr;
  }
  [[nodiscard]] std::span<const Op> waits() const { return waits_; }
  [[nodiscard]] Seconds deadline() const { return deadline_; }
  void answer(Completion completion) { answer_ = completion; }
  [[nodiscard]] bool waits_for_others() const { return condition_ != nullptr; }
  [[nodiscard]] bool condition_holds() const { return (*condition_)(); }

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
  std::uint64_t number_ = 0;
  std::span<const Op> waits_{};
  Seconds deadline_{};
  const std::function<bool()>* condition_ = nullptr;  ///< it waits for other works instead
  std::optional<Completion> answer_{};
  std::exception_ptr failure_{};
};

ConcurrentRank::ConcurrentRank(MeasuredRank& inner) : DecoratedRank(inner) {}
ConcurrentRank::~ConcurrentRank() = default;

std::uint64_t ConcurrentRank::IsOlder::number(const Work* work) { return work->number(); }

void ConcurrentRank::resume(Work& work) {
  ready_.erase(&work);
  conditional_.erase(&work);
  running_ = &work;
  work.go_on();
  running_ = nullptr;
  if (work.waits_for_others()) conditional_.insert(&work);
  if (work.ended()) ++ended_;
}

ConcurrentRank::Work& ConcurrentRank::begin(const std::function<void()>& body) {
  if (free_.empty()) {
    works_.push_back(std::make_unique<Work>());
    free_.push_back(works_.back().get());
  }
  Work& work = *free_.back();
  free_.pop_back();
  work.begin(body, ++begun_);
  live_.push_back(&work);
  ready_.insert(&work);
  return work;
}

void ConcurrentRank::run(std::span<const std::function<void()>> works) {
  if (works.size() == 1) return works.front()();
  std::vector<Work*> own;
  for (const auto& work : works) own.push_back(&begin(work));
  if (running_ == nullptr) {
    drive();
  } else {
    // Works of this one look at what is on its stack: they end first, whatever fails.
    const std::function<bool()> all_ended = [&own] { return std::ranges::all_of(own, &Work::ended); };
    while (!all_ended()) running_->wait(all_ended);
  }
  // From the last to the first, so that each gets the same stack again.
  free_.insert(free_.end(), own.rbegin(), own.rend());
  if (running_ != nullptr && cancelled_) throw CancelledError();
  if (running_ == nullptr && failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ConcurrentRank::wait_until(const std::function<bool()>& condition) {
  while (!condition()) {
    if (running_ == nullptr) throw UsageError("only a work of a rank waits for others");
    if (cancelled_) throw CancelledError();
    running_->wait(condition);
  }
  if (cancelled_) throw CancelledError();
}

void ConcurrentRank::drive() {
  while (true) {
    const bool moved = go_on();
    if (std::exchange(ended_, 0) > 0) std::erase_if(live_, &Work::ended);
    if (live_.empty()) break;
    if (moved) continue;  // what a work waits for may hold now
    try {
      wait_for_all();
    } catch (...) {
      fail(std::current_exception());
    }
  }
  cancelled_ = false;
}

bool ConcurrentRank::go_on() {
  bool moved = false;
  std::uint64_t last = 0;
  while (Work* const work = next_behind(last)) {
    moved = true;
    last = work->number();
    resume(*work);
    if (work->ended() && work->failure()) fail(work->failure());
  }
  return moved;
}

/// The oldest of those that began behind that one and can go on; null: none can.
ConcurrentRank::Work* ConcurrentRank::next_behind(std::uint64_t number) const {
  const auto ready = ready_.upper_bound(number);
  for (auto other = conditional_.upper_bound(number); other != conditional_.end(); ++other) {
    if (ready != ready_.end() && (*other)->number() >= (*ready)->number()) break;
    if ((*other)->condition_holds()) return *other;
  }
  return ready == ready_.end() ? nullptr : *ready;
}

/// All others go on once more, to be cancelled.
void ConcurrentRank::fail(std::exception_ptr with) {
  if (cancelled_) return;
  failure_ = std::move(with);
  cancelled_ = true;
  for (Work* work : live_) {
    if (!work->ended()) ready_.insert(work);
  }
}

/// Until something has ended, or the first deadline has passed.
void ConcurrentRank::wait_for_all() {
  ops_.clear();
  owners_.clear();
  std::optional<Seconds> deadline;
  for (Work* work : live_) {
    if (work->waits_for_others()) continue;
    deadline = std::min(deadline.value_or(work->deadline()), work->deadline());
    ops_.insert(ops_.end(), work->waits().begin(), work->waits().end());
    owners_.insert(owners_.end(), work->waits().size(), work);
  }
  if (!deadline) throw Error("every work of this rank waits for another one");
  if (const auto completion = inner().wait_any(ops_, *deadline)) {
    Work& owner = *owners_[completion->index];
    const auto first = std::ranges::find(owners_, &owner) - owners_.begin();
    owner.answer({completion->index - static_cast<std::size_t>(first), completion->status});
    ready_.insert(&owner);
  }
  const Seconds now = inner().now();
  if (now < *deadline) return;
  for (Work* work : live_) {
    if (!work->waits_for_others() && now >= work->deadline()) ready_.insert(work);
  }
}

std::optional<Completion> ConcurrentRank::wait_any(std::span<const Op> ops, Seconds deadline) {
  if (running_ == nullptr) return inner().wait_any(ops, deadline);
  if (cancelled_) throw CancelledError();
  const auto answer = running_->wait(ops, deadline);
  if (cancelled_ && !answer) throw CancelledError();
  return answer;
}

}  // namespace twinlink
