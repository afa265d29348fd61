#include "protocols/layout/packing.hpp"

#include <array>
#include <exception>
#include <tuple>
#include <utility>

#include "protocols/core/blocks.hpp"
#include "protocols/core/enum_table.hpp"

namespace twinlink {
namespace {

constexpr Words<PackMethod> kMethods{"copies", "2d", "kernel"};
// Nothing else is under way while a channel packs or unpacks.
constexpr Stream kStream{0};
/// A sweep has fewer sizes; a list of blocks may take megabytes.
constexpr std::size_t kMostPlans = 64;

Bytes aligned(Bytes size) {
  const std::uint64_t unit = PackedBuffers::kAlignment.count();
  return Bytes{(size.count() + unit - 1) / unit * unit};
}

Memory packed_memory(const Protocol& inner) {
  return inner.message_memory() == Memory::device ? Memory::device : Memory::pinned;
}

std::string_view in_words(PackMethod method) {
  constexpr Words<PackMethod> kNames{"a copy for each block", "2-D copies", "a kernel"};
  return kNames[method];
}

void require_rows(const Layout& layout, std::span<const Block> blocks, Bytes packed) {
  if (blocks.empty() || as_rows(blocks)) return;
  throw UsageError("a message of " + format_size(packed) + " in the layout " + describe(layout) +
                   " is no 2-D copy, whose blocks have one length and one distance; 'copies' and 'kernel' pack it");
}

std::vector<Block> blocks_to_pack(const Layout& layout, Bytes packed) {
  std::vector<Block> result;
  Bytes at{};
  for (const LayoutBlock& block : layout.blocks(packed)) {
    result.push_back({.to = at, .from = block.displacement, .length = block.length});
    at += block.length;
  }
  return result;
}

}  // namespace

std::string_view to_string(PackMethod method) { return kMethods[method]; }

PackMethod find_pack_method(std::string_view name) { return value_named(kMethods, name, "method of packing"); }

void check_packing(const Packing& packing, Bytes packed) {
  const auto blocks = blocks_to_pack(packing.layout, packed);
  static_cast<void>(packing.layout.extent(packed));
  if (packing.method == PackMethod::rows) require_rows(packing.layout, blocks, packed);
}

Memory message_memory(const Protocol& protocol, const Packing& packing) {
  return packing.needed() ? Memory::device : protocol.message_memory();
}

PackedBuffers::PackedBuffers(Rank& rank, const Protocol& inner, const Packing& packing, Bytes outgoing, Bytes incoming)
    : rank_(rank) {
  if (!packing.needed()) return;
  outgoing_ = rank.allocate(packed_memory(inner), outgoing);
  incoming_ = rank.allocate(packed_memory(inner), incoming);
}

PackedBuffers::~PackedBuffers() {
  // While an exception passes, operations may still use the buffers; the rank frees them when it ends.
  if (std::uncaught_exceptions() > 0) return;
  for (const Buffer& buffer : {outgoing_, incoming_}) {
    if (buffer != Buffer{}) rank_.release(buffer);
  }
}

std::unique_ptr<Channel> connect(Rank& rank, RankId peer, const Protocol& protocol, const Settings& settings,
                                 const Packing& packing, const PackedBuffers& buffers) {
  std::unique_ptr<Channel> channel = protocol.connect(rank, peer, settings);
  if (!packing.needed()) return channel;
  return std::make_unique<PackingChannel>(rank, std::move(channel), packing, buffers, settings.timeout);
}

PackingChannel::PackingChannel(Rank& rank, std::unique_ptr<Channel> inner, Packing packing,
                               const PackedBuffers& buffers, Seconds timeout)
    : rank_(rank), inner_(std::move(inner)), packing_(std::move(packing)), buffers_(buffers), timeout_(timeout) {}

Outcome PackingChannel::do_exchange(std::span<const View> outgoing, std::span<const View> incoming) {
  const std::vector<View> packed_out = packed_places(outgoing, buffers_.outgoing());
  const std::vector<View> packed_in = packed_places(incoming, buffers_.incoming());
  if (plans_.size() >= kMostPlans) plans_.clear();
  for (const auto messages : {outgoing, incoming}) {
    for (const View& message : messages) static_cast<void>(plan_of(message.length));
  }

  rank_.step("pack");
  if (Outcome outcome = rearrange(outgoing, packed_out, Rearrangement::pack); !outcome.ok()) return outcome;
  if (Outcome outcome = inner_->exchange(packed_out, packed_in); !outcome.ok()) return outcome;
  rank_.step("unpack");
  return rearrange(incoming, packed_in, Rearrangement::unpack);
}

std::string PackingChannel::path_taken() const {
  return "packed by " + std::string(in_words(packing_.method)) + " into " +
         std::string(to_string(buffers_.outgoing().memory)) + " memory, then " + inner_->path_taken();
}

/// Where the packed messages lie, one behind the other.
std::vector<View> PackingChannel::packed_places(std::span<const View> messages, Buffer buffer) const {
  std::vector<View> places;
  places.reserve(messages.size());
  std::map<std::tuple<std::uint32_t, Bytes, Bytes>, View> known;
  Bytes used{};
  for (const View& message : messages) {
    if (message.buffer.memory != Memory::device) throw UsageError("a message with a layout lies in device memory");
    if (message.length > message.buffer.size || message.offset > message.buffer.size - message.length) {
      throw UsageError("a message in the layout " + describe(packing_.layout) + " spans " +
                       std::to_string(message.length.count()) + " B and reaches beyond its buffer of " +
                       std::to_string(message.buffer.size.count()) + " B");
    }
    const View next(buffer, used, packing_.layout.packed(message.length));
    const auto [place, is_new] = known.try_emplace({message.buffer.id, message.offset, message.length}, next);
    places.push_back(place->second);
    if (!is_new) continue;
    if (used + next.length > buffer.size) {
      throw UsageError("packed messages of " + std::to_string((used + next.length).count()) + " B in a buffer of " +
                       std::to_string(buffer.size.count()) + " B");
    }
    used += aligned(next.length);
  }
  return places;
}

const PackingChannel::Plan& PackingChannel::plan_of(Bytes extent) {
  if (const auto known = plans_.find(extent); known != plans_.end()) return known->second;
  const Bytes packed = packing_.layout.packed(extent);
  Plan plan{.pack = blocks_to_pack(packing_.layout, packed), .unpack = {}};
  if (packing_.method == PackMethod::rows) require_rows(packing_.layout, plan.pack, packed);
  plan.unpack = plan.pack;
  for (Block& block : plan.unpack) std::swap(block.to, block.from);
  return plans_.emplace(extent, std::move(plan)).first->second;
}

Outcome PackingChannel::rearrange(std::span<const View> messages, std::span<const View> packed, Rearrangement way) {
  const Seconds deadline = rank_.now() + timeout_;
  std::vector<Op> ops;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (packed[i].length == Bytes{}) continue;
    const Plan& plan = plan_of(messages[i].length);
    const bool packs = way == Rearrangement::pack;
    const View& to = packs ? packed[i] : messages[i];
    const View& from = packs ? messages[i] : packed[i];
    const std::span<const Block> blocks = packs ? plan.pack : plan.unpack;
    if (packing_.method == PackMethod::copies) {
      if (Outcome outcome = copy_each(to, from, blocks, deadline); !outcome.ok()) return outcome;
    } else {
      const Engine engine = packing_.method == PackMethod::kernel ? Engine::kernel : Engine::dma;
      ops.push_back(rank_.copy_blocks(to, from, blocks, kStream, engine));
    }
  }
  return wait_all(ops, deadline);
}

Outcome PackingChannel::copy_each(const View& to, const View& from, std::span<const Block> blocks, Seconds deadline) {
  for (const Block& block : blocks) {
    const Op op =
        rank_.copy(to.slice(block.to, block.length), from.slice(block.from, block.length), kStream, Engine::dma);
    if (Outcome outcome = wait_all({&op, 1}, deadline); !outcome.ok()) return outcome;
  }
  return {};
}

/// One stream: the operations end in their order.
Outcome PackingChannel::wait_all(std::span<const Op> ops, Seconds deadline) {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Status status = wait(rank_, ops[i], deadline);
    if (status == Status::delivered) continue;
    for (const Op left : ops.subspan(i + 1)) rank_.abandon(left);
    return {status, "packing or unpacking: " + std::string(to_string(status))};
  }
  return {};
}

}  // namespace twinlink
