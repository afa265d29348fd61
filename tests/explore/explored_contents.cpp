#include "tests/explore/explored_contents.hpp"

#include <cstddef>

#include "protocols/gpu/experts.hpp"

namespace twinlink::explore {
namespace {

using gpu::Listed;
using gpu::Program;

/// Elements that a rank's tokens have for an expert of another one: none, one or two.
std::uint64_t tokens(int rank, int owner, int expert) {
  return static_cast<std::uint64_t>((2 * rank + owner + 2 * expert + 1) % 3);
}

/// Of the block between a rank and an expert of `to`, or of this rank itself on the way back.
std::uint64_t length(const Program& p, int from, int to, int expert) {
  return p.operation == gpu::Operation::dispatch ? tokens(from, to, expert) : tokens(to, from, expert);
}

/// Where a block begins in its sender's input: they lie there by receiver, and there by expert.
std::uint64_t begin(const Program& p, int from, int to, int expert) {
  std::uint64_t at = 0;
  for (int r = 0; r < p.ranks; ++r) {
    for (int e = 0; e < p.experts; ++e) {
      if (r == to && e == expert) return at;
      at += length(p, from, r, e);
    }
  }
  return at;
}

}  // namespace

std::uint64_t value_of(int rank, std::uint64_t i) { return (std::uint64_t{1} << (8 * rank)) + i * 0x01000001000001U; }

std::optional<std::uint64_t> expected_value(const Program& p, int rank, std::uint64_t i) {
  const std::uint64_t n = gpu::number(p.ranks);
  const std::uint64_t elements = p.bytes / gpu::kElementBytes;
  const auto sum = [&] {
    std::uint64_t all = 0;
    for (int r = 0; r < p.ranks; ++r) all += value_of(r, i);
    return all;
  };
  switch (p.operation) {
    case gpu::Operation::clear:
    case gpu::Operation::echo:
    case gpu::Operation::dispatch:
    case gpu::Operation::combine:
      return std::nullopt;
    case gpu::Operation::exchange:
    case gpu::Operation::put:
      return value_of(1 - rank, i);
    case gpu::Operation::all_reduce:
      return sum();
    case gpu::Operation::broadcast:
      return value_of(p.root, i);
    case gpu::Operation::reduce:
      return rank == p.root ? std::optional(sum()) : std::nullopt;
    case gpu::Operation::all_gather:
    case gpu::Operation::reduce_scatter:
      for (std::uint64_t r = 0; r < n; ++r) {
        const gpu::Share part = gpu::share(elements, n, r, 1);
        if (i < part.begin || i >= part.begin + part.length) continue;
        if (p.operation == gpu::Operation::all_gather) return value_of(static_cast<int>(r), i);
        if (r == gpu::number(rank)) return sum();
      }
      return std::nullopt;
    case gpu::Operation::all_to_all: {
      const std::uint64_t each = elements / n;
      return value_of(static_cast<int>(i / each), gpu::number(rank) * each + i % each);
    }
  }
  return std::nullopt;
}

ExpertBlocks expert_blocks(const Program& p, int rank) {
  ExpertBlocks blocks;
  blocks.numbers.resize(gpu::numbers_of(p));
  const auto list = [&](Listed what, int places, int expert) -> std::uint64_t& {
    return blocks.numbers[static_cast<std::size_t>(gpu::index_of(p, what, places, expert))];
  };
  for (int e = 0; e < p.experts; ++e) {
    for (int places = 0; places < p.ranks; ++places) {
      const int to = (rank + places) % p.ranks;
      const int from = (rank + p.ranks - places) % p.ranks;
      list(Listed::bytes, places, e) = gpu::kElementBytes * length(p, rank, to, e);
      list(Listed::from, places, e) = gpu::kElementBytes * begin(p, rank, to, e);
      list(Listed::to, places, e) = gpu::kElementBytes * blocks.received.size();
      for (std::uint64_t i = 0; i < length(p, from, rank, e); ++i) {
        blocks.received.push_back(value_of(from, begin(p, from, rank, e) + i));
      }
      blocks.sent += length(p, rank, to, e);
    }
  }
  return blocks;
}

}  // namespace twinlink::explore
