// Probes of copies by kernels, and of copies of many blocks by the copy engine and by kernels.
#include <array>

#include <fmt/format.h>

#include "protocols/bench/probe/probed.hpp"
#include "protocols/bench/probe/prober.hpp"

namespace twinlink::bench {
namespace {

/// Small ones show what a block costs, large ones what is left of the rate.
constexpr std::array kBlockSizes{Bytes{8}, Bytes{64}, Bytes{4096}};
/// More would only take longer.
constexpr std::uint64_t kMostProbedBlocks = 16384;

struct BlockCopy {
  Buffer to;
  Buffer from;

  [[nodiscard]] Probed by_kernel() const { return {.engine = Engine::kernel, .from = from.memory, .to = to.memory}; }
};

void probe_kernel_copy(Prober& prober, const BlockCopy& way) {
  const Move move{View(way.to), View(way.from)};
  prober.record_copies(to_string(way.by_kernel()), move, [&](const Move& part) {
    return prober.sample(part.to.length, [&] { prober.copy(part.to, part.from, Engine::kernel); });
  });
}

/// Blocks of `length` bytes, twice as far apart in device memory, one behind the other at the other end.
std::vector<Block> blocks_of(const BlockCopy& way, Bytes size, Bytes length) {
  const bool spread_source = way.from.memory == Memory::device;
  std::vector<Block> blocks;
  for (Bytes at{}; at < size; at += length) {
    const Bytes apart = at * 2;
    blocks.push_back({.to = spread_source ? at : apart, .from = spread_source ? apart : at, .length = length});
  }
  return blocks;
}

void probe_block_copy(Prober& prober, const BlockCopy& way, Engine engine, Bytes length) {
  const std::string name = to_string({.what = Probed::What::block,
                                      .engine = engine,
                                      .from = way.from.memory,
                                      .to = way.to.memory,
                                      .block_bytes = length.count()});
  if (!prober.wants(name)) return;
  MeasuredRank& rank = prober.rank();
  for (const Bytes size : prober.plan().sizes) {
    if (size.count() % length.count() != 0 || size > length * kMostProbedBlocks) continue;
    const std::vector<Block> blocks = blocks_of(way, size, length);
    const auto copy = [&] {
      prober.finish(rank.copy_blocks(View(way.to), View(way.from), blocks, Stream{0}, engine), name, size);
    };
    // The first and the last block show that all of them were counted.
    const std::array ends{blocks.front(), blocks.back()};
    const twinlink::Payload pattern = prober.fresh_pattern();
    for (const Block& block : ends) {
      rank.fill(View(way.from, block.from, block.length), pattern);
      rank.fill(View(way.to, block.to, block.length), kSentinel);
    }
    prober.record(name, {}, size, prober.sample(size, copy), true);
    if (!prober.plan().verify) continue;
    for (const Block& block : ends) prober.expect(View(way.to, block.to, block.length), pattern, name);
  }
}

}  // namespace

void probe_blocks(Prober& prober) {
  const ScopedBuffer device(prober.rank(), Memory::device, prober.largest() * 2);
  const ScopedBuffer other(prober.rank(), Memory::device, prober.largest());
  const ScopedBuffer pinned(prober.rank(), Memory::pinned, prober.largest());
  const std::array ways{BlockCopy{other.buffer(), device.buffer()}, BlockCopy{pinned.buffer(), device.buffer()},
                        BlockCopy{device.buffer(), pinned.buffer()}};
  for (const BlockCopy& way : ways) {
    const View to(way.to, Bytes{}, Bytes{1});
    const View from(way.from, Bytes{}, Bytes{1});
    const std::array one{Block{{}, {}, Bytes{1}}};
    if (can_copy(prober, way_of(way.by_kernel()), way.to, way.from, Engine::kernel)) probe_kernel_copy(prober, way);
    for (const Engine engine : {Engine::dma, Engine::kernel}) {
      const std::string_view by = engine == Engine::kernel ? "a kernel" : "the copy engine";
      const bool possible =
          can(prober, fmt::format("blocks {}-to-{} by {}", to_string(way.from.memory), to_string(way.to.memory), by),
              [&] { prober.finish(prober.rank().copy_blocks(to, from, one, Stream{0}, engine), "blocks", Bytes{1}); });
      if (!possible) continue;
      for (const Bytes length : kBlockSizes) probe_block_copy(prober, way, engine, length);
    }
  }
}

}  // namespace twinlink::bench
