#include "model/engine/memory/written.hpp"

#include <iterator>

namespace twinlink::model {

void WrittenBytes::cut(std::uint64_t at) {
  const auto after = ends_.upper_bound(at);
  if (after == ends_.begin()) return;
  const auto found = std::prev(after);
  if (found->first == at || found->second <= at) return;
  ends_.emplace_hint(after, at, found->second);
  found->second = at;
}

void WrittenBytes::write(Bytes at, Bytes length) {
  if (length == Bytes{}) return;
  take(at, length);
  ends_[at.count()] = (at + length).count();
}

Bytes WrittenBytes::take(Bytes at, Bytes length) {
  if (ends_.empty()) return {};
  const std::uint64_t end = (at + length).count();
  cut(at.count());
  cut(end);
  Bytes amount{};
  const auto first = ends_.lower_bound(at.count());
  const auto last = ends_.lower_bound(end);
  for (auto it = first; it != last; ++it) amount += Bytes{it->second - it->first};
  ends_.erase(first, last);
  return amount;
}

}  // namespace twinlink::model
