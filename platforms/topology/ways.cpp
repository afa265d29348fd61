#include "platforms/topology/ways.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "protocols/core/text.hpp"

namespace twinlink::platforms {
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

/// Where a hop leads to.
const std::string& end_of(const Node& node, Hop hop) {
  const Link& link = node.links[hop.link];
  return hop.forward ? link.to : link.from;
}

/// Nothing where the link does not end at `here`.
std::optional<Hop> leave_by(const Node& node, std::size_t link, std::string_view here) {
  if (node.links[link].from == here) return Hop{link, true};
  return node.links[link].to == here ? std::optional(Hop{link, false}) : std::nullopt;
}

/// The widest link from one vertex to another, of equal ones the first.
std::optional<Hop> widest_hop(const Node& node, std::string_view from, std::string_view to) {
  std::optional<Hop> best;
  for (std::size_t i = 0; i < node.links.size(); ++i) {
    const auto hop = leave_by(node, i, from);
    if (!hop || end_of(node, *hop) != to) continue;
    const auto width = [&](Hop of) { return link_width(node.links[of.link], of.forward); };
    if (!best || width(*hop) > width(*best)) best = hop;
  }
  return best;
}

Route turned(const Route& route) {
  Route back(route.rbegin(), route.rend());
  for (Hop& hop : back) hop.forward = !hop.forward;
  return back;
}

/// Follows a way part by part.
class Follower {
 public:
  explicit Follower(const Node& node) : node_(node) {
    for (const HostMemory& memory : node.memories) passing_.push_back(memory.name);
    for (const Hub& hub : node.hubs) passing_.push_back(hub.name);
  }

  FollowedWay follow(const ForcedWay& way) {
    std::string here = way.from;
    for (std::size_t i = 0; i <= way.via.size(); ++i) {
      const bool last = i == way.via.size();
      // Behind a link its end may be named too.
      if (i > 0 && here == (last ? way.to : way.via[i])) continue;
      const auto hop = next_hop(here, last ? way.to : way.via[i], last);
      if (!hop) return std::move(result_);
      // Up to the root and back down is a way: that is what ACS makes of peer traffic below a switch.
      if (std::ranges::find(result_.route, *hop) != result_.route.end()) {
        return wrong("it crosses '" + node_.links[hop->link].name + "' twice in one direction");
      }
      result_.route.push_back(*hop);
      here = end_of(node_, *hop);
      if (here != way.to && std::ranges::find(passing_, here) == passing_.end()) {
        return wrong("'" + here + "' is neither a hub nor a memory, so nothing passes it");
      }
      if (here == way.to && i + 1 < way.via.size()) return wrong("'" + here + "' is its end");
      if (here == way.from) return wrong("'" + here + "' is where it begins");
    }
    return std::move(result_);
  }

 private:
  FollowedWay wrong(std::string why) { return {{}, std::move(why)}; }

  std::optional<Hop> next_hop(const std::string& here, const std::string& next, bool is_end) {
    const auto link = std::ranges::find(node_.links, next, &Link::name);
    const bool is_part = is_end || std::ranges::find(passing_, next) != passing_.end();
    if (is_part) {
      const auto hop = widest_hop(node_, here, next);
      if (!hop) result_ = wrong("no link joins '" + here + "' and '" + next + "'");
      return hop;
    }
    if (link == node_.links.end()) {
      std::vector<std::string> names = passing_;
      for (const Link& each : node_.links) names.push_back(each.name);
      const std::string meant = closest(next, names);
      result_ = wrong("there is no hub, memory or link '" + next + "'" +
                      (meant.empty() ? "" : "; did you mean '" + meant + "'?"));
      return std::nullopt;
    }
    const auto hop = leave_by(node_, static_cast<std::size_t>(link - node_.links.begin()), here);
    if (!hop) result_ = wrong("link '" + next + "' does not end at '" + here + "'");
    return hop;
  }

  const Node& node_;
  std::vector<std::string> passing_{};
  FollowedWay result_{};
};

}  // namespace

FollowedWay follow(const Node& node, const ForcedWay& way) { return Follower(node).follow(way); }

Rate link_width(const Link& link, bool forward) {
  const Rate one_way = forward ? link.forward.value : link.backward.value;
  return link.total ? std::min(one_way, link.total->value) : one_way;
}

Ways::Ways(const Node& node) : hubs_(node.hubs.size()), memories_(node.memories.size()), gpus_(node.gpus.size()) {
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
  mark_near_host();
  // What goes wrong here the check of the file has said.
  for (const bool wins : {true, false}) {
    for (const ForcedWay& way : node.ways) {
      const Route route = follow(node, way).route;
      if (route.empty()) continue;
      wins ? force(node, way.from, way.to, route, wins) : force(node, way.to, way.from, turned(route), wins);
    }
  }
}

void Ways::mark_near_host() {
  near_host_.resize(vertices_.size());
  std::vector<std::size_t> next;
  for (std::size_t i = hubs_; i < vertices_.size(); ++i) {
    if (i >= hubs_ + memories_ && i < hubs_ + memories_ + gpus_) continue;
    near_host_[i] = true;
    next.push_back(i);
  }
  while (!next.empty()) {
    const std::size_t here = next.back();
    next.pop_back();
    for (const Exit& exit : vertices_[here].exits) {
      if (vertices_[exit.to].passing == nullptr || near_host_[exit.to]) continue;
      near_host_[exit.to] = true;
      next.push_back(exit.to);
    }
  }
}

