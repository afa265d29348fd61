// The best ways through the graph of one node, which is made of its links. Topology asks for them by the names of two
// vertices: "gpu0", "numa0". `twinlink-sim check` shows those between which only the order of the file decides.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platforms/machine/platform.hpp"

namespace twinlink::platforms {

/// One link of a route, in the direction in which it is crossed.
struct Hop {
  std::size_t link = 0;  ///< index into Node::links
  bool forward = true;   ///< from Link::from to Link::to

  friend bool operator==(const Hop&, const Hop&) = default;
};
using Route = std::vector<Hop>;

/// Whose bytes take a way, which decides what lies on it. GPUs and adapters never do.
enum class Traffic {
  host,     ///< from or to host memory: passes hubs and memories
  adapter,  ///< between a GPU and an adapter: passes what forwards that
  peers     ///< between GPUs: passes what forwards all
};

struct Way {
  Route route{};
  Rate width{};                  ///< of its narrowest link
  std::optional<Route> other{};  ///< as good a one: nothing but the order of the links decides against it
};

/// The links of a way that the node forces, or what is wrong with it.
struct FollowedWay {
  Route route{};
  std::string wrong{};  ///< empty: nothing
};
FollowedWay follow(const Node& node, const ForcedWay& way);

/// For one thread: what it has worked out once it remembers.
class Ways {
 public:
  /// `node` must outlive this object, and not change meanwhile.
  explicit Ways(const Node& node);

  /// The way between two vertices that are no hubs; of peer traffic two GPUs, of adapters' not to a memory. Where the
  /// node forces one, that, if all on it pass such traffic on. Of others the best. Host traffic: the one with the
  /// fewest hops, of these the widest. Peer traffic: GPU links (NVLink, xGMI, and hubs that join nothing but GPUs)
  /// before PCIe, however wide, for no driver leaves them; of these the widest, of these the one with the fewest hops.
  /// Traffic of adapters: the widest, of these the one with the fewest hops. Of equal ones the one whose links come
  /// first. nullptr: there is none. What is returned stays.
  [[nodiscard]] const Way* find(std::string_view from, std::string_view to, Traffic traffic) const;
  /// How many links host traffic crosses at least from a vertex to each memory, GPU and adapter that it reaches.
  [[nodiscard]] std::map<std::string_view, std::size_t> hops_from(std::string_view from) const;
  /// What a vertex does with what passes it. nullptr: it is a GPU or an adapter.
  [[nodiscard]] const Passing* passing(std::string_view vertex) const;
  /// Does it lead to a memory or an adapter past all GPUs? Of a GPU: no.
  [[nodiscard]] bool is_near_host(std::string_view vertex) const;
  /// Does it pass such traffic on?
  [[nodiscard]] bool forwards(std::string_view vertex, Traffic traffic) const;

 private:
  struct Forced {
    Way way{};
    std::vector<std::string_view> passed{};  ///< the vertices between its ends
  };
  /// A link at one of its ends.
  struct Exit {
    Hop hop{};
    std::size_t to = 0;
    Rate width{};  ///< of the link, in that direction
  };
  struct Vertex {
    std::string_view name{};  ///< the node's own text
    const Passing* passing = nullptr;
    std::vector<Exit> exits{};  ///< in the order of the file
  };
  using Targets = std::vector<std::optional<Way>>;  ///< by vertex
  /// The last hop of a way, whose others are those of the way to where it begins.
  struct Step {
    std::size_t hops = 0;  ///< all of them
    Rate width{};
    Hop hop{};
    std::size_t before = 0;     ///< the vertex where it begins
    bool has_other = false;     ///< there is as good a way
    std::optional<Hop> fork{};  ///< its last hop, where that is another one
    std::size_t fork_before = 0;
  };
  using Steps = std::vector<std::optional<Step>>;  ///< by vertex

  enum class Over { all, gpu_links };

  void mark_near_host();
  void force(const Node& node, std::string_view from, std::string_view to, const Route& route, bool wins);
  [[nodiscard]] const Targets& from(std::size_t vertex, Traffic traffic) const;
  [[nodiscard]] Steps fewest_hops(std::size_t from, Traffic traffic, Over over, Rate at_least) const;
  [[nodiscard]] static Route route_of(const Steps& reached, std::size_t to);
  [[nodiscard]] static std::optional<Route> other_of(const Steps& reached, std::size_t to);
  /// Is that where such traffic ends?
  [[nodiscard]] bool ends_at(std::size_t vertex, Traffic traffic) const;

  std::size_t hubs_ = 0;  ///< the first vertices; then memories, GPUs, adapters
  std::size_t memories_ = 0;
  std::size_t gpus_ = 0;
  std::vector<Vertex> vertices_{};
  std::vector<bool> near_host_{};  ///< by vertex: memories, adapters, and hubs that lead to one past all GPUs
  std::map<std::string_view, std::size_t> index_{};
  std::map<std::pair<std::string_view, std::string_view>, Forced> forced_{};  ///< by their ends
  std::vector<Rate> widths_{};                                                ///< of all links, from the widest on
  mutable std::map<std::pair<std::size_t, Traffic>, Targets> found_{};
};

/// The rate of a link in one direction.
Rate link_width(const Link& link, bool forward);

}  // namespace twinlink::platforms
