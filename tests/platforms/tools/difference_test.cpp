// What differs between two platforms is found, and nothing else.
#include <string>

#include <gtest/gtest.h>

#include "platforms/reader/platform_reader.hpp"
#include "platforms/tools/difference.hpp"
#include "tests/platforms/whole_platform.hpp"

namespace twinlink::platforms {
namespace {

TEST(Difference, OfAPlatformWithItselfIsNone) {
  for (const std::string name : {"keeneland-kids", "keeneland-kfs", "keeneland-kfs-rdma", "h200-nvlink"}) {
    const Platform platform = read_platform("platforms/" + name + ".yaml");
    EXPECT_TRUE(difference_of(platform, platform).none()) << name;
  }
}

/// "path: a | b" for each, and the parts that one of the two has.
std::string said(const Platform& a, const Platform& b) {
  const PlatformDifference found = difference_of(a, b);
  std::string text;
  for (const WordDifference& word : found.words) text += word.path + ": " + word.a + " | " + word.b + "\n";
  for (const NumberDifference& number : found.numbers) {
    text += number.path + ": " + (number.a ? number.a->text : "") + " | " + (number.b ? number.b->text : "") + "\n";
  }
  for (const std::string& part : found.only_a) text += "only a: " + part + "\n";
  for (const std::string& part : found.only_b) text += "only b: " + part + "\n";
  return text;
}

TEST(Difference, ListsAreComparedAsAWholeAndWhatOneLacksIsEmpty) {
  const Platform whole = testing::whole_platform();
  Platform other = whole;
  other.node.gpus[0].more_nics.clear();
  other.node.ways[0].via[2] = "qpi";
  other.node.peers.reset();
  other.library.clear();
  other.node.hubs.push_back({.name = "hub2"});
  other.copies.erase(CopyKind::peer);
  other.fabric->rdma.reset();
  other.kinds[0].node.links[0].forward.value = Rate{8e9};
  other.gpu_types[0].copies.at(CopyKind::pinned_to_device).latency.value =
      Piecewise({{4_KiB, 2.5_us}, {2_MiB, 3.0_us}});
  const std::string there =
      "nodes.gpus.gpu0.nic: hca0, hca1 | hca0\nnodes.ways.slowly.via: hub0, numa0, old-qpi | hub0, numa0, qpi\n"
      "nodes.peers: gpu0 gpu1 | \nmpi.library: ucx | \n"
      "gpu_types.fast.copies.pinned-to-device.latency[0]: 2.00 us | \n"
      "gpu_types.fast.copies.pinned-to-device.latency[1M]: 3.00 us | \n"
      "kinds.odd.nodes.links.bus0.forward: 7000.0 MB/s | 8000.0 MB/s\n"
      "gpu_types.fast.copies.pinned-to-device.latency[2M]:  | 3.00 us\n"
      "only a: fabric.rdma\nonly a: driver.copies.peer\nonly b: nodes.hubs.hub2\n";
  EXPECT_EQ(said(whole, other), there);
  EXPECT_EQ(said(other, whole),
            "nodes.gpus.gpu0.nic: hca0 | hca0, hca1\nnodes.ways.slowly.via: hub0, numa0, qpi | hub0, numa0, old-qpi\n"
            "nodes.peers:  | gpu0 gpu1\nmpi.library:  | ucx\n"
            "gpu_types.fast.copies.pinned-to-device.latency[2M]: 3.00 us | \n"
            "kinds.odd.nodes.links.bus0.forward: 8000.0 MB/s | 7000.0 MB/s\n"
            "gpu_types.fast.copies.pinned-to-device.latency[0]:  | 2.00 us\n"
            "gpu_types.fast.copies.pinned-to-device.latency[1M]:  | 3.00 us\n"
            "only a: nodes.hubs.hub2\nonly b: fabric.rdma\nonly b: driver.copies.peer\n");
  EXPECT_EQ(said(whole, whole), "");
  EXPECT_FALSE(difference_of(whole, other).none());
}

TEST(Difference, NamesAndSourcesMakeNone) {
  const Platform kids = read_platform("platforms/keeneland-kids.yaml");
  Platform other = kids;
  other.name = "other";
  other.node.links.front().forward.source = {Quality::assumed, "another source"};
  EXPECT_TRUE(difference_of(kids, other).none());
}

}  // namespace
}  // namespace twinlink::platforms
