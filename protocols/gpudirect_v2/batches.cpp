#include "protocols/gpudirect_v2/batches.hpp"

#include <algorithm>
#include <cassert>

#include "protocols/parts/connection.hpp"

namespace twinlink {
namespace {

// A name: this bit, how many messages, how long each is. No message has the length that is the bit, 128 TiB.
constexpr std::uint64_t kSeveral = std::uint64_t{1} << 47;
constexpr int kLengthBits = 20;
static_assert(kLongestInBatch.count() < std::uint64_t{1} << kLengthBits);
static_assert((kSeveral | kMostInBatch << kLengthBits | kLongestInBatch.count()) < kEpochSignal);
static_assert(kMostInBatch << kLengthBits < kSeveral);

bool goes_in_batch(const View& message, Bytes chunk) {
  const bool whole = chunk == Bytes{} || message.length <= chunk;
  return whole && message.length > Bytes{} && message.length <= kLongestInBatch;
}

/// A 2-D copy takes rows that are less than 2 GiB apart (CUDA's largest pitch).
constexpr Bytes kMostDistance{(std::uint64_t{1} << 31) - 1};

/// From `a` to `b`, if `b` lies behind it in the same buffer, and not too far.
std::optional<Bytes> distance(const View& a, const View& b) {
  if (a.buffer != b.buffer || b.offset < a.offset + a.length) return std::nullopt;
  const Bytes apart = b.offset - a.offset;
  return apart <= kMostDistance ? std::optional(apart) : std::nullopt;
}

/// How many of the views from the first on lie at one distance.
std::size_t run_length(std::span<const View> views) {
  if (views.size() < 2) return views.size();
  const auto first = distance(views[0], views[1]);
  std::size_t count = 1;
  while (first && count < views.size() && distance(views[count - 1], views[count]) == first) ++count;
  return count;
}

}  // namespace

std::span<const View> first_batch(std::span<const View> messages, Bytes chunk, std::uint64_t most) {
  const View& first = messages.front();
  const std::size_t limit = goes_in_batch(first, chunk) ? std::min<std::size_t>(most, messages.size()) : 1;
  std::size_t count = 1;
  while (count < limit && messages[count].length == first.length) ++count;
  return messages.first(count);
}

std::uint64_t batch_name(std::span<const View> batch) {
  const std::uint64_t length = batch.front().length.count();
  return batch.size() == 1 ? length : kSeveral | std::uint64_t{batch.size()} << kLengthBits | length;
}

std::string describe_batch(std::uint64_t name) {
  if (name < kSeveral) return std::to_string(name) + " B";
  const std::uint64_t count = (name - kSeveral) >> kLengthBits;
  const std::uint64_t length = name & ((std::uint64_t{1} << kLengthBits) - 1);
  return std::to_string(count) + " messages of " + std::to_string(length) + " B at once";
}

Outcome wrong_batch(std::uint64_t mine, std::uint64_t theirs) {
  return {Status::wrong_size, "this side has " + describe_batch(mine) + ", the other " + describe_batch(theirs)};
}

void BatchedPieces::assign(std::span<const View> messages, Bytes chunk, std::uint64_t most) {
  pieces.clear();
  belongs.clear();
  for (; !messages.empty(); messages = messages.subspan(belongs.back().size())) {
    const auto together = first_batch(messages, chunk, most);
    if (together.size() > 1) {
      pieces.push_back(together.front());
    } else {
      add_pieces(together.front(), chunk, pieces);
    }
    belongs.resize(pieces.size(), together);
  }
}

std::optional<Bytes> distance_of(std::span<const View> batch) {
  if (batch.size() < 2 || run_length(batch) < batch.size()) return std::nullopt;
  return distance(batch[0], batch[1]);
}

std::vector<BatchRun> runs_of(std::span<const View> to, std::span<const View> from) {
  assert(to.size() == from.size());
  std::vector<BatchRun> runs;
  for (std::size_t first = 0; first < to.size(); first += runs.back().count) {
    runs.push_back({first, std::min(run_length(to.subspan(first)), run_length(from.subspan(first)))});
  }
  return runs;
}

BatchCopies::~BatchCopies() {
  try {
    for (const Op op : kept_) rank_.abandon(op);
  } catch (const Error&) {
    // The device is in error. Whoever waits for it learns that, or has learnt it already.
  }
}

Op BatchCopies::start(std::span<const View> to, std::span<const View> from) {
  if (to.size() == 1) return rank_.copy(to.front(), from.front(), stream_, engine_);
  const std::vector<BatchRun> runs = runs_of(to, from);
  for (const BatchRun& run : std::span(runs).first(runs.size() - 1)) kept_.push_back(start(to, from, run));
  return start(to, from, runs.back());
}

Op BatchCopies::start(std::span<const View> to, std::span<const View> from, const BatchRun& run) {
  if (run.count == 1) return rank_.copy(to[run.first], from[run.first], stream_, engine_);
  // Within the memory from the first view to the end of the last one.
  const auto stretch = [&](std::span<const View> views) {
    const View& first = views[run.first];
    const View& last = views[run.first + run.count - 1];
    return View(first.buffer, first.offset, last.offset + last.length - first.offset);
  };
  const View target = stretch(to);
  const View source = stretch(from);
  std::vector<Block> blocks;
  blocks.reserve(run.count);
  for (std::size_t i = run.first; i < run.first + run.count; ++i) {
    blocks.push_back(
        {.to = to[i].offset - target.offset, .from = from[i].offset - source.offset, .length = to[i].length});
  }
  return rank_.copy_blocks(target, source, blocks, stream_, engine_);
}

Outcome BatchCopies::settle(Seconds deadline) {
  while (!kept_.empty()) {
    const Op op = kept_.back();
    kept_.pop_back();
    if (const Status status = wait(rank_, op, deadline); status != Status::delivered) {
      return {status, "one of the copies of a batch"};
    }
  }
  return {};
}

}  // namespace twinlink
