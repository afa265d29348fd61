// What a topology says of copies, messages and pairs of GPUs, each as one text: nothing of it may change unnoticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "platforms/costs/transfer_costs.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::platforms {
namespace {

using ::testing::ElementsAre;
using enum Memory;

Location gpu(std::size_t index) { return {Location::Kind::gpu, index}; }
Location memory(std::size_t index) { return {Location::Kind::memory, index}; }
constexpr Location kAllMemories{Location::Kind::interleaved, 0};
End host(std::size_t index, Memory kind = pinned) { return {memory(index), kind}; }
End plain(std::size_t index) { return {.location = gpu(index)}; }
End own(std::size_t index) { return {.location = gpu(index), .own = true}; }
End kernel(std::size_t index) { return {.location = gpu(index), .kernel = true}; }
End resident(std::size_t index) { return {.location = gpu(index), .kernel = true, .resident = true}; }
End mapped(std::size_t index) { return {.location = gpu(index), .by_cpu = true}; }
template <class T>
Sourced<T> sourced(T value) {
  return {.value = value};
}
double micros(Seconds time) { return time.value() * 1e6; }

class TopologyCosts : public ::testing::Test {
 protected:
  TopologyCosts() {
    for (Link& link : node().links) link.latency = sourced(1.0_us);
    for (const CopyKind kind : {CopyKind::cpu_to_device, CopyKind::cpu_from_device}) {
      platform_.copies[kind] = platform_.copies.at(CopyKind::peer);
    }
  }
  Node& node() { return platform_.node; }
  Link& link(const std::string& name) { return *std::ranges::find(node().links, name, &Link::name); }
  [[nodiscard]] Topology topology() const { return Topology(platform_); }

  /// "driver.copies.peer by gpu1, read, 4 us of way"; "busy": the CPU is, "told": it learns of the end without asking.
  [[nodiscard]] std::string copy(const End& from, const End& to) const {
    const Topology now = topology();
    const CopyCost cost = find_copy_cost(now, from, to);
    if (cost.cost == nullptr) return "none: " + cost.name;
    return fmt::format("{}{}{}{}{}, {:g} us of way", cost.path, cost.gpu ? fmt::format(" by gpu{}", *cost.gpu) : "",
                       cost.reach == Reach::device_reads    ? ", read"
                       : cost.reach == Reach::device_writes ? ", written"
                                                            : "",
                       cost.occupies_cpu ? ", busy" : "", cost.by_event ? "" : ", told", micros(cost.way));
  }
  /// In GB/s; -1: whatever the way allows.
  [[nodiscard]] double rate(const End& from, const End& to) const {
    const std::optional<Rate> rate = copy_cost(topology(), from, to).rate;
    return rate ? rate->bytes_per_second() / 1e9 : -1;
  }

