#include "protocols/core/blocks.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace twinlink {
namespace {

void require_inside(const View& view, Bytes offset, Bytes length, const char* which) {
  if (offset <= view.length && length <= view.length - offset) return;
  throw UsageError("a block of " + std::to_string(length.count()) + " B at " + std::to_string(offset.count()) +
                   " lies beyond the end of its " + which + " of " + std::to_string(view.length.count()) + " B");
}

void require_disjoint(std::span<const Block> blocks) {
  const auto begins_before = [](const Block& a, const Block& b) { return a.to < b.to; };
  const auto overlap = [](const Block& a, const Block& b) { return b.to < a.to + a.length; };
  std::vector<Block> sorted;
  if (!std::ranges::is_sorted(blocks, begins_before)) {
    sorted.assign(blocks.begin(), blocks.end());
    std::ranges::sort(sorted, begins_before);
    blocks = sorted;
  }
  if (std::ranges::adjacent_find(blocks, overlap) == blocks.end()) return;
  throw UsageError("blocks of one copy overlap at their destination");
}

}  // namespace

Bytes total_length(std::span<const Block> blocks) {
  Bytes sum{};
  for (const Block& block : blocks) sum += block.length;
  return sum;
}

std::optional<Rows> as_rows(std::span<const Block> blocks) {
  if (blocks.empty()) return std::nullopt;
  const Block& first = blocks.front();
  Rows rows{first.to, first.from, first.length, first.length, first.length, blocks.size()};
  if (blocks.size() == 1) return rows;
  if (blocks[1].to < first.to || blocks[1].from < first.from) return std::nullopt;
  rows.to_pitch = blocks[1].to - first.to;
  rows.from_pitch = blocks[1].from - first.from;
  // A copy engine takes rows that do not overlap, at either end.
  if (rows.to_pitch < rows.width || rows.from_pitch < rows.width) return std::nullopt;
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    const bool fits = blocks[i].length == rows.width && blocks[i].to == blocks[i - 1].to + rows.to_pitch &&
                      blocks[i].from == blocks[i - 1].from + rows.from_pitch;
    if (!fits) return std::nullopt;
  }
  return rows;
}

void check_blocks(const View& to, const View& from, std::span<const Block> blocks, Engine engine) {
  if (blocks.empty()) throw UsageError("a copy of no blocks");
  if (engine == Engine::resident) throw UsageError("a resident kernel copies no blocks that lie apart");
  if (engine == Engine::cpu) throw UsageError("the CPU's own stores copy no blocks that lie apart");
  if (to.buffer.memory != Memory::device && from.buffer.memory != Memory::device) {
    throw UsageError("a copy of blocks between two host buffers");
  }
  for (const Block& block : blocks) {
    if (block.length == Bytes{}) throw UsageError("a block of no bytes");
    require_inside(to, block.to, block.length, "destination");
    require_inside(from, block.from, block.length, "source");
  }
  require_disjoint(blocks);
  if (engine == Engine::dma && !as_rows(blocks)) {
    throw UsageError("the copy engine moves blocks of one length at one distance; a kernel moves any list");
  }
}

}  // namespace twinlink
