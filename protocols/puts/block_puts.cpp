#include "protocols/puts/block_puts.hpp"

#include <algorithm>
#include <cstdint>

#include "protocols/core/errors.hpp"
#include "protocols/core/options.hpp"

namespace twinlink {
namespace {

/// Signals alone: the messages lie elsewhere.
constexpr Bytes kSlot{16};

/// What a block gets before another one helps it. A block stores some 20 GB/s, so that this takes it a microsecond.
constexpr std::uint64_t kBytesOfABlock = std::uint64_t{16} << 10U;
constexpr std::uint64_t kBlocksByDefault = 32;

/// Each way has as many, and a multiprocessor has one of them: a large GPU has 132.
constexpr std::uint64_t kMostBlocks = 64;

}  // namespace

int put_blocks(const Protocol& protocol, const Settings& settings) {
  const OptionReader read(protocol, settings);
  const std::uint64_t blocks = read.count("blocks");
  const std::string who = "protocol '" + std::string(protocol.name()) + "': blocks ";
  if (blocks > kMostBlocks) {
    throw UsageError(who + "is " + std::to_string(blocks) + ", more than " + std::to_string(kMostBlocks));
  }
  if (blocks == 0 || read.text("engine") == "blocks") return static_cast<int>(blocks);
  throw UsageError(who + "says how many there are of engine=blocks, which is not chosen");
}

BlockPuts::BlockPuts(Rank& rank, RankId peer, int blocks)
    : rank_(rank),
      blocks_(blocks),
      fifos_(rank, peer,
             {.slot = kSlot, .slots = 1, .channels = blocks > 0 ? blocks : static_cast<int>(kBlocksByDefault)}) {}

Op BlockPuts::launch(const View& from, const View& there, const View& into) {
  const std::uint64_t longer = std::max(from.length, into.length).count();
  last_ = blocks_ > 0
              ? blocks_
              : static_cast<int>(std::clamp<std::uint64_t>(gpu::turns(longer, kBytesOfABlock), 1, kBlocksByDefault));
  gpu::Program program{.operation = gpu::Operation::put,
                       .channels = last_,
                       .bytes = from.length.count(),
                       .received = into.length.count()};
  fifos_.shape(program);
  for (std::int32_t channel = 0; channel < program.channels; ++channel) {
    fifos_.expect(program, channel, program.bytes > 0 ? 1 : 0, program.received > 0 ? 1 : 0);
  }
  gpu::Link link = fifos_.link(program.format);
  if (program.bytes > 0) link.window = there;
  rank_.step("launch");
  const Op op = rank_.launch({.program = program, .input = from, .output = into, .links = {&link, 1}}, fifos_.stream());
  fifos_.count(program);
  return op;
}

std::string BlockPuts::blocks_taken() const { return std::to_string(last_) + (last_ == 1 ? " block" : " blocks"); }

}  // namespace twinlink
