#include "protocols/nccl/search.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace twinlink::nccl {
namespace {

/// One ring after the other, each by the links with most room left; from where no ring is left it goes back.
class Disjoint {
 public:
  Disjoint(std::size_t members, const Room& room) : members_(members), room_(room), used_(members) {
    most_ = std::numeric_limits<std::size_t>::max();
    for (std::size_t a = 0; a < members; ++a) {
      int out = 0;
      int in = 0;
      for (std::size_t b = 0; b < members; ++b) {
        out += room[a][b];
        in += room[b][a];
      }
      most_ = std::min(most_, static_cast<std::size_t>(std::min(out, in)));
    }
    if (most_ > 0) begin();
  }

  [[nodiscard]] std::vector<Ring> best() && { return std::move(best_); }

 private:
  /// Also of what cannot be found: 9 rings through 4 GPUs with 3 links between any two.
  static constexpr int kMostSteps = 20'000;

  [[nodiscard]] bool is_over() const { return best_.size() == most_ || steps_ > kMostSteps; }

  void begin() {
    ring_.assign(1, 0);
    used_[0] = true;
    go_on();
  }
  void go_on() {
    if (++steps_ > kMostSteps) return;
    const std::size_t last = index(ring_.back());
    if (ring_.size() == members_) {
      if (room_[last][0] == 0) return;
      --room_[last][0];
      close();
      ++room_[last][0];
      return;
    }
    for (const std::size_t next : ways_on(last)) {
      --room_[last][next];
      used_[next] = true;
      ring_.push_back(static_cast<std::int32_t>(next));
      go_on();
      ring_.pop_back();
      used_[next] = false;
      ++room_[last][next];
      if (is_over()) return;
    }
  }
  void close() {
    rings_.push_back(ring_);
    if (rings_.size() > best_.size()) best_ = rings_;
    if (!is_over()) {
      const Ring whole = std::exchange(ring_, {});
      const std::vector<bool> used = std::exchange(used_, std::vector<bool>(members_));
      begin();
      ring_ = whole;
      used_ = used;
    }
    rings_.pop_back();
  }
  /// The widest first, of equal ones to whom the fewest lead.
  [[nodiscard]] std::vector<std::size_t> ways_on(std::size_t last) const {
    std::vector<std::size_t> all;
    for (std::size_t next = 0; next < members_; ++next) {
      if (!used_[next] && room_[last][next] > 0) all.push_back(next);
    }
    const auto into = [&](std::size_t to) {
      int sum = 0;
      for (std::size_t from = 0; from < members_; ++from) sum += room_[from][to];
      return sum;
    };
    std::ranges::stable_sort(all, {}, [&](std::size_t next) { return std::pair(-room_[last][next], into(next)); });
    return all;
  }

  std::size_t members_;
  Room room_;
  std::vector<bool> used_;
  std::size_t most_;
  int steps_ = 0;
  Ring ring_{};
  std::vector<Ring> rings_{};
  std::vector<Ring> best_{};
};

/// Of all rings through the members the one whose narrowest place lets most through, and of those the one with the most
/// at all places together.
class Widest {
 public:
  using Rates = Near::Square<double>;

  Widest(std::size_t members, const Rates& rates) : members_(members), rates_(rates), ring_{0}, used_(members) {
    used_[0] = true;
    go_on(std::numeric_limits<double>::max(), 0);
  }

  [[nodiscard]] double narrowest() const { return narrowest_; }
  [[nodiscard]] const Ring& ring() const { return best_; }

 private:
  void go_on(double narrowest, double sum) {
    if (narrowest < narrowest_) return;
    const std::size_t last = index(ring_.back());
    if (ring_.size() == members_) {
      narrowest = std::min(narrowest, rates_[last][0]);
      sum += rates_[last][0];
      if (narrowest > narrowest_ || (narrowest == narrowest_ && sum > sum_)) {
        narrowest_ = narrowest;
        sum_ = sum;
        best_ = ring_;
      }
      return;
    }
    for (std::size_t next = 1; next < members_; ++next) {
      if (used_[next]) continue;
      used_[next] = true;
      ring_.push_back(static_cast<std::int32_t>(next));
      go_on(std::min(narrowest, rates_[last][next]), sum + rates_[last][next]);
      ring_.pop_back();
      used_[next] = false;
    }
  }