  Platform platform_ = testing::sample_platform();
};

TEST_F(TopologyCosts, CopiesAreOfTheKindsOfTheDriver) {
  EXPECT_EQ(copy(host(0), plain(0)), "driver.copies.pinned-to-device by gpu0, read, 4 us of way");
  EXPECT_EQ(copy(host(1, shared_pinned), plain(0)), "driver.copies.pinned-to-device by gpu0, read, 6 us of way");
  EXPECT_EQ(copy(host(0, pageable), plain(2)), "driver.copies.pageable-to-device by gpu2, read, busy, 6 us of way");
  EXPECT_EQ(copy(plain(1), host(1)), "driver.copies.device-to-pinned by gpu1, written, 2 us of way");
  EXPECT_EQ(copy(plain(1), host(0, pageable)), "driver.copies.device-to-pageable by gpu1, written, busy, 3 us of way");
  EXPECT_EQ(copy(host(0), host(1, pageable)), "driver.copies.host-to-host, busy, told, 2 us of way");
  EXPECT_EQ(copy(plain(1), plain(1)), "driver.copies.device-to-device by gpu1, written, 0 us of way");
  EXPECT_EQ(copy(plain(1), plain(2)), "driver.copies.peer by gpu1, written, 2 us of way");
  EXPECT_EQ(copy(own(1), own(2)), "driver.copies.peer by gpu1, written, 2 us of way");
  EXPECT_EQ(copy(plain(1), own(2)), "driver.copies.peer by gpu2, read, 4 us of way") << "as a copy into the other";
  platform_.gpu_types[0].copies[CopyKind::peer_read] = platform_.copies.at(CopyKind::peer);
  EXPECT_EQ(copy(plain(1), own(2)), "gpu_types.sample.copies.peer-read by gpu2, read, 4 us of way");
  EXPECT_EQ(copy(plain(1), plain(0)), "driver.fallback, 5 us of way");
  platform_.fallback.reset();
  EXPECT_EQ(copy(plain(1), plain(0)), "none: fallback");
}

TEST_F(TopologyCosts, KernelsAndCpusCopyWhatTheyReach) {
  EXPECT_EQ(copy(kernel(1), plain(2)), "driver.copies.kernel-push by gpu1, written, 2 us of way");
  EXPECT_EQ(copy(plain(1), kernel(2)), "driver.copies.kernel-pull by gpu2, read, 4 us of way");
  EXPECT_EQ(copy(kernel(1), kernel(1)), "driver.copies.kernel-local by gpu1, written, 0 us of way");
  for (const Memory kind : {pinned, shared_pinned}) {
    EXPECT_EQ(copy(kernel(0), host(0, kind)), "driver.copies.kernel-to-pinned by gpu0, written, 2 us of way");
    EXPECT_EQ(copy(host(0, kind), kernel(0)), "driver.copies.kernel-from-pinned by gpu0, read, 4 us of way");
  }
  EXPECT_EQ(copy(resident(1), plain(2)), "driver.copies.resident-push by gpu1, written, told, 2 us of way");
  EXPECT_EQ(copy(resident(1), plain(1)), "driver.copies.resident-push by gpu1, written, told, 0 us of way");
  EXPECT_EQ(copy(host(1), mapped(0)), "driver.copies.cpu-to-device by gpu0, busy, told, 3 us of way");
  EXPECT_EQ(copy(mapped(0), host(1)), "driver.copies.cpu-from-device by gpu0, busy, told, 6 us of way");
  const auto cannot = [&](const End& from, const End& to) {
    EXPECT_EQ(copy(from, to), "none: copy by a kernel that cannot reach both ends");
    EXPECT_FALSE(kernel_reaches(topology(), from, to));
  };
  cannot(kernel(1), kernel(2));
  cannot(kernel(1), plain(1));
  cannot(kernel(0), plain(1));
  cannot(plain(0), kernel(1));
  cannot(kernel(0), host(0, pageable));
  cannot(host(0, pageable), kernel(0));
  cannot(resident(1), host(1));
  cannot(resident(0), plain(1));
  cannot(plain(1), resident(2));
  EXPECT_TRUE(kernel_reaches(topology(), kernel(1), plain(2)));
  EXPECT_FALSE(kernel_reaches(topology(), plain(1), plain(2))) << "no kernel";
}

/// Who is told of the end of a copy, and what follows its signal.
TEST_F(TopologyCosts, WhatFollowsACopyIsOfItsKind) {
  RuntimeCosts& runtime = platform_.runtime;
  runtime.completion = sourced(1.5_us);
  runtime.signal_gap = sourced(0.75_us);
  const auto said = [](const CopyEnding& ending) {
    return fmt::format("{:g} {:g} {:g}{}", micros(ending.raising), micros(ending.completion),
                       micros(ending.behind_signal), ending.signal_with_end ? " at once" : "");
  };
  const auto ends = [&](const End& from, const End& to) {
    const Topology now = topology();
    const CopyCost cost = copy_cost(now, from, to);
    return said(copy_ending(runtime, from, cost)) + ", " + said(put_ending(runtime, from, to, cost, 64_KiB));
  };
  EXPECT_EQ(ends(own(1), plain(2)), "0 1.5 0, 0 1.5 0.75");
  EXPECT_EQ(ends(kernel(1), plain(2)), "0 1.5 0, 0 1.5 0.75") << "a kernel that raises no signal itself";
  runtime.kernel_signal = sourced(Piecewise({{0_B, 1.0_us}, {64_KiB, 2.0_us}}));
  EXPECT_EQ(ends(kernel(1), plain(2)), "0 1.5 0, 2 0 0 at once");
  runtime.kernel_signal_gap = sourced(0.25_us);
  EXPECT_EQ(ends(kernel(1), plain(2)), "0 1.5 0, 2 0 0.25 at once");
  EXPECT_EQ(ends(plain(1), kernel(2)), "0 1.5 0, 2 0 0.25 at once");
  EXPECT_EQ(ends(own(1), plain(2)), "0 1.5 0, 0 1.5 0.75") << "the engine's as before";
  EXPECT_EQ(ends(resident(1), plain(2)), "0 0 0 at once, 0 0 0 at once");
  EXPECT_EQ(ends(host(0), mapped(0)), "0 0 0, 0 0 0");
}

// ---- rates ----------------------------------------------------------------------------------------------------------

TEST_F(TopologyCosts, ARouteIsAsWideAsItsNarrowestLinkForWhoUsesIt) {
  const auto widths = [&](const std::vector<Reach>& reaches) {
    const Topology now = topology();
    const Route route = now.copy_route(gpu(0), memory(0));
    std::vector<double> all;
    for (const Reach reach : reaches) all.push_back(now.narrowest(route, reach)->bytes_per_second() / 1e9);
    return all;
  };
  const std::vector<Reach> each{Reach::cpu, Reach::device_reads, Reach::device_writes};
  EXPECT_THAT(widths(each), ElementsAre(8, 8, 8));
  link("bus0").total = sourced(Rate{7e9});
  link("bus0").dma_read = sourced(Rate{3e9});
  link("up0").dma_write = sourced(Rate{2e9});
  EXPECT_THAT(widths(each), ElementsAre(7, 3, 2));
  link("up0").each_read = sourced(Rate{1.5e9});
  link("bus0").each_read = sourced(Rate{2.5e9});
  link("bus0").each_write = sourced(Rate{1e9});
  EXPECT_THAT(widths(each), ElementsAre(7, 1.5, 1));
  const Topology now = topology();
  const Route route = now.copy_route(gpu(0), memory(0));
  EXPECT_EQ(now.each_rate(route, Reach::cpu), std::nullopt);
  EXPECT_EQ(now.each_rate(route, Reach::device_reads), Rate{1.5e9});
  EXPECT_EQ(now.each_rate(route, Reach::device_writes), Rate{1e9});
  EXPECT_EQ(now.narrowest({}, Reach::cpu), std::nullopt);
}

TEST_F(TopologyCosts, WhatPeersHaveIsSaidOfALinkAndOfWhereItLeads) {
  link("bus0").peer_read = sourced(Rate{2e9});
  Passing& hub = node().hubs[0].passing;
  hub.peer_read = sourced(Rate{1.5e9});
  hub.peer_write = sourced(Rate{3e9});
  const auto rates = [&](bool forward) {
    const Topology now = topology();
    std::vector<double> all;
    for (const bool reads : {true, false}) {
      const auto rate = now.peer_rate({3, forward}, reads);  // of bus0
      all.push_back(rate ? rate->bytes_per_second() / 1e9 : -1);
    }
    return all;
  };
  EXPECT_THAT(rates(true), ElementsAre(1.5, 3));
  EXPECT_THAT(rates(false), ElementsAre(2, -1)) << "a GPU lets through what comes";
  link("bus0").peer_write = sourced(Rate{1e9});
  EXPECT_THAT(rates(true), ElementsAre(1.5, 1));
}

TEST_F(TopologyCosts, WhatGpusHaveBothWaysIsOfLinksThatLeadToThem) {
  const auto duplex = [&](const std::string& name) {
    const auto index = static_cast<std::size_t>(&link(name) - node().links.data());
    const auto rate = topology().host_duplex(index);
    return rate ? rate->bytes_per_second() / 1e9 : -1;
  };
  node().hubs[0].passing.duplex = sourced(Rate{6e9});
  EXPECT_EQ(duplex("bus0"), 6);
  EXPECT_EQ(duplex("nic"), 6);
  EXPECT_EQ(duplex("up0"), -1) << "it leads to memory";
  EXPECT_EQ(duplex("bus1"), -1) << "of another hub";
  node().memories[1].passing.duplex = sourced(Rate{5e9});
  EXPECT_EQ(duplex("up1"), 5);
  EXPECT_EQ(duplex("sockets"), -1);
  node().hubs[1].passing.duplex = sourced(Rate{4e9});
  EXPECT_EQ(duplex("up1"), -1) << "said of both ends, it is of what lies below";
  std::swap(link("bus0").from, link("bus0").to);
  EXPECT_EQ(duplex("bus0"), 6) << "whichever way the file has it";
}

/// Chunks go out by one engine and in by another, over links that one buffer may make them share.
TEST_F(TopologyCosts, TheFallbackIsAsFastAsTheSlowerOfItsCopies) {
  EXPECT_EQ(rate(plain(0), plain(1)), 4) << "in at 4, out at 5";
  platform_.copies[CopyKind::device_to_pinned].rate = sourced(Rate{3e9});
  EXPECT_EQ(rate(plain(0), plain(1)), 3);
  link("up0").dma_write = sourced(Rate{2e9});
  EXPECT_EQ(rate(plain(0), plain(1)), 2);
  EXPECT_EQ(rate(plain(1), plain(0)), 3) << "out over the other socket's";
  link("up0").dma_read = sourced(Rate{1e9});
  EXPECT_EQ(rate(plain(1), plain(0)), 1) << "in over this one";
  platform_.fallback->through = "target";
  EXPECT_EQ(rate(plain(0), plain(1)), 2);
  const CopyCost cost = copy_cost(topology(), plain(0), plain(1));
  EXPECT_EQ(cost.chunks->out, Rate{2e9}) << "into the buffer";
  EXPECT_EQ(cost.chunks->size, 1_MiB);
  platform_ = testing::sample_platform();
  node().hubs[1].passing.forwards = Forwards::none;
  EXPECT_EQ(rate(plain(1), plain(2)), 4);
  node().memories[1].passing.duplex = sourced(Rate{5e9});
  EXPECT_EQ(rate(plain(1), plain(2)), 2.5) << "up and down one link";
  EXPECT_EQ(rate(plain(0), plain(1)), 4);
  node().hubs[1].passing.duplex = sourced(Rate{1e9});
  EXPECT_EQ(rate(plain(1), plain(2)), 4) << "no link is crossed twice that says so";
}

TEST_F(TopologyCosts, HostCopiesHaveTheEnginesRateAndPageableOnesTheCores) {
  for (auto& [kind, cost] : platform_.copies) cost.rate.reset();
  EXPECT_EQ(rate(host(0), plain(0)), -1);
  EXPECT_EQ(rate(plain(0), host(0, pageable)), 8);
  node().memories[0].copy_rate = sourced(Rate{3e9});
  EXPECT_EQ(rate(plain(0), host(0, pageable)), 3);
  EXPECT_EQ(rate(plain(0), host(1, pageable)), 8);
  EXPECT_EQ(rate(host(0), host(1)), 3);
  EXPECT_EQ(rate(host(1), host(0)), 3);
  EXPECT_EQ(rate(host(1), host(1)), 8);
  platform_.copies[CopyKind::device_to_pinned].rate = sourced(Rate{2e9});
  EXPECT_EQ(rate(plain(0), host(0, pageable)), 2) << "no faster than the engine";
  EXPECT_EQ(rate(host(0, pageable), plain(0)), 3) << "of the other direction";
  platform_.copies[CopyKind::device_to_pageable].rate = sourced(Rate{9e9});
  EXPECT_EQ(rate(plain(0), host(0, pageable)), 9) << "as it is said";
}

// ---- several ways ---------------------------------------------------------------------------------------------------

TEST_F(TopologyCosts, InterleavedBytesComeFromAllMemoriesAlike) {
  const Topology now = topology();
  const auto strands = [&](Location from, Location to) {
    std::vector<std::string> all;
    for (const Strand& strand : now.strands(from, to)) {
      all.push_back(fmt::format("{} {} {:g}", now.name(strand.from), now.name(strand.to), strand.share));
    }
    return fmt::format("{}", fmt::join(all, ", "));
  };
  EXPECT_EQ(strands(gpu(0), gpu(1)), "gpu0 gpu1 1");
  EXPECT_EQ(strands(kAllMemories, gpu(0)), "memory0 gpu0 0.5, memory1 gpu0 0.5");
  EXPECT_EQ(strands(kAllMemories, kAllMemories),
            "memory0 memory0 0.25, memory0 memory1 0.25, memory1 memory0 0.25, memory1 memory1 0.25");
  EXPECT_EQ(now.describe(kAllMemories, gpu(0)), "memory0 -> hub0 -> gpu0 and memory1 -> memory0 -> hub0 -> gpu0");
  const std::vector<Adapters> nics{{"nic0", "nic0"}};
  EXPECT_EQ(now.describe(gpu(1), nics, kAllMemories),
            "gpu1 -> hub1 -> memory1 -> memory0 -> hub0 -> nic0 => nic0 -> hub0 -> memory0 and gpu1 -> hub1 -> memory1 "
            "-> memory0 -> hub0 -> nic0 => nic0 -> hub0 -> memory0 -> memory1");
  const End all{kAllMemories, pinned};
  EXPECT_EQ(copy(all, plain(0)), "driver.copies.pinned-to-device by gpu0, read, 6 us of way") << "of the farthest";
  EXPECT_EQ(copy(plain(0), all), "driver.copies.device-to-pinned by gpu0, written, 3 us of way");
  EXPECT_EQ(micros(now.latency(kAllMemories, gpu(0))), 3);
  for (auto& [kind, cost] : platform_.copies) cost.rate.reset();
  EXPECT_EQ(rate(all, plain(0)), -1);
  node().memories[1].copy_rate = sourced(Rate{3e9});
  EXPECT_EQ(rate({kAllMemories, pageable}, plain(0)), 3) << "of the slowest";
}

TEST_F(TopologyCosts, HostBuffersLieWhereThePlatformHasThem) {
  const auto at = [&](HostBuffers where, std::size_t index) {
    node().host_buffers = where;
    const Topology now = topology();
    const Location found = now.host_buffers(index);
    return found.kind == Location::Kind::interleaved ? fmt::format("all of {}", found.index) : now.name(found);
  };
  EXPECT_EQ(at(HostBuffers::near, 1), "memory1");
  EXPECT_EQ(at(HostBuffers::far, 1), "memory0");
  EXPECT_EQ(at(HostBuffers::far, 0), "memory1");
  EXPECT_EQ(at(HostBuffers::interleaved, 1), "all of 0");
  Link direct = link("sockets");
  direct.name = "direct";
  direct.from = "gpu0";
  node().links.push_back(direct);
  EXPECT_EQ(at(HostBuffers::far, 0), "memory1") << "though nearer by a link of its own";
  node().links.pop_back();
  node().memories.push_back({.name = "memory2", .copy_rate = sourced(Rate{1e9})});
  Link more = link("sockets");
  more.name = "more";
  more.to = "memory2";
  node().links.push_back(more);
  EXPECT_EQ(at(HostBuffers::far, 0), "memory1") << "the first of those that are as far";
  EXPECT_EQ(at(HostBuffers::far, 1), "memory2");
}

/// A request crosses the sender's way first, so that it counts twice; the receiver's is written over.
TEST_F(TopologyCosts, AMessagesWayIsThatOfBothEnds) {
  node().hubs[0].passing.latency = sourced(0.25_us);
  node().memories[0].passing.latency = sourced(0.5_us);
  node().nics[0].latency = sourced(0.125_us);
  platform_.fabric->latency = sourced(2.0_us);
  platform_.fabric->shape = FabricShape::torus;
  platform_.fabric->size = {4};
  const Adapters nics{"nic0", "nic0"};
  const auto way = [&](Location from, Location to) { return micros(topology().message_way(from, nics, to)); };
  EXPECT_DOUBLE_EQ(way(memory(0), memory(0)), 2 * 2.25 + 2.25 + 0.25);
  EXPECT_DOUBLE_EQ(way(memory(1), memory(0)), 2 * 3.75 + 2.25 + 0.25);
  EXPECT_DOUBLE_EQ(way(memory(0), memory(1)), 2 * 2.25 + 3.75 + 0.25);
  EXPECT_DOUBLE_EQ(way(kAllMemories, memory(0)), 2 * 3.75 + 2.25 + 0.25) << "of the farthest";
  EXPECT_DOUBLE_EQ(way(gpu(0), gpu(0)), 2 * 2.25 + 2.25 + 0.25);
  const Topology now = topology();
  EXPECT_DOUBLE_EQ(micros(now.latency(memory(0), memory(1))), 1);
  EXPECT_DOUBLE_EQ(micros(now.latency(kAllMemories, kAllMemories)), 1);
  EXPECT_DOUBLE_EQ(micros(now.latency(memory(0), memory(0))), 0);
  EXPECT_DOUBLE_EQ(micros(now.fabric_latency(0, 2, nics)), 4) << "the first switch is the messages' own";
  EXPECT_DOUBLE_EQ(micros(now.fabric_latency(1, 1, nics)), 0);
  platform_.fabric->latency.reset();
  EXPECT_DOUBLE_EQ(micros(topology().fabric_latency(0, 2, nics)), 0);
}

TEST_F(TopologyCosts, LongMessagesTakeAllAdaptersAndThoseOfRailsStayOnThem) {
  node().nics = {{.name = "nic0"}, {.name = "nic1"}, {.name = "nic2"}};
  node().gpus[0].more_nics = {"nic1", "nic2"};
  node().gpus[1].nic = "nic1";
  node().gpus[1].more_nics = {"nic0"};
  const auto pairs = [&](std::size_t from, std::size_t to, Bytes size, Location::Kind kind = Location::Kind::gpu) {
    std::vector<std::string> all;
    for (const Adapters& nics : topology().adapters(kind, from, to, size)) all.push_back(nics.from + "=" + nics.to);
    return fmt::format("{}", fmt::join(all, " "));
  };
  EXPECT_EQ(pairs(0, 1, 4_KiB), "nic0=nic1") << "eager";
  EXPECT_EQ(pairs(0, 1, 4_KiB + 1_B), "nic0=nic1 nic1=nic0");
  EXPECT_EQ(pairs(1, 0, 4_KiB + 1_B), "nic1=nic0 nic0=nic1");
  platform_.network->striped_from = sourced(64_KiB);
  EXPECT_EQ(pairs(0, 1, 64_KiB - 1_B), "nic0=nic1");
  EXPECT_EQ(pairs(0, 1, 64_KiB), "nic0=nic1 nic1=nic0");
  EXPECT_EQ(pairs(0, 2, 64_KiB), "nic0=nic0") << "where the other has one";
  platform_.fabric->shape = FabricShape::rail_only;
  EXPECT_EQ(pairs(0, 1, 1_B), "nic0=nic0") << "whichever GPU it is for";
  EXPECT_EQ(pairs(0, 1, 64_KiB), "nic0=nic0 nic1=nic1");
}

/// Of a node with three adapters: that of the GPU first, then those with the fewest hops.
TEST_F(TopologyCosts, LongMessagesOfHostMemoryTakeAsManyAdaptersAsTheLibraryDoes) {
  node().nics = {{.name = "nic0"}, {.name = "far"}, {.name = "nic1"}};
  for (const auto& [nic, memory] : {std::pair{"far", 1U}, {"nic1", 0U}}) {
    Link more = link("sockets");
    more.name = std::string(nic) + "-link";
    more.from = nic;
    more.to = node().memories[memory].name;
    node().links.push_back(more);
  }
  const auto pairs = [&](Location::Kind kind, Bytes size) {
    std::vector<std::string> all;
    for (const Adapters& nics : topology().adapters(kind, 0, 0, size)) all.push_back(nics.from + "=" + nics.to);
    return fmt::format("{}", fmt::join(all, " "));
  };
  platform_.network->striped_from = sourced(64_KiB);
  EXPECT_EQ(pairs(Location::Kind::memory, 64_KiB), "nic0=nic0") << "left out: those of the GPU";
  platform_.network->host_adapters = 2;
  EXPECT_EQ(pairs(Location::Kind::memory, 64_KiB - 1_B), "nic0=nic0");
  EXPECT_EQ(pairs(Location::Kind::memory, 64_KiB), "nic0=nic0 nic1=nic1");
  EXPECT_EQ(pairs(Location::Kind::interleaved, 64_KiB), "nic0=nic0 nic1=nic1");
  EXPECT_EQ(pairs(Location::Kind::gpu, 64_KiB), "nic0=nic0");
  platform_.network->host_adapters = 64;
  EXPECT_EQ(pairs(Location::Kind::memory, 64_KiB), "nic0=nic0 nic1=nic1 far=far") << "all that there are";
}

// ---- paths ----------------------------------------------------------------------------------------------------------

/// "peer-access no: why" for each answer that is no, and what else a path says.
std::string said(const Path& path) {
  std::string text = fmt::format("{}{}{}peers {:g}, adapters {:g}", path.same_node ? "one node, " : "",
                                 path.same_device ? "one device, " : "", path.loopback ? "loopback, " : "",
                                 path.peer_rate.bytes_per_second() / 1e9, path.adapter_rate.bytes_per_second() / 1e9);
  const auto add = [&](const std::string& what, const Answer& answer) {
    if (!answer.yes) text += fmt::format("\nno {}: {}", what, answer.reason);
  };
  add("peer access", path.peer_access);
  add("mapping", path.device_mapping);
  add("puts", path.one_sided);
  add("device memory in messages", path.device_memory_on_network);
  add("shared buffers", path.shared_buffers);
  add("CPU", path.cpu_reaches_device);
  add("aware library", path.cuda_aware_mpi);
  add("programs", path.gpu_programs);
  add("switch", path.switch_reduces);
  return text;
}

TEST_F(TopologyCosts, APathSaysWhyNot) {
  platform_.gpu_types[0].blocks.emplace();
  const auto path = [&](const Place& a, const Place& b) { return said(topology().path(a, b)); };
  const std::string fermi =
      "no device memory in messages: Fermi has no GPUDirect RDMA: gpu1 (Sample) has compute "
      "capability 2.0, and it began with 3.0\n";
  EXPECT_EQ(path({0, 1, {}}, {0, 2, {}}),
            "one node, peers 8, adapters 0\n" + fermi +
                "no switch: no switch that joins gpu1 and gpu2 adds up: the platform says that of a hub by 'reduces'");
  node().hubs[1].reduces = sourced(Rate{1e9});
  EXPECT_EQ(path({0, 1, {}}, {0, 2, {}}), "one node, peers 8, adapters 0\n" + fermi.substr(0, fermi.size() - 1));
  EXPECT_EQ(topology().reducing_hub(1, 2)->name, "hub1");
  EXPECT_EQ(topology().reducing_hub(0, 1), nullptr);
  EXPECT_EQ(path({0, 1, {}}, {0, 1, {}}),
            "one node, one device, peers 0, adapters 0\n" + fermi +
                "no switch: no switch that joins gpu1 and gpu1 adds up: the platform says that of a hub by 'reduces'");
  EXPECT_EQ(path({0, 1, {}}, {3, 2, {}}),
            "peers 0, adapters 2.5\nno peer access: the GPUs are on different nodes\n"
            "no mapping: the GPUs are on different nodes\n"
            "no puts: Fermi has no GPUDirect RDMA: gpu1 (Sample) has compute capability 2.0, and it began with 3.0\n" +
                fermi + "no switch: the GPUs are on different nodes, which no switch that adds up joins");
  node().nics.push_back({.name = "nic1", .link = sourced(Rate{2e9})});
  node().gpus[2].nic = "nic1";
  EXPECT_EQ(topology().path({0, 1, {}}, {3, 2, {}}).adapter_rate, Rate{2e9}) << "of the slower end";
  EXPECT_EQ(topology().path({0, 2, {}}, {3, 1, {}}).adapter_rate, Rate{2e9});
  link("bus2").backward = sourced(Rate{6e9});
  EXPECT_EQ(topology().path({0, 1, {}}, {0, 2, {}}).peer_rate, Rate{6e9});
  EXPECT_EQ(topology().path({0, 2, {}}, {0, 1, {}}).peer_rate, Rate{8e9}) << "the other direction";
  platform_.gpu_types[0].blocks.reset();
  platform_.copies.erase(CopyKind::cpu_from_device);
  const Path without = topology().path({0, 1, {}}, {0, 2, {}});
  EXPECT_EQ(without.gpu_programs.reason,
            "the platform does not say what thread blocks do of the GPU type 'sample' (Sample): it has no 'blocks'");
  EXPECT_FALSE(without.cpu_reaches_device);
  GpuType other = platform_.gpu_types[0];
  other.name = "other";
  for (const CopyKind kind : {CopyKind::cpu_to_device, CopyKind::cpu_from_device}) {
    other.copies[kind] = platform_.copies.at(CopyKind::peer);
  }
  platform_.gpu_types.push_back(other);
  node().gpus[2].type = "other";
  for (const auto& [a, b] : {std::pair(1, 2), {2, 1}}) {
    EXPECT_FALSE(topology().path({0, a, {}}, {0, b, {}}).cpu_reaches_device) << "of one end alone";
  }
  EXPECT_TRUE(topology().path({0, 2, {}}, {1, 2, {}}).cpu_reaches_device);
}

}  // namespace
}  // namespace twinlink::platforms
