#include "model/platform/ways.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <string>

namespace twinlink::model {
namespace {

constexpr Rate kAnyWidth{std::numeric_limits<double>::max()};

bool lets_through(const Passing* passing, Traffic traffic) {
  if (passing == nullptr) return false;
  switch (traffic) {
    case Traffic::host:
      return true;
    case Traffic::adapter:
      return passing->forwards != Forwards::none;
    case Traffic::peers:
      return passing->forwards == Forwards::all;
  }
  return false;
}

Route longer(Route route, Hop hop) {
  route.push_back(hop);
  return route;
}

}  // namespace

Rate link_width(const Link& link, bool forward) {
  const Rate one_way = forward ? link.forward.value : link.backward.value;
  return link.total ? std::min(one_way, link.total->value) : one_way;
}

Ways::Ways(const Node& node) {
  const auto vertex = [&](std::string_view name) {
    const auto [place, is_new] = index_.try_emplace(name, vertices_.size());
    if (is_new) vertices_.push_back({.name = name});
    return place->second;
  };
  for (const Hub& hub : node.hubs) vertices_[vertex(hub.name)].passing = &hub.passing;
  for (const HostMemory& memory : node.memories) vertices_[vertex(memory.name)].passing = &memory.passing;
  for (const Gpu& gpu : node.gpus) vertex(gpu.name);
  for (const Nic& nic : node.nics) vertex(nic.name);
  for (std::size_t i = 0; i < node.links.size(); ++i) {
    const Link& link = node.links[i];
    const std::size_t from = vertex(link.from);
    const std::size_t to = vertex(link.to);
    vertices_[from].exits.push_back({{i, true}, to, link_width(link, true)});
    vertices_[to].exits.push_back({{i, false}, from, link_width(link, false)});
    for (const bool forward : {true, false}) widths_.push_back(link_width(link, forward));
  }
  std::ranges::sort(widths_, std::greater{});
  const auto doubles = std::ranges::unique(widths_);
  widths_.erase(doubles.begin(), doubles.end());
}

const Way* Ways::find(std::string_view from, std::string_view to, Traffic traffic) const {
  const auto start = index_.find(from);
  const auto end = index_.find(to);
  if (start == index_.end() || end == index_.end()) return nullptr;
  const std::optional<Way>& way = this->from(start->second, traffic)[end->second];
  return way ? &*way : nullptr;
}

std::map<std::string_view, std::size_t> Ways::hops_from(std::string_view from) const {
  std::map<std::string_view, std::size_t> hops;
  const auto start = index_.find(from);
  if (start == index_.end()) return hops;
  const Targets& targets = this->from(start->second, Traffic::host);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i]) hops.emplace(vertices_[i].name, targets[i]->route.size());
  }
  return hops;
}

const Passing* Ways::passing(std::string_view vertex) const {
  const auto found = index_.find(vertex);
  return found == index_.end() ? nullptr : vertices_[found->second].passing;
}

bool Ways::forwards(std::string_view vertex, Traffic traffic) const { return lets_through(passing(vertex), traffic); }

const Ways::Targets& Ways::from(std::size_t vertex, Traffic traffic) const {
  const auto [place, is_new] = found_.try_emplace({vertex, traffic});
  Targets& targets = place->second;
  if (!is_new) return targets;
  if (traffic == Traffic::host) return targets = fewest_hops(vertex, traffic, Rate{});
  targets.resize(vertices_.size());
  for (const Rate at_least : widths_) {
    Targets reached = fewest_hops(vertex, traffic, at_least);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (!targets[i]) targets[i] = std::move(reached[i]);
    }
  }
  return targets;
}

/// Over links that let `at_least` through. Breadth first; of ways with as many hops the widest, and the first of these.
Ways::Targets Ways::fewest_hops(std::size_t from, Traffic traffic, Rate at_least) const {
  Targets reached(vertices_.size());
  reached[from] = Way{.width = kAnyWidth};
  std::vector<std::size_t> frontier{from};
  for (std::size_t hops = 1; !frontier.empty(); ++hops) {
    std::vector<std::size_t> next;
    for (const std::size_t here : frontier) {
      if (here != from && !lets_through(vertices_[here].passing, traffic)) continue;
      const Way& way = *reached[here];
      for (const Exit& exit : vertices_[here].exits) {
        std::optional<Way>& known = reached[exit.to];
        const Rate narrowest = std::min(way.width, exit.width);
        if (exit.width < at_least || (known && (known->route.size() < hops || known->width > narrowest))) continue;
        if (known && known->width == narrowest) {
          if (!known->other) known->other = longer(way.route, exit.hop);
          continue;
        }
        if (!known) next.push_back(exit.to);
        known = Way{.route = longer(way.route, exit.hop), .width = narrowest};
        if (way.other) known->other = longer(*way.other, exit.hop);
      }
    }
    frontier = std::move(next);
  }
  return reached;
}

}  // namespace twinlink::model
