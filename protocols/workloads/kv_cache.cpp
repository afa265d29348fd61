#include "protocols/workloads/kv_cache.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace twinlink::workloads {
namespace {

/// What one rank sends to another: some elements of the whole cache, in blocks.
struct Part {
  int sender = 0;
  int receiver = 0;
  std::uint64_t begin = 0;  ///< among all elements
  std::uint64_t end = 0;
};

struct Block {
  std::uint64_t begin = 0;
  std::uint64_t length = 0;
};

class Cache {
 public:
  Cache(const Shape& shape, std::uint64_t elements)
      : prefill_(prefill_ranks(shape)),
        decode_(shape.ranks - prefill_),
        each_(elements),
        block_(std::max<std::uint64_t>(1, shape.kv.block.count() / kElement.count())) {}

  [[nodiscard]] bool sends(int rank) const { return rank < prefill_; }
  /// The elements of a rank's heads.
  [[nodiscard]] Slice of(int rank) const {
    const std::uint64_t all = each_ * static_cast<std::uint64_t>(prefill_);
    return sends(rank) ? part_of(all, prefill_, rank) : part_of(all, decode_, rank - prefill_);
  }
  /// All that this rank has to do with, in the order of the others.
  [[nodiscard]] std::vector<Part> parts(int rank) const {
    const Slice mine = of(rank);
    std::vector<Part> all;
    const int first = sends(rank) ? prefill_ : 0;
    const int last = sends(rank) ? prefill_ + decode_ : prefill_;
    for (int other = first; other < last; ++other) {
      const Slice theirs = of(other);
      const std::uint64_t begin = std::max(mine.begin, theirs.begin);
      const std::uint64_t end = std::min(mine.begin + mine.length, theirs.begin + theirs.length);
      if (begin >= end) continue;
      all.push_back({sends(rank) ? rank : other, sends(rank) ? other : rank, begin, end});
    }
    return all;
  }
  [[nodiscard]] std::vector<Block> blocks(const Part& part) const {
    std::vector<Block> all;
    for (std::uint64_t begin = part.begin; begin < part.end; begin += block_) {
      all.push_back({begin, std::min(block_, part.end - begin)});
    }
    return all;
  }
  /// Where a block lies in the memory of one of the two ranks.
  [[nodiscard]] Slice place(const Part& part, const Block& block, int rank) const {
    const std::uint64_t first = of(rank).begin;
    if (sends(rank)) return {Where::data, block.begin - first, block.length};
    return {Where::data, part.begin - first + (part.end - block.begin - block.length), block.length};
  }
  /// What one of the two ranks has to do with a part, all of it or a block, that lies at `slice` of its memory.
  [[nodiscard]] Transfer transfer(const Part& part, const Slice& slice, int rank) const {
    return sends(rank) ? Transfer{part.receiver, slice, {}} : Transfer{part.sender, {}, slice};
  }
  /// Gathered.
  [[nodiscard]] Slice packed(const Part& part, int rank) const {
    return {Where::scratch, part.begin - of(rank).begin, part.end - part.begin};
  }

 private:
  int prefill_;
  int decode_;
  std::uint64_t each_;
  std::uint64_t block_;
};

/// Its buffer, and what lies in it before and after.
Schedule with_marks(const Cache& cache, int rank) {
  Schedule schedule{.data = cache.of(rank).length};
  for (const Part& part : cache.parts(rank)) {
    for (const Block& block : cache.blocks(part)) {
      auto& marks = cache.sends(rank) ? schedule.before : schedule.after;
      marks.push_back({cache.place(part, block, rank), block.begin + 1});
    }
  }
  return schedule;
}

}  // namespace

int prefill_ranks(const Shape& shape) { return shape.kv.prefill > 0 ? shape.kv.prefill : shape.ranks / 2; }

std::string refuse_kv_cache(const Shape& shape) {
  if (prefill_ranks(shape) < shape.ranks) return {};
  return std::to_string(prefill_ranks(shape)) + " ranks have read the prompt, and none of " +
         std::to_string(shape.ranks) + " is left to go on";
}

Schedule listed_kv_cache(const Shape& shape, int rank, std::uint64_t elements) {
  const Cache cache(shape, elements);
  Schedule schedule = with_marks(cache, rank);
  Step step;
  for (const Part& part : cache.parts(rank)) {
    for (const Block& block : cache.blocks(part)) {
      step.transfers.push_back(cache.transfer(part, cache.place(part, block, rank), rank));
    }
  }
  schedule.steps.push_back(std::move(step));
  return schedule;
}

Schedule packed_kv_cache(const Shape& shape, int rank, std::uint64_t elements) {
  const Cache cache(shape, elements);
  Schedule schedule = with_marks(cache, rank);
  schedule.scratch = schedule.data;
  Step gather;
  Step exchange;
  for (const Part& part : cache.parts(rank)) {
    const Slice whole = cache.packed(part, rank);
    exchange.transfers.push_back(cache.transfer(part, whole, rank));
    for (const Block& block : cache.blocks(part)) {
      const Slice in{Where::scratch, whole.begin + block.begin - part.begin, block.length};
      const Slice place = cache.place(part, block, rank);
      if (cache.sends(rank)) gather.locals.push_back({Local::Kind::copy, in, place});
      if (!cache.sends(rank)) exchange.locals.push_back({Local::Kind::copy, place, in});
    }
  }
  if (!gather.locals.empty()) schedule.steps.push_back(std::move(gather));
  schedule.steps.push_back(std::move(exchange));
  return schedule;
}

}  // namespace twinlink::workloads
