#include "protocols/nccl/agreement.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "protocols/core/tags.hpp"

namespace twinlink::nccl {
namespace {

/// What stores reach, in units that NVLinks and PCIe links are whole numbers of, nearly.
std::uint16_t units_of(Rate rate) {
  constexpr double kUnit = 1e9;
  constexpr double kMost = 65535;
  return static_cast<std::uint16_t>(std::min(std::round(rate.bytes_per_second() / kUnit), kMost));
}

struct Facts {
  Rates rates{};
  float adapter = 0;  ///< bytes a second
  std::uint8_t all_reach = 1;
  std::uint8_t one_island = 1;
  std::uint8_t reduces = 1;
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
  Own(Rank& rank, bool p2p) : rank_(rank), p2p_(p2p) {
    for (int r = 0; r < rank.ranks() && island_ < 0; ++r) {
      if (r == rank.id().value || is_near(rank.path_to(RankId{r}))) island_ = r;
    }
  }
  [[nodiscard]] std::int32_t island() const { return island_; }

  void tell(Facts& facts) const {
    const int self = rank_.id().value;
    int row = 0;
    int column = 0;
    for (int r = 0; r < rank_.ranks(); ++r) {
      if (r != self && !rank_.path_to(RankId{r}).switch_reduces) facts.reduces = 0;
      if (r != self && is_near(rank_.path_to(RankId{r}))) {
        if (!p2p_ || !rank_.path_to(RankId{r}).peer_access) facts.all_reach = 0;
      } else if (r != self) {
        if (self == 0 && facts.adapter == 0) {
          facts.adapter = static_cast<float>(rank_.path_to(RankId{r}).adapter_rate.bytes_per_second());
        }
        continue;
      }
      if (r < self) ++row;
    }
    if (island_ != 0) facts.one_island = 0;
    if (island_ != 0 || row >= static_cast<int>(Rates::kMost)) return;
    for (int r = 0; r < rank_.ranks() && column < static_cast<int>(Rates::kMost); ++r) {
      if (r != self && !is_near(rank_.path_to(RankId{r}))) continue;
      if (r != self) {
        facts.rates.from_to[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)] =
            units_of(rank_.path_to(RankId{r}).peer_rate);
      }
      ++column;
    }
  }

 private:
  Rank& rank_;
  bool p2p_;
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

Outcome agree(Rank& rank, bool p2p, Seconds deadline, Agreement& agreement) {
  const Own own(rank, p2p);
  Round round(rank, deadline);
  Facts facts;
  if (Outcome outcome = round.go(facts, [&](Facts& all) { own.tell(all); }); !outcome.ok()) return outcome;
  agreement.reduces = facts.reduces != 0;
  agreement.all_reach = facts.all_reach != 0;
  agreement.rates = facts.rates;
  agreement.adapter = Rate{facts.adapter};
  const auto self = static_cast<std::size_t>(rank.id().value);
  const auto ranks = static_cast<std::size_t>(rank.ranks());
  agreement.island.assign(ranks, 0);
  if (facts.one_island != 0) return {};
  agreement.island.clear();
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
