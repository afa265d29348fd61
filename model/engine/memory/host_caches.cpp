#include "model/engine/memory/host_caches.hpp"

#include <algorithm>
#include <iterator>

namespace twinlink::model {

Bytes Cache::use(RankId rank, Bytes at, Bytes length) {
  const Bytes found = lose(rank, at, length);
  insert(by_use_.begin(), {rank, at.count(), (at + length).count()});
  while (held_ > capacity_) {
    const Stretch& oldest = by_use_.back();
    const std::uint64_t much = std::min(oldest.end - oldest.begin, (held_ - capacity_).count());
    forget(by_place_.find({oldest.rank, oldest.begin}), oldest.begin, oldest.begin + much);
  }
  return length - found;
}

Bytes Cache::lose(RankId rank, Bytes at, Bytes length) {
  const std::uint64_t begin = at.count();
  const std::uint64_t end = (at + length).count();
  Bytes found{};
  auto next = by_place_.upper_bound({rank, begin});
  if (next != by_place_.begin()) {
    const auto before = std::prev(next);
    if (before->first.first == rank && before->second->end > begin) next = before;
  }
  while (next != by_place_.end() && next->first.first == rank && next->first.second < end) {
    const auto stretch = next++;
    const std::uint64_t first = std::max(begin, stretch->second->begin);
    const std::uint64_t last = std::min(end, stretch->second->end);
    found = found + Bytes{last - first};
    forget(stretch, first, last);
  }
  return found;
}

void Cache::forget(ByPlace::iterator stretch, std::uint64_t begin, std::uint64_t end) {
  const Stretch old = *stretch->second;
  const auto older = by_use_.erase(stretch->second);
  by_place_.erase(stretch);
  held_ = held_ - Bytes{old.end - old.begin};
  insert(older, {old.rank, end, old.end});
  insert(older, {old.rank, old.begin, begin});  // the older part, behind the other
}

void Cache::insert(ByUse::iterator before, const Stretch& stretch) {
  if (stretch.begin == stretch.end) return;
  by_place_[{stretch.rank, stretch.begin}] = by_use_.insert(before, stretch);
  held_ = held_ + Bytes{stretch.end - stretch.begin};
}

HostCaches::HostCaches(const Node& node)
    : node_(node),
      any_(std::ranges::any_of(node.memories, [](const HostMemory& memory) { return memory.cache.has_value(); })) {}

Bytes HostCaches::go_through(std::span<const HostBytes> stretches) {
  std::vector<Cache*> caches;
  for (const HostBytes& stretch : stretches) caches.push_back(cache_of(stretch.site));
  Bytes most{};
  for (const HostBytes& stretch : stretches) most = std::max(most, stretch.length);
  // So small beside what a cache holds that it makes no difference which of two stretches comes first; but not so many
  // that they take long.
  constexpr std::uint64_t kPieces = 256;
  constexpr std::uint64_t kMostPieces = 4096;
  Bytes piece = most;
  for (const Cache* cache : caches) {
    if (cache != nullptr) piece = std::min(piece, Bytes{cache->capacity().count() / kPieces});
  }
  piece = std::max({piece, Bytes{most.count() / kMostPieces}, 1_B});
  std::vector<Bytes> lacking(stretches.size());
  for (Bytes at{}; at < most; at = at + piece) {
    for (std::size_t i = 0; i < stretches.size(); ++i) {
      const HostBytes& stretch = stretches[i];
      if (caches[i] == nullptr || at >= stretch.length) continue;
      const Bytes length = std::min(piece, stretch.length - at);
      lacking[i] = lacking[i] + caches[i]->use(stretch.rank, stretch.at + at, length) * stretch.alike;
    }
  }
  return lacking.empty() ? Bytes{} : std::ranges::max(lacking);
}

Cache* HostCaches::cache_of(const Site& site) {
  const auto& held = node_.memories[site.location.index].cache;
  if (!held) return nullptr;
  return &caches_.try_emplace({site.node, site.location.index}, held->value).first->second;
}

}  // namespace twinlink::model
