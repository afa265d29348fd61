// Which communicators, collectives and messages of several ranks' calls belong together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "protocols/workloads/goal/mpi_calls.hpp"

namespace twinlink::workloads::goal::mpi {

[[noreturn]] void refuse_file(const std::string& file, const std::string& what);

/// Messages of one key find each other in order. A tag has its communicator in the upper 32 bits.
struct Key {
  int from = 0;
  int to = 0;
  std::uint64_t tag = 0;
  friend bool operator==(const Key&, const Key&) = default;
};
struct KeyHash {
  std::size_t operator()(const Key& key) const;
};

/// The n-th collective of a communicator.
struct Joined {
  What what = What::barrier;
  bool in_messages = false;
  std::uint32_t members = 0;  ///< whose files have it
  std::uint64_t root = 0;     ///< the rank within, plus 1
  std::uint64_t bytes = 0;
};

/// What the members of a communicator have in common: its n-th one of these ranks.
struct Shared {
  std::vector<int> ranks{};      ///< of the job
  std::vector<Joined> joined{};  ///< in order
  bool has_two_sides = false;
};

class Communicators {
 public:
  std::size_t find(const std::vector<int>& own, const std::vector<int>& others, std::size_t nth);
  Shared& at(std::size_t number) { return all_[number]; }
  [[nodiscard]] const Shared& at(std::size_t number) const { return all_[number]; }
  [[nodiscard]] const std::vector<Shared>& all() const { return all_; }

 private:
  std::map<std::vector<int>, std::vector<std::size_t>> by_ranks_{};
  std::vector<Shared> all_{};
};

/// A rank's communicators as its calls come by, in each walk anew.
class OwnCommunicators {
 public:
  static constexpr std::size_t kForeign = SIZE_MAX;  ///< has processes of another job
  struct Known {
    std::size_t number = kForeign;
    std::vector<int> peers{};       ///< whom its places name
    std::uint64_t collectives = 0;  ///< so far
  };

  OwnCommunicators(Communicators& all, int rank, std::size_t ranks, std::string file)
      : all_(all), rank_(rank), ranks_(ranks), file_(std::move(file)) {}
  void add(const Call& call);
  Known& of(const Call& call);
  /// The rank of the job at a place, which counts from 1.
  [[nodiscard]] int rank_at(const Known& known, std::uint64_t place) const;
  [[nodiscard]] Key sent(const Known& known, std::uint64_t place, std::uint64_t tag) const;
  [[nodiscard]] Key received(const Known& known, std::uint64_t place, std::uint64_t tag) const;
  [[nodiscard]] const std::string& file() const { return file_; }

 private:
  Communicators& all_;
  int rank_;
  std::size_t ranks_;
  std::string file_;
  std::vector<Known> known_{};
  std::map<std::vector<int>, std::size_t> seen_{};
};

/// How a rank's requests have ended, by their numbers, and to which communicator they belong.
class Requests {
 public:
  struct One {
    End how = End::sent;
    bool is_over = false;
    std::uint32_t place = 0;
    std::uint64_t tag = 0;
    std::uint64_t bytes = 0;
  };
  explicit Requests(const RankCalls& calls);
  [[nodiscard]] const One& at(std::uint64_t number) const { return all_.at(number); }

 private:
  std::vector<One> all_{};
};

}  // namespace twinlink::workloads::goal::mpi