  std::size_t members_;
  const Rates& rates_;
  Ring ring_;
  std::vector<bool> used_;
  double narrowest_ = 0;
  double sum_ = 0;
  Ring best_{};
};

struct Looking {
  const gpu::Release& release;
  std::span<const DeviceFacts> members;
  const Near& near;
  int capability;
  Rate link;  ///< one of the GPUs'
  const std::vector<Rate>& speeds;
};

/// A switch gives each GPU all of its links whomever it stores to.
Found by_switch(const Looking& at) {
  const int links = std::ranges::min(at.members, {}, &DeviceFacts::links).links;
  const Rate all{links * at.link.bytes_per_second()};
  const auto fit = [&](Rate speed) { return gpu::fitting(all, speed); };
  const gpu::Channels found = gpu::search_channels(at.speeds, all, at.release.most_channels / 2, fit);
  return {.rings = {in_order(at.members.size())},
          .channels = found,
          .ring = Rate{found.count * found.each.bytes_per_second()},
          .links_of_gpu = all,
          .pair_links = links,
          .within = Level::nvl};
}

/// No rings where links do not lead to all.
Found by_links(const Looking& at) {
  const std::size_t members = at.members.size();
  std::map<Rate, std::vector<Ring>> by_speed;
  const auto fit = [&](Rate speed) {
    Room room{};
    for (std::size_t a = 0; a < members; ++a) {
      for (std::size_t b = 0; b < members; ++b) {
        room[a][b] = gpu::fitting(Rate{at.near.links[a][b] * at.link.bytes_per_second()}, speed);
      }
    }
    return static_cast<int>((by_speed[speed] = disjoint_rings(members, room)).size());
  };
  int most = 0;
  for (std::size_t a = 0; a < members; ++a) {
    most = std::max(most, std::accumulate(at.near.links[a].begin(), at.near.links[a].end(), 0));
  }
  const Rate all{most * at.link.bytes_per_second()};
  Found found{.channels = gpu::search_channels(at.speeds, all, at.release.most_channels / 2, fit),
              .within = Level::nvl};
  found.rings = by_speed[found.channels.each];
  found.pair_links = std::numeric_limits<int>::max();
  for (std::size_t a = 0; a < members; ++a) {
    for (std::size_t b = 0; b < a; ++b) found.pair_links = std::min<int>(found.pair_links, at.near.links[a][b]);
  }
  found.ring = Rate{found.channels.count * found.channels.each.bytes_per_second()};
  return found;
}

Found over_pcie(const Looking& at) {
  const std::size_t members = at.members.size();
  const auto rate = [&](std::size_t a, std::size_t b) {
    const Level level = members > Near::kMost ? at.near.farthest : at.near.levels[a][b];
    if (members <= Near::kMost && at.near.links[a][b] > 0) {
      return Rate{at.near.links[a][b] * at.link.bytes_per_second()};
    }
    return gpu::between_slots(at.release, at.members[a], at.members[b], level);
  };
  Found found{.rings = {in_order(members)}, .within = at.near.farthest};
  if (members > 2 && members <= Near::kMost) {
    Widest::Rates rates{};
    for (std::size_t a = 0; a < members; ++a) {
      for (std::size_t b = 0; b < members; ++b) rates[a][b] = a == b ? 0 : rate(a, b).bytes_per_second();
    }
    found.rings = {Widest(members, rates).ring()};
  }
  Rate narrowest = rate(0, members - 1);
  const Ring ring = found.rings.front();
  if (members <= Near::kMost) found.within = Level::loc;
  for (std::size_t i = 0; i < members; ++i) {
    const std::size_t from = index(ring[i]);
    const std::size_t to = index(ring[(i + 1) % members]);
    narrowest = std::min(narrowest, rate(from, to));
    if (members <= Near::kMost) found.within = std::max(found.within, at.near.levels[from][to]);
  }
  // Whom a link joins to the one before or behind it in the ring has its slot for one direction alone: another ring
  // goes the other way.
  const auto joined = [&](std::size_t a, std::size_t b) { return members <= Near::kMost && at.near.links[a][b] > 0; };
  bool both_ways = members > 2;
  for (std::size_t i = 0; i < members && both_ways; ++i) {
    const std::size_t here = index(ring[i]);
    both_ways = joined(here, index(ring[(i + 1) % members])) || joined(here, index(ring[(i + members - 1) % members]));
  }
  if (both_ways) found.rings.emplace_back(ring.rbegin(), ring.rend());
  const int directions = both_ways ? 2 : 1;
  const auto fit = [&](Rate speed) { return directions * gpu::fitting(narrowest, speed); };
  found.channels = gpu::search_channels(at.speeds, Rate{directions * narrowest.bytes_per_second()},
                                        at.release.most_channels / 2, fit);
  found.ring = Rate{found.channels.count * found.channels.each.bytes_per_second()};
  return found;
}

}  // namespace

Ring in_order(std::size_t members) {
  Ring ring(members);
  std::iota(ring.begin(), ring.end(), 0);
  return ring;
}

std::vector<Ring> disjoint_rings(std::size_t members, const Room& room) {
  if (members < 2) return {};
  return Disjoint(members, room).best();
}

Found look_within(const gpu::Release& release, std::span<const DeviceFacts> members, const Near& near) {
  const int capability = std::ranges::min(members, {}, &DeviceFacts::capability).capability;
  const Looking at{.release = release,
                   .members = members,
                   .near = near,
                   .capability = capability,
                   .link = gpu::of_capability(release.link, capability),
                   .speeds = gpu::of_capability(release.speeds_within, capability)};
  if (members.size() == 1) {
    constexpr Rate kOwnMemory{5000e9};
    return {.rings = {{0}}, .channels = {1, kOwnMemory}, .ring = kOwnMemory};
  }
  if (near.switched) return by_switch(at);
  if (members.size() <= Near::kMost) {
    if (Found found = by_links(at); !found.rings.empty()) return found;
  }
  return over_pcie(at);
}

}  // namespace twinlink::nccl
