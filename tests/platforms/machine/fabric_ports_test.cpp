// Trees count ports: properties over shapes, radices, adapters of a node, levels and routings, by the bytes that each
// link carries when all adapters send at once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "platforms/machine/fabric.hpp"

namespace twinlink::platforms {
namespace {

constexpr Rate kAdapter{25e9};

struct Tree {
  FabricShape shape;
  std::vector<int> size;
  int nics;
  std::vector<Oversubscription> oversubscription;

  [[nodiscard]] Fabric fabric(FabricRouting routing) const {
    Fabric result{.link = {.value = kAdapter}, .shape = shape, .routing = routing};
    result.size = size;
    result.oversubscription = oversubscription;
    return result;
  }
  [[nodiscard]] int nodes() const { return static_cast<int>(fabric(FabricRouting::by_target).nodes().value()); }
  [[nodiscard]] std::string name() const {
    return describe(fabric(FabricRouting::by_target), nodes(), nics) + ", adapters " + std::to_string(nics);
  }
};

/// Two and three levels, square and not, one to eight adapters.
std::vector<Tree> trees() {
  std::vector<Tree> all;
  for (const FabricShape shape : {FabricShape::fat_tree, FabricShape::rails}) {
    for (const std::vector<int>& size :
         {std::vector{2, 4}, {4, 2}, {4, 4}, {3, 5}, {8, 2}, {2, 2, 2}, {4, 2, 3}, {2, 4, 2}, {3, 3, 3}}) {
      for (const int nics : {1, 2, 4, 8}) all.push_back({shape, size, nics, {}});
    }
  }
  return all;
}

using Permutation = std::function<FabricPort(const FabricPort&)>;

/// How many times as long as an adapter's own link the fullest link between switches takes, if each port sends as much.
double fullest(const Fabric& fabric, int nodes, int nics, const Permutation& target) {
  std::map<std::uint64_t, double> load;
  double most = 0;
  for (int node = 0; node < nodes; ++node) {
    for (int nic = 0; nic < nics; ++nic) {
      const FabricPort from{node, nic, nics};
      const FabricPort to = target(from);
      if (to.node == node) continue;
      for (const FabricWay::Hop& hop : fabric_way(fabric, from, to).hops) {
        double& sum = load[hop.link];
        sum += kAdapter.bytes_per_second() / hop.rate.bytes_per_second();
        most = std::max(most, sum);
      }
    }
  }
  return most;
}

Permutation shift_of_nodes(int by, int nodes) {
  return [=](const FabricPort& from) { return FabricPort{(from.node + by) % nodes, from.nic, from.nics}; };
}

/// All ports in their order: nodes, and the adapters of each.
Permutation shift_of_ports(int by, int nodes) {
  return [=](const FabricPort& from) {
    const int port = (from.node * from.nics + from.nic + by) % (nodes * from.nics);
    return FabricPort{port / from.nics, port % from.nics, from.nics};
  };
}

TEST(FabricPorts, EveryShiftOfNodesFillsNoLinkTwice) {
  for (const Tree& tree : trees()) {
    for (const FabricRouting routing : {FabricRouting::by_target, FabricRouting::by_source, FabricRouting::adaptive}) {
      const Fabric fabric = tree.fabric(routing);
      for (int by = 1; by < tree.nodes(); ++by) {
        ASSERT_LE(fullest(fabric, tree.nodes(), tree.nics, shift_of_nodes(by, tree.nodes())), 1 + 1e-9)
            << tree.name() << ", " << to_string(routing) << ", shift by " << by;
      }
    }
  }
}

TEST(FabricPorts, EveryShiftOfAdaptersFillsNoLinkOfAFatTreeTwice) {
  for (const Tree& tree : trees()) {
    if (tree.shape != FabricShape::fat_tree) continue;
    for (const FabricRouting routing : {FabricRouting::by_target, FabricRouting::by_source, FabricRouting::adaptive}) {
      for (int by = 1; by < tree.nodes() * tree.nics; ++by) {
        ASSERT_LE(fullest(tree.fabric(routing), tree.nodes(), tree.nics, shift_of_ports(by, tree.nodes())), 1 + 1e-9)
            << tree.name() << ", " << to_string(routing) << ", shift by " << by;
      }
    }
  }
}

TEST(FabricPorts, TheBisectionIsWhatTheFullestLinkLeaves) {
  for (Tree tree : trees()) {
    if (tree.nodes() % 2 != 0) continue;
    for (const Oversubscription ratio : {Oversubscription{1, 1}, {2, 1}, {4, 1}, {1, 2}}) {
      tree.oversubscription = {ratio};
      const Fabric fabric = tree.fabric(FabricRouting::adaptive);
      if (!fabric.wrong_ports(tree.nics).empty()) continue;
      const bool leaves_leave = tree.nodes() / 2 >= tree.size[0];  // each message goes to another leaf
      if (!leaves_leave) continue;
      const double longest = fullest(fabric, tree.nodes(), tree.nics, shift_of_nodes(tree.nodes() / 2, tree.nodes()));
      EXPECT_DOUBLE_EQ(longest, static_cast<double>(ratio.down) / ratio.up) << tree.name();
      EXPECT_NEAR(fabric.bisection(tree.nodes(), tree.nics), std::min(1.0, 1 / longest), 1e-12) << tree.name();
    }
  }
}

TEST(FabricPorts, TheSecondLevelHasARatioAndARateOfItsOwn) {
  Fabric fabric = Tree{FabricShape::rails, {4, 2, 2}, 4, {{1, 1}, {4, 1}}}.fabric(FabricRouting::adaptive);
  EXPECT_DOUBLE_EQ(fullest(fabric, 16, 4, shift_of_nodes(4, 16)), 2) << "half of a pod sends to the other";
  EXPECT_DOUBLE_EQ(fullest(fabric, 16, 4, shift_of_nodes(8, 16)), 4);
  EXPECT_DOUBLE_EQ(fabric.bisection(16, 4), 0.25);
  EXPECT_DOUBLE_EQ(fabric.bisection(8, 4), 1) << "in one pod nothing goes to the cores";
  fabric.core_link = {.value = Rate{2 * kAdapter.bytes_per_second()}};
  EXPECT_DOUBLE_EQ(fullest(fabric, 16, 4, shift_of_nodes(8, 16)), 2);
  EXPECT_DOUBLE_EQ(fabric.bisection(16, 4), 0.5);
  fabric.switch_link = {.value = Rate{kAdapter.bytes_per_second() / 4}};
  EXPECT_DOUBLE_EQ(fullest(fabric, 16, 4, shift_of_nodes(8, 16)), 4) << "the leaves' links are narrower now";
  EXPECT_DOUBLE_EQ(fabric.bisection(16, 4), 0.25);
}

/// In each dimension the shorter way round, link by link: each hop begins where the last one has ended.
TEST(Torus, EveryHopBeginsWhereTheLastOneEnded) {
  for (const std::vector<int>& size : {std::vector{7}, {5, 4}, {4, 5}, {3, 1, 6}, {2, 2, 2, 2}}) {
    Fabric fabric{.link = {.value = kAdapter}, .shape = FabricShape::torus};
    fabric.size = size;
    const int nodes = static_cast<int>(fabric.nodes().value());
    for (int from = 0; from < nodes; ++from) {
      for (int to = 0; to < nodes; ++to) {
        if (from == to) continue;
        const FabricWay way = fabric_way(fabric, {from, 0, 1}, {to, 0, 1});
        int here = from;
        std::size_t hop = 0;
        for (int d = 0, stride = 1; d < static_cast<int>(size.size()); stride *= size[static_cast<std::size_t>(d++)]) {
          const int length = size[static_cast<std::size_t>(d)];
          const auto at = [&] { return here / stride % length; };
          const int ahead = (to / stride % length - at() + length) % length;
          const bool forward = 2 * ahead <= length;
          for (int left = forward ? ahead : length - ahead; left > 0; --left, ++hop) {
            ASSERT_LT(hop, way.hops.size()) << from << " to " << to;
            EXPECT_EQ(fabric_link_name(way.hops[hop].link),
                      fmt::format("torus {} {} in dimension {}", here, forward ? "forward" : "backward", d));
            here += ((at() + (forward ? 1 : length - 1)) % length - at()) * stride;
          }
        }
        EXPECT_EQ(here, to);
        EXPECT_EQ(way.hops.size(), hop) << from << " to " << to;
      }
    }
  }
}

TEST(FabricPorts, RatiosAreReadAsTheyAreSaid) {
  EXPECT_EQ(parse_oversubscription("2"), (Oversubscription{2, 1}));
  EXPECT_EQ(parse_oversubscription("22:18"), (Oversubscription{22, 18}));
  EXPECT_EQ(parse_oversubscription("1000000:1"), (Oversubscription{1'000'000, 1}));
  EXPECT_EQ(parse_oversubscription("1:1000000"), (Oversubscription{1, 1'000'000}));
  for (const char* wrong : {"", "0", "1:0", ":", "2:", ":2", "-1", "2.5", "1:2:3", "2 : 1", "1000001", "1:1000001"}) {
    EXPECT_EQ(parse_oversubscription(wrong), std::nullopt) << wrong;
  }
}

/// With a cable up gone, adaptive routing has (n-1)/n of what the leaf had; and so has what comes down to it.
TEST(FabricPorts, ADeadCableUpLeavesTheOthers) {
  int trees_tried = 0;
  for (const Tree& tree : trees()) {
    Fabric fabric = tree.fabric(FabricRouting::adaptive);
    const int up = fabric.ports(tree.nics).up;
    const bool leaves_leave = tree.nodes() / 2 >= tree.size[0] && tree.nodes() % 2 == 0;
    if (up < 2 || !leaves_leave) continue;
    ++trees_tried;
    const Permutation half = shift_of_nodes(tree.nodes() / 2, tree.nodes());
    for (const CableFault& cable : fabric.cables("leaf1-up1", 0, tree.nics)) fabric.add_fault(cable);
    const double left = (up - 1.0) / up;
    EXPECT_EQ(fabric.cut_off(tree.nics), "");
    EXPECT_NEAR(fullest(fabric, tree.nodes(), tree.nics, half), 1 / left, 1e-9) << tree.name();
    EXPECT_NEAR(fabric.bisection(tree.nodes(), tree.nics), left, 1e-12) << tree.name();
    fabric.faults.clear();
    for (const CableFault& cable : fabric.cables("leaf1-up1", 0.5, tree.nics)) fabric.add_fault(cable);
    EXPECT_NEAR(fullest(fabric, tree.nodes(), tree.nics, half), up / (up - 0.5), 1e-9) << tree.name();
  }
  EXPECT_GT(trees_tried, 40);
}

/// No way crosses what is gone, whatever chooses it; what is chosen otherwise stays as it was.
TEST(FabricPorts, WaysGoRoundWhatIsGone) {
  for (const Tree& tree : trees()) {
    for (const FabricRouting routing : {FabricRouting::by_target, FabricRouting::by_source, FabricRouting::by_hash}) {
      const Fabric whole = tree.fabric(routing);
      const TreePorts ports = whole.ports(tree.nics);
      if (ports.up < 2) continue;
      Fabric fabric = whole;
      for (const char* name : {"leaf0-up1", "leaf1-up0"}) {
        for (const CableFault& cable : fabric.cables(name, 0, tree.nics)) fabric.add_fault(cable);
      }
      if (ports.pod_up > 1) {
        for (const CableFault& cable : fabric.cables("pod-switch0-up1", 0, tree.nics)) fabric.add_fault(cable);
      }
      if (ports.up == 2) {
        EXPECT_EQ(fabric.cut_off(tree.nics), "leaves 0 and 1");
        continue;
      }
      ASSERT_EQ(fabric.cut_off(tree.nics), "");
      for (int from = 0; from < tree.nodes(); ++from) {
        for (int to = 0; to < tree.nodes(); ++to) {
          if (from == to) continue;
          const FabricPort source{from, to % tree.nics, tree.nics};
          const FabricPort target{to, from % tree.nics, tree.nics};
          const auto names = [&](const Fabric& of) {
            std::vector<std::string> all;
            for (const FabricWay::Hop& hop : fabric_way(of, source, target).hops) {
              all.push_back(fabric_link_name(hop.link));
              EXPECT_GT(hop.rate.bytes_per_second(), 0) << all.back();
            }
            return all;
          };
          const std::vector<std::string> as_ever = names(whole);
          const std::vector<std::string> now = names(fabric);
          const auto is_gone = [](const std::string& name) {
            return name == "leaf 0 up 1" || name == "leaf 0 down 1" || name == "leaf 1 up 0" ||
                   name == "leaf 1 down 0" || name == "pod switch 0 up 1" || name == "pod switch 0 down 1";
          };
          ASSERT_TRUE(std::ranges::none_of(now, is_gone)) << tree.name() << ", " << to_string(routing);
          if (std::ranges::none_of(as_ever, is_gone)) {
            ASSERT_EQ(now, as_ever) << tree.name();
          }
        }
      }
    }
  }
}

/// Of n switches of the highest level n-1 are left, and so is (n-1)/n of what all adapters sent across.
TEST(FabricPorts, ADeadSpineLeavesTheOthers) {
  int trees_tried = 0;
  for (const Tree& tree : trees()) {
    const Fabric whole = tree.fabric(FabricRouting::adaptive);
    const TreePorts ports = whole.ports(tree.nics);
    const bool leaves_leave = tree.nodes() / 2 >= tree.size[0] && tree.nodes() % 2 == 0;
    const bool pods_leave = ports.pod_up > 0 && tree.nodes() / 2 >= tree.size[0] * tree.size[1];
    if (ports.up < 2 || !leaves_leave || (ports.pod_up > 0 && !pods_leave)) continue;
    const int spines = ports.pod_up > 0 ? ports.up * ports.pod_up : ports.up;
    for (const int number : {0, spines - 1}) {
      ++trees_tried;
      Fabric fabric = whole;
      const std::string name = fmt::format("{}{}", ports.pod_up > 0 ? "core" : "spine", number);
      for (const CableFault& cable : fabric.cables(name, 0, tree.nics)) fabric.add_fault(cable);
      EXPECT_EQ(fabric.cut_off(tree.nics), "") << tree.name();
      const Permutation half = shift_of_nodes(tree.nodes() / 2, tree.nodes());
      EXPECT_NEAR(fullest(fabric, tree.nodes(), tree.nics, half), spines / (spines - 1.0), 1e-9)
          << tree.name() << " " << name;
      for (const FabricRouting routing : {FabricRouting::by_target, FabricRouting::by_source, FabricRouting::by_hash}) {
        fabric.routing = routing;
        for (int from = 0; from < tree.nodes(); ++from) {
          for (const FabricWay::Hop& hop : fabric_way(fabric, {from, 0, tree.nics}, half({from, 0, tree.nics})).hops) {
            ASSERT_GT(hop.rate.bytes_per_second(), 0) << tree.name() << " " << fabric_link_name(hop.link);
          }
        }
      }
    }
  }
  EXPECT_GT(trees_tried, 60);
}

/// Counts of switches and cables that NVIDIA publishes for DGX SuperPOD of B200 (reference architecture, table of
/// components): 32 nodes of eight adapters a unit, switches of 64 ports.
TEST(FabricPorts, SuperPodHasTheCablesThatArePublished) {
  struct Row {
    int units;
    std::vector<int> size;
    int leaves;
    int leaf_cables;
    int core_cables;
  };
  for (const Row& row : {Row{2, {32, 2}, 16, 512, 0}, Row{4, {32, 4}, 32, 1024, 0}, Row{8, {32, 8}, 64, 2048, 0},
                         Row{16, {32, 4, 4}, 128, 4096, 4096}, Row{32, {32, 4, 8}, 256, 8192, 8192}}) {
    Fabric fabric = Tree{FabricShape::rails, row.size, 8, {}}.fabric(FabricRouting::adaptive);
    fabric.radix = 64;
    EXPECT_EQ(fabric.wrong_ports(8), "");
    EXPECT_EQ(describe(fabric, 32 * row.units, 8),
              "rails: " + std::to_string(row.leaves) + " leaves of 32 ports down and 32 up, " +
                  std::to_string(row.leaf_cables + row.core_cables) + " cables between switches, bisection 100 %");
  }
}

/// Ports are counted at both ends of a cable between switches, and at one of an adapter's.
TEST(FabricPorts, PortsAndCablesToBuy) {
  const auto parts = [](FabricShape shape, std::vector<int> size, int nics, int nodes, int over = 1) {
    const FabricParts all =
        parts_of(Tree{shape, std::move(size), nics, {{over, 1}}}.fabric(FabricRouting::adaptive), nodes, nics);
    return std::pair{all.ports, all.cables};
  };
  using Parts = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(parts(FabricShape::one_switch, {}, 8, 4), (Parts{32, 32}));
  EXPECT_EQ(parts(FabricShape::rails, {32, 2}, 8, 64), (Parts{3 * 512, 2 * 512}));
  EXPECT_EQ(parts(FabricShape::fat_tree, {4, 16}, 8, 64, 4), (Parts{512 + 2 * 128, 512 + 128}));
  EXPECT_EQ(parts(FabricShape::rails, {32, 4, 4}, 8, 512), (Parts{5 * 4096, 3 * 4096})) << "as SuperPOD of 16 units";
  EXPECT_EQ(parts(FabricShape::dragonfly, {3, 2, 4, 5}, 2, 24), (Parts{48 + 2 * (15 + 3), 48 + 15 + 3}));
  EXPECT_EQ(parts(FabricShape::torus, {4, 2, 1}, 1, 8), (Parts{8 + 2 * (8 + 4), 8 + 8 + 4}));
}

/// Frontier: 74 groups of 32 switches with 512 adapters, four links to each other group; all that leaves a group is
/// 1/1.753 of what its adapters send (glennklockwood.com, systems/frontier). Of what half of the groups send to the
/// other half it is half of 74/73 of that.
TEST(FabricPorts, FrontierHasTheGlobalBandwidthThatIsPublished) {
  Fabric frontier{.link = {.value = kAdapter}, .shape = FabricShape::dragonfly};
  frontier.size = {74, 32, 4, 4};
  EXPECT_NEAR(frontier.bisection(74 * 128, 4), 74.0 / 73 / 1.753 / 2, 1e-3);
}

/// Frontera: leaves of HDR with 22 ports down and 18 up (TACC, user guide).
TEST(FabricPorts, FronteraIsOversubscribedByItsPorts) {
  Fabric frontera{.link = {.value = kAdapter}, .shape = FabricShape::fat_tree};
  frontera.size = {22, 182};
  frontera.oversubscription = {{22, 18}};
  frontera.routing = FabricRouting::adaptive;
  frontera.radix = 0;
  EXPECT_EQ(frontera.ports(1).up, 18);
  EXPECT_NEAR(frontera.bisection(4004, 1), 18.0 / 22, 1e-12);
  EXPECT_NEAR(fullest(frontera, 4004, 1, shift_of_nodes(2002, 4004)), 22.0 / 18, 1e-9);
}

}  // namespace
}  // namespace twinlink::platforms
