// ConcurrentRank: a rank that does several things at once, each written as if it were alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "protocols/trace/decorated_rank.hpp"

namespace twinlink {

/// Works that run() was given wait for each other nowhere: where one waits, the others go on, and where all wait there
/// is one wait_any() of the rank around, over the operations of all. So a rank serves many connections, and makes them:
/// protocols block, and need not know of each other. One process thread; a work has a stack of its own.
class ConcurrentRank final : public DecoratedRank {
 public:
  /// `inner` must outlive this rank.
  explicit ConcurrentRank(MeasuredRank& inner);
  ~ConcurrentRank() override;
  ConcurrentRank(const ConcurrentRank&) = delete;
  ConcurrentRank& operator=(const ConcurrentRank&) = delete;

  /// Returns when all have ended. They use this rank, and may share what they like: one runs until it waits. Where one
  /// throws, waits of the others throw too, so that they end, and then the first exception passes on. A work may run
  /// others, too: then it waits for them, and those beside it go on.
  void run(std::span<const std::function<void()>> works);

  /// From a work: waits until another work has made it so. An Error where all works wait for each other.
  void wait_until(const std::function<bool()>& condition);

  std::optional<Completion> wait_any(std::span<const Op> ops, Seconds deadline) override;

 private:
  class Work;
  struct IsOlder {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the name that the library looks for
    static std::uint64_t number(const Work* work);
    static std::uint64_t number(std::uint64_t itself) { return itself; }
    template <class One, class Other>
    bool operator()(const One& one, const Other& other) const {
      return number(one) < number(other);
    }
  };
  using ByAge = std::set<Work*, IsOlder>;
  Work& begin(const std::function<void()>& body);
  void resume(Work& work);
  /// Until all live works have ended.
  void drive();
  /// Every work that can goes on until it waits; false: none could.
  bool go_on();
  [[nodiscard]] Work* next_behind(std::uint64_t number) const;
  void fail(std::exception_ptr with);
  void wait_for_all();

  std::vector<std::unique_ptr<Work>> works_;  ///< their stacks are used again
  std::vector<Work*> free_;
  std::vector<Work*> live_;  ///< in the order in which they began
  ByAge ready_;              ///< of these: to begin, or to go on
  ByAge conditional_;        ///< wait for other works
  std::uint64_t begun_ = 0;
  std::size_t ended_ = 0;  ///< of the live ones
  Work* running_ = nullptr;
  bool cancelled_ = false;
  std::exception_ptr failure_{};  ///< the first
  // Room for one wait over all.
  std::vector<Op> ops_;
  std::vector<Work*> owners_;
};

}  // namespace twinlink
