// Carrier: what the CPU does between nodes while a program runs, as NCCL's proxies do. It takes slots that the program
// fills to the network, and fills those that it reads.
//
//   for each slot that goes out
//   1. await slot: the program has filled it
//   2. send
//   3. raise: the program may fill it again
//   for each slot that comes in
//   1. await slot: the program has read what it held before
//   2. receive
//   3. raise: it is filled
//   where switches of the network add up, both are one
//   1. await slots: one is filled, and the other read
//   2. add up
//   3. raise: both
//
// How many slots pass, and how many bytes each has, the program itself has told (slot_list.hpp), so no slot needs a
// header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "protocols/core/rank.hpp"
#include "protocols/gpu/work.hpp"

namespace twinlink::nccl {

/// The two FIFOs of one channel of a link that is carried, and the slots that pass one way.
struct Passage {
  RankId peer{};
  Tag tag{};
  gpu::Program program{};
  View filled{};                       ///< where slots are, and where it is told that they are filled
  View read{};                         ///< where it is told that they are read
  std::uint64_t first = 0;             ///< number of the first slot
  std::vector<std::uint64_t> bytes{};  ///< of data in each
};

class Carrier {
 public:
  /// `rank` outlives it.
  explicit Carrier(Rank& rank) : rank_(rank) {}
  ~Carrier();
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;

  /// Slots of a channel that follow those which it has already go behind them.
  void send(Passage passage) { add(std::move(passage), true); }
  void receive(Passage passage) { add(std::move(passage), false); }
  /// Slots that go out come in as the sums of those of all members.
  void add_up(Passage out, Passage in, std::vector<RankId> members);
  /// A program, or what else ends meanwhile.
  void watch(Op op) { add(op, {Kind::other, 0, 0}); }
  /// Until all programs have ended and all is carried. `ended` is asked whenever one of the others has, and may end it
  /// with its own failure. What is left at the deadline is given up.
  Outcome run(Seconds deadline, const std::function<Outcome(Op, Status)>& ended = {});

 private:
  struct Course {
    Passage passage;
    bool outward = true;
    std::size_t awaited = 0;     ///< slots that have been waited for, or are
    std::size_t raised = 0;      ///< slots that the program knows of
    std::vector<bool> passed{};  ///< by the network
    // Of slots that are added up.
    std::vector<RankId> members{};
    std::size_t other = 0;      ///< the course that goes the other way
    std::vector<bool> ready{};  ///< here, where there they may not be
  };
  enum class Kind { other, slot, message, sum };
  struct Pending {
    Kind kind = Kind::other;
    std::size_t course = 0;
    std::size_t slot = 0;
  };

  void add(Passage passage, bool outward);
  void add(Op op, Pending what);
  void await_next(std::size_t index);
  void pass(std::size_t index, std::size_t slot);
  void sum(std::size_t index, std::size_t slot);
  [[nodiscard]] static View bytes_of(const Course& course, std::size_t slot);
  void has_passed(std::size_t index, std::size_t slot);
  [[nodiscard]] gpu::FifoSlot slot_of(const Course& course, std::size_t slot, gpu::FifoSlot::Event event) const;

  Rank& rank_;
  std::vector<Course> courses_;
  std::vector<Op> ops_;
  std::vector<Pending> pending_;
};

}  // namespace twinlink::nccl
