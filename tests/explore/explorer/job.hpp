// Job: the ranks of a scenario on their fibers. It takes one step after the other, and can be put back.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocols/trace/tracing_rank.hpp"
#include "tests/explore/explorer/explore_rank.hpp"
#include "tests/explore/explorer/fiber.hpp"
#include "tests/explore/explorer/machine.hpp"

namespace twinlink::explore {

class Job {
 public:
  enum class Use {
    explore,  ///< can be saved and restored
    narrate,  ///< writes a trace
    run       ///< bodies use the ordinary heap, and their exceptions are kept
  };
  Job(const Scenario& scenario, Use use);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Begins anew: every rank runs up to its first wait.
  void start();
  void step(const Choice& choice);

  /// A copy of everything. Images of fibers that did not run in between are shared.
  struct Saved {
    World world;
    std::vector<std::shared_ptr<const FiberImage>> fibers;
  };
  Saved save();
  void restore(const Saved& saved);
  /// Everything that decides how the job goes on, as far as `likeness` sees it.
  Key key(Likeness likeness);

  [[nodiscard]] Machine& machine() { return machine_; }
  [[nodiscard]] const Machine& machine() const { return machine_; }
  [[nodiscard]] bool finished() const;
  [[nodiscard]] bool failed() const;
  /// How the ranks ended: what they said, what they threw, or that they wait for ever.
  [[nodiscard]] std::string endings() const;
  /// What the ranks wait for that have not finished, a line for each.
  [[nodiscard]] std::string waits() const;
  /// The exception of the first rank that threw one; only for Use::run.
  [[nodiscard]] std::exception_ptr exception() const { return exception_; }
  /// What happened so far; only for Use::narrate.
  [[nodiscard]] std::string story() const;

 private:
  struct Seat;
  void run_body(int rank);
  void go_on(int rank);

  const Scenario& scenario_;
  Use use_;
  Machine machine_;
  std::vector<std::unique_ptr<Seat>> seats_;
  std::unique_ptr<Trace> trace_;                              ///< goes before the fibers, on whose heaps it lies
  std::vector<std::pair<std::size_t, std::string>> remarks_;  ///< after how many characters of the trace, and what
  std::exception_ptr exception_;
};

}  // namespace twinlink::explore