/// A way that the other direction of another one stands for does not win over one of its own.
void Ways::force(const Node& node, std::string_view from, std::string_view to, const Route& route, bool wins) {
  Forced forced{.way = {.route = route, .width = kAnyWidth}};
  for (const Hop& hop : route) {
    forced.way.width = std::min(forced.way.width, link_width(node.links[hop.link], hop.forward));
    if (hop != route.back()) forced.passed.emplace_back(end_of(node, hop));
  }
  if (wins || !forced_.contains({from, to})) forced_[{from, to}] = std::move(forced);
}

const Way* Ways::find(std::string_view from, std::string_view to, Traffic traffic) const {
  if (const auto forced = forced_.find({from, to}); forced != forced_.end()) {
    const bool open = std::ranges::all_of(forced->second.passed, [&](auto name) { return forwards(name, traffic); });
    return open ? &forced->second.way : nullptr;
  }
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

bool Ways::is_near_host(std::string_view vertex) const {
  const auto found = index_.find(vertex);
  return found != index_.end() && near_host_[found->second];
}

bool Ways::forwards(std::string_view vertex, Traffic traffic) const { return lets_through(passing(vertex), traffic); }

bool Ways::ends_at(std::size_t vertex, Traffic traffic) const {
  const std::size_t first_gpu = hubs_ + memories_;
  switch (traffic) {
    case Traffic::host:
      return vertex >= hubs_;
    case Traffic::adapter:
      return vertex >= first_gpu;
    case Traffic::peers:
      return vertex >= first_gpu && vertex < first_gpu + gpus_;
  }
  return false;
}

const Ways::Targets& Ways::from(std::size_t vertex, Traffic traffic) const {
  const auto [place, is_new] = found_.try_emplace({vertex, traffic});
  Targets& targets = place->second;
  if (!is_new) return targets;
  targets.resize(vertices_.size());
  // What nobody asks for, and what is known of a wider way, takes no memory.
  const auto take = [&](const Steps& reached) {
    std::size_t taken = 0;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (targets[i] || !reached[i] || !ends_at(i, traffic)) continue;
      targets[i] = Way{.route = route_of(reached, i), .width = reached[i]->width, .other = other_of(reached, i)};
      ++taken;
    }
    return taken;
  };
  if (traffic == Traffic::host) {
    take(fewest_hops(vertex, traffic, Over::all, Rate{}));
    return targets;
  }
  Rate widest_exit{};
  for (const Exit& exit : vertices_[vertex].exits) widest_exit = std::max(widest_exit, exit.width);
  const auto take_widest = [&](Over over) {
    const Steps all = fewest_hops(vertex, traffic, over, Rate{});
    std::size_t left = 0;
    for (std::size_t i = 0; i < all.size(); ++i) left += !targets[i] && all[i] && ends_at(i, traffic) ? 1 : 0;
    for (const Rate at_least : widths_) {
      if (left == 0) break;
      if (at_least <= widest_exit) left -= take(fewest_hops(vertex, traffic, over, at_least));
    }
  };
  if (traffic == Traffic::peers) take_widest(Over::gpu_links);
  take_widest(Over::all);
  return targets;
}

/// Back from its end.
Route Ways::route_of(const Steps& reached, std::size_t to) {
  Route route(reached[to]->hops);
  for (std::size_t i = route.size(); i-- > 0; to = reached[to]->before) route[i] = reached[to]->hop;
  return route;
}

/// Up to the fork another way, and from there on the same.
std::optional<Route> Ways::other_of(const Steps& reached, std::size_t to) {
  if (!reached[to]->has_other) return std::nullopt;
  Route behind;
  for (; !reached[to]->fork; to = reached[to]->before) behind.push_back(reached[to]->hop);
  Route route = route_of(reached, reached[to]->fork_before);
  route.push_back(*reached[to]->fork);
  route.insert(route.end(), behind.rbegin(), behind.rend());
  return route;
}

/// Over links that let `at_least` through. Breadth first; of ways with as many hops the widest, and the first of these.
Ways::Steps Ways::fewest_hops(std::size_t from, Traffic traffic, Over over, Rate at_least) const {
  Steps reached(vertices_.size());
  reached[from] = Step{.width = kAnyWidth};
  std::vector<std::size_t> frontier{from};
  for (std::size_t hops = 1; !frontier.empty(); ++hops) {
    std::vector<std::size_t> next;
    for (const std::size_t here : frontier) {
      if (here != from && !lets_through(vertices_[here].passing, traffic)) continue;
      const Step& way = *reached[here];
      for (const Exit& exit : vertices_[here].exits) {
        if (over == Over::gpu_links && near_host_[exit.to]) continue;
        std::optional<Step>& known = reached[exit.to];
        const Rate narrowest = std::min(way.width, exit.width);
        if (exit.width < at_least || (known && (known->hops < hops || known->width > narrowest))) continue;
        if (known && known->width == narrowest) {
          if (!std::exchange(known->has_other, true)) {
            known->fork = exit.hop;
            known->fork_before = here;
          }
          continue;
        }
        if (!known) next.push_back(exit.to);
        known = Step{.hops = hops, .width = narrowest, .hop = exit.hop, .before = here, .has_other = way.has_other};
      }
    }
    frontier = std::move(next);
  }
  return reached;
}

}  // namespace twinlink::platforms
