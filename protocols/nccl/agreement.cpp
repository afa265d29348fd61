#include "protocols/nccl/agreement.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "protocols/core/tags.hpp"

namespace twinlink::nccl {
namespace {

struct Facts {
  Near::Square<std::uint8_t> links{};
  Near::Square<Level> levels{};
  Level farthest = Level::loc;
  std::uint8_t switched = 1;
  std::uint8_t all_meet = 1;
  std::uint8_t even = 1;  ///< islands follow each other, all as large as the first one
  std::uint8_t reduces = 1;
  std::uint16_t each = 0;  ///< ranks of the first one, where these are so few
};
static_assert(sizeof(Facts) <= ControlMessage::kCapacity);

struct Islands {
  static constexpr std::size_t kRanks = 32;
  std::array<std::int32_t, kRanks> of{};
};

bool is_near(const Path& path) { return path.same_node || path.peer_access.yes; }

/// This rank's part of what is learnt.
class Own {
 public:
  Own(Rank& rank, const Geometry& geometry) : rank_(rank), geometry_(geometry) {
    for (int r = 0; r < rank.ranks() && island_ < 0; ++r) {
      if (r == rank.id().value || is_near(rank.path_to(RankId{r}))) island_ = r;
    }
  }
  [[nodiscard]] std::int32_t island() const { return island_; }

  void tell(Facts& facts) const {
    const int self = rank_.id().value;
    std::vector<const Path*> row;  // by member of the island; null: this one
    std::size_t own = 0;
    for (int r = 0; r < rank_.ranks(); ++r) {
      const Path* const path = r == self ? nullptr : &rank_.path_to(RankId{r});
      if (path != nullptr && !is_near(*path)) continue;
      if (path != nullptr && !path->switch_reduces) facts.reduces = 0;
      if (r == self) own = row.size();
      row.push_back(path);
    }
    tell_of_size(facts, row.size());
    for (const Path* path : row) {
      if (path != nullptr && !meet_in_memory(*path, geometry_)) facts.all_meet = 0;
    }
    if (island_ == 0) tell_of_first(facts, own, row);
  }

 private:
  /// Rank 0 is the first to say something.
  void tell_of_size(Facts& facts, std::size_t size) const {
    const int self = rank_.id().value;
    if (self == 0 && size <= std::numeric_limits<std::uint16_t>::max()) facts.each = static_cast<std::uint16_t>(size);
    if (size != facts.each || island_ != self / static_cast<int>(size) * static_cast<int>(size)) facts.even = 0;
  }
  /// GPUs that may not meet in memory meet in that of the CPU.
  void tell_of_first(Facts& facts, std::size_t own, const std::vector<const Path*>& row) const {
    for (std::size_t member = 0; member < row.size(); ++member) {
      if (row[member] == nullptr) continue;
      const Path& path = *row[member];
      const bool meet = meet_in_memory(path, geometry_);
      const Level level = meet ? path.level : std::max(path.level, Level::phb);
      facts.farthest = std::max(facts.farthest, level);
      if (!meet || level != Level::nvl || !path.switched) facts.switched = 0;
      if (own >= Near::kMost || member >= Near::kMost) continue;
      constexpr int kMostLinks = 255;
      facts.levels[own][member] = level;
      facts.links[own][member] =
          static_cast<std::uint8_t>(meet && level == Level::nvl ? std::min(path.links, kMostLinks) : 0);
    }
  }

  Rank& rank_;
  const Geometry& geometry_;
  std::int32_t island_ = -1;
};

/// A token that goes round the ring of all ranks.
class Round {
 public:
  Round(Rank& rank, Seconds deadline)
      : rank_(rank),
        deadline_(deadline),
        before_{(rank.id().value + rank.ranks() - 1) % rank.ranks()},
        behind_{(rank.id().value + 1) % rank.ranks()} {}

  /// `add` puts in what this rank knows; in the end `token` has what all do.
  template <class Token, class Add>
  Outcome go(Token& token, const Add& add) {
    const bool first = rank_.id().value == 0;
    for (int round = 0; round < 2; ++round) {
      if (first) {
        if (round == 0) add(token);
        if (Outcome outcome = pass_on(token); !outcome.ok()) return outcome;
      }
      rank_.step("receive token");
      ControlMessage message;
      const Status status = wait(rank_, rank_.recv_control(before_, tags::kHeader, message), deadline_);
      if (status != Status::delivered) return {status, "step 'receive token'"};
      token = message.as<Token>();
      if (first) continue;
      if (round == 0) add(token);
      if (Outcome outcome = pass_on(token); !outcome.ok()) return outcome;
    }
    return {};
  }

 private:
  template <class Token>
  Outcome pass_on(const Token& token) {
    rank_.step("send token");
    return {wait(rank_, rank_.send_control(behind_, tags::kHeader, ControlMessage(token)), deadline_),
            "step 'send token'"};
  }

  Rank& rank_;
  Seconds deadline_;
  RankId before_;
  RankId behind_;
};

}  // namespace

Outcome agree(Rank& rank, const Geometry& geometry, Seconds deadline, Agreement& agreement) {
  const Own own(rank, geometry);
  Round round(rank, deadline);
  Facts facts;
  if (Outcome outcome = round.go(facts, [&](Facts& all) { own.tell(all); }); !outcome.ok()) return outcome;
  agreement.reduces = facts.reduces != 0;
  agreement.all_meet = facts.all_meet != 0;
  agreement.near = {
      .links = facts.links, .levels = facts.levels, .farthest = facts.farthest, .switched = facts.switched != 0};
  const auto self = static_cast<std::size_t>(rank.id().value);
  const auto ranks = static_cast<std::size_t>(rank.ranks());
  agreement.island.clear();
  if (facts.even != 0) {
    for (std::size_t r = 0; r < ranks; ++r) agreement.island.push_back(static_cast<std::int32_t>(r - r % facts.each));
    return {};
  }
  for (std::size_t first = 0; first < ranks; first += Islands::kRanks) {
    Islands islands;
    Outcome outcome = round.go(islands, [&](Islands& all) {
      if (self >= first && self < first + Islands::kRanks) all.of[self - first] = own.island();
    });
    if (!outcome.ok()) return outcome;
    const std::size_t count = std::min(Islands::kRanks, ranks - first);
    agreement.island.insert(agreement.island.end(), islands.of.begin(),
                            islands.of.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return {};
}

}  // namespace twinlink::nccl
