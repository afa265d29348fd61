#include "tests/explore/explorer/visited.hpp"

namespace twinlink::explore {

Visited::Entry& Visited::place_of(const Key& key) {
  const std::size_t mask = table_.size() - 1;
  std::size_t place = key.high & mask;
  while (table_[place].used && table_[place].key != key) place = (place + 1) & mask;
  return table_[place];
}

std::pair<Visited::Entry*, bool> Visited::find_or_insert(const Key& key) {
  if (size_ * 3 > table_.size() * 2) {
    std::vector<Entry> old(table_.size() * 2);
    old.swap(table_);
    for (const Entry& entry : old) {
      if (entry.used) place_of(entry.key) = entry;
    }
  }
  Entry& entry = place_of(key);
  if (entry.used) return {&entry, false};
  entry = {.key = key, .used = true};
  ++size_;
  return {&entry, true};
}

std::uint32_t Visited::number_of(const SleepIds& ids) {
  const auto [place, inserted] = numbers_.try_emplace(ids, static_cast<std::uint32_t>(sets_.size()));
  if (inserted) sets_.push_back(&place->first);
  return place->second;
}

}  // namespace twinlink::explore
