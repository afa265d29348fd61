#include "model/study/jobs/link_classes.hpp"

namespace twinlink::model {

bool LinkClasses::add(const std::vector<std::vector<FabricWay>>& moved) {
  const std::vector<FabricWay>& first = moved.front();
  for (std::size_t i = 0; i < first.size(); ++i) {
    begin(first[i]);
    for (const std::vector<FabricWay>& ways : moved) {
      if (ways.size() != first.size() || !move(ways[i])) return false;
    }
  }
  return true;
}

std::optional<Folding::Links> LinkClasses::classes(int moves) {
  std::vector<int> members(links_.size());
  for (std::size_t link = 0; link < links_.size(); ++link) {
    const std::size_t of = root(link);
    ++members[of];
    if (links_[link].crossed != links_[of].crossed) return std::nullopt;
  }
  Folding::Links all;
  for (const auto& [number, link] : numbers_) {
    const std::size_t of = root(link);
    all[number] = {links_[of].link, static_cast<double>(members[of]) / moves};
  }
  return all;
}

void LinkClasses::begin(const FabricWay& way) {
  first_ = way;
  marks_.clear();
  for (std::size_t i = 0; i < way.hops.size(); ++i) marks_.push_back(++marked_ * 0x9E3779B97F4A7C15U);
}

bool LinkClasses::move(const FabricWay& way) {
  if (way.switches != first_.switches || way.hops.size() != first_.hops.size()) return false;
  for (std::size_t i = 0; i < way.hops.size(); ++i) {
    if (way.hops[i].rate != first_.hops[i].rate) return false;
    const std::size_t link = number_of(way.hops[i].link);
    join(link, number_of(first_.hops[i].link));
    // Who crosses it, whatever the order.
    links_[link].crossed += marks_[i] ^ (marks_[i] >> 29U);
  }
  return true;
}

std::size_t LinkClasses::number_of(std::uint64_t link) {
  const auto [place, is_new] = numbers_.try_emplace(link, links_.size());
  if (is_new) links_.push_back({link, 0, links_.size()});
  return place->second;
}

std::size_t LinkClasses::root(std::size_t link) {
  while (links_[link].joined != link) link = links_[link].joined = links_[links_[link].joined].joined;
  return link;
}

}  // namespace twinlink::model
