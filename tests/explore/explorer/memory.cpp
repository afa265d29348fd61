// The memory of an explored job.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "tests/explore/explorer/machine.hpp"

namespace twinlink::explore {
namespace {

/// What a handle's token holds.
struct Token {
  std::uint64_t magic;
  std::int32_t owner;
  std::uint32_t index;
};
constexpr std::uint64_t kMagic = 0x6578706c6f726572;  // "explorer"; a forged handle does not have it

std::string name(Buffer buffer) {
  return "buffer " + std::to_string(buffer.id) + " (" + std::string(to_string(buffer.memory)) + ", " +
         std::to_string(buffer.size.count()) + " B)";
}

bool reads(const Operation& op) { return op.verb == Verb::copy || op.verb == Verb::put || op.verb == Verb::send; }
bool writes(const Operation& op) { return op.verb == Verb::copy || op.verb == Verb::put || op.verb == Verb::receive; }

}  // namespace

void Footprint::memory(AllocationId allocation, bool write) {
  marks_.push_back((static_cast<std::uint64_t>(allocation.owner) << 40U) | (std::uint64_t{allocation.index} << 1U) |
                   (write ? 1U : 0U));
}

void Footprint::signal(int from, int to, int tag) {
  marks_.push_back((std::uint64_t{1} << 63U) | (static_cast<std::uint64_t>(from) << 48U) |
                   (static_cast<std::uint64_t>(to) << 33U) | (static_cast<std::uint64_t>(tag) << 1U) | 1U);
}

bool Footprint::meets(const Footprint& other) const {
  for (const std::uint64_t mine : marks_) {
    for (const std::uint64_t theirs : other.marks_) {
      if (mine >> 1U == theirs >> 1U && ((mine | theirs) & 1U) != 0) return true;
    }
  }
  return false;
}

void Machine::touch(AllocationId allocation, bool write) {
  if (at(allocation).exposed) footprint.memory(allocation, write);
}

void Machine::set_content(Allocation& allocation, model::Content content) {
  allocation.digest = content.digest();
  allocation.content = std::make_shared<const model::Content>(std::move(content));
}

void Machine::write(const Part& part, Bytes at_byte, const model::Content& content) {
  Allocation& allocation = at(part.allocation);
  model::Content changed = *allocation.content;
  changed.write(part.offset + at_byte, content);
  set_content(allocation, std::move(changed));
}

Held& Machine::held(int rank, Buffer buffer) {
  auto& buffers = state(rank).buffers;
  if (buffer.id == 0 || buffer.id > buffers.size()) {
    throw UsageError("rank " + std::to_string(rank) + " has no " + name(buffer));
  }
  Held& held = buffers[buffer.id - 1];
  if (held.gone) {
    throw UsageError("rank " + std::to_string(rank) + " uses " + name(buffer) + " after it was " +
                     (held.mapped ? "closed" : "released"));
  }
  return held;
}

Part Machine::part(int rank, const View& view) {
  const Held& of = held(rank, view.buffer);
  const Bytes size = at(of.allocation).size;
  if (view.offset > size || view.length > size - view.offset) {
    throw UsageError("bytes " + std::to_string(view.offset.count()) + " + " + std::to_string(view.length.count()) +
                     " lie beyond the end of " + name(view.buffer));
  }
  return {of.allocation, view.offset, view.length, view.buffer.id};
}

std::string Machine::describe(const Part& part) const {
  return std::string(to_string(at(part.allocation).memory)) + "[" + std::to_string(part.offset.count()) + "+" +
         std::to_string(part.length.count()) + "] of rank " + std::to_string(part.allocation.owner);
}

Buffer Machine::hold(int rank, AllocationId allocation, bool mapped) {
  auto& buffers = state(rank).buffers;
  buffers.push_back({allocation, mapped});
  const auto id = static_cast<std::uint32_t>(buffers.size());
  return {id, at(allocation).memory, at(allocation).size};
}

bool Machine::in_use(int rank, Buffer buffer) const {
  return std::ranges::any_of(state(rank).operations, [&](const Operation& op) {
    if (op.ended || op.abandoned) return false;
    return (reads(op) && op.from.buffer == buffer.id) || (writes(op) && op.to.buffer == buffer.id);
  });
}

void Machine::claim(int rank, const Part& part, bool write, const Operation* op, std::string_view what) {
  touch(part.allocation, write);
  const auto overlaps = [&](const Part& other) {
    return other.allocation == part.allocation && other.length > Bytes{} && part.length > Bytes{} &&
           other.offset < part.offset + part.length && part.offset < other.offset + other.length;
  };
  for (std::size_t r = 0; r < world.ranks.size(); ++r) {
    for (const Operation& other : world.ranks[r].operations) {
      if (other.ended || other.abandoned || &other == op) continue;
      const bool same_stream =
          op != nullptr && static_cast<int>(r) == rank && other.stream >= 0 && other.stream == op->stream;
      if (same_stream) continue;
      if ((writes(other) && overlaps(other.to)) || (write && reads(other) && overlaps(other.from))) {
        violation("rank " + std::to_string(rank) + ": " + std::string(what) + " " + (write ? "writes " : "reads ") +
                  describe(part) + " while this is in flight: rank " + std::to_string(r) + ": " +
                  describe(static_cast<int>(r), other));
        return;
      }
    }
  }
}

Buffer Machine::allocate(int rank, Memory kind, Bytes size) {
  auto& own = state(rank).allocations;
  const AllocationId id{rank, static_cast<std::uint32_t>(own.size())};
  std::uint32_t address = 1;
  while (std::ranges::any_of(own, [&](const Allocation& a) { return !a.released && a.address == address; })) ++address;
  own.push_back({.buffer = static_cast<std::uint32_t>(state(rank).buffers.size() + 1),
                 .address = address,
                 .memory = kind,
                 .size = size});
  set_content(own.back(), model::Content(size));
  return hold(rank, id, false);
}

void Machine::release(int rank, Buffer buffer) {
  Held& of = held(rank, buffer);
  Allocation& allocation = at(of.allocation);
  touch(of.allocation, true);
  if (of.mapped) throw UsageError(name(buffer) + " is a peer's memory: close it, its owner releases it");
  if (in_use(rank, buffer)) throw UsageError(name(buffer) + " cannot be released: an operation uses it");
  if (allocation.opened > 0 && allocation.memory == Memory::device) {
    throw UsageError(name(buffer) + " cannot be released: a peer has it open");
  }
  of.gone = true;
  allocation.released = true;
  if (allocation.opened == 0) set_content(allocation, model::Content(allocation.size));
}

std::size_t Machine::live_buffers(int rank) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      state(rank).buffers, [&](const Held& of) { return !of.gone && at(of.allocation).size > Bytes{}; }));
}

IpcHandle Machine::export_memory(int rank, Buffer buffer) {
  const Held& of = held(rank, buffer);
  Allocation& allocation = at(of.allocation);
  if (of.mapped || (allocation.memory != Memory::device && allocation.memory != Memory::shared_pinned)) {
    throw UsageError(name(buffer) + " cannot be exported: only the rank's own device or shared pinned memory can");
  }
  allocation.exported = allocation.exposed = true;
  touch(of.allocation, true);
  IpcHandle handle{.size = allocation.size.count(), .address = allocation.address};
  if (allocation.memory == Memory::device) handle.device.fill(static_cast<std::byte>(rank + 1));
  const Token token{kMagic, of.allocation.owner, of.allocation.index};
  std::memcpy(handle.token.data(), &token, sizeof token);
  return handle;
}

Buffer Machine::open_memory(int rank, RankId owner, const IpcHandle& handle) {
  require_peer(rank, owner);
  const bool host = handle.device == std::array<std::byte, 16>{};
  const Answer& mapping = scenario_.path.device_mapping;
  if (host ? !scenario_.path.same_node : !mapping.yes) {
    throw UnavailableError("memory of rank " + std::to_string(owner.value) +
                           " cannot be opened: " + (host ? "it is host memory of another node" : mapping.reason));
  }
  Token token{};
  std::memcpy(&token, handle.token.data(), sizeof token);
  const std::string refusal = "the handle names no memory that rank " + std::to_string(owner.value) + " has exported";
  if (token.magic != kMagic || token.owner != owner.value) throw UsageError(refusal);
  if (token.index >= state(owner.value).allocations.size()) throw UsageError(refusal);
  const AllocationId id{token.owner, token.index};
  touch(id, true);
  Allocation& allocation = at(id);
  if (allocation.released) throw UsageError(refusal + ": it was released");
  if (!allocation.exported || allocation.size.count() != handle.size) throw UsageError(refusal);
  ++allocation.opened;
  return hold(rank, id, true);
}

void Machine::close_memory(int rank, Buffer buffer) {
  Held& of = held(rank, buffer);
  touch(of.allocation, true);
  if (!of.mapped) throw UsageError(name(buffer) + " was not opened from a peer: release it");
  if (in_use(rank, buffer)) throw UsageError(name(buffer) + " cannot be closed: an operation uses it");
  of.gone = true;
  --at(of.allocation).opened;
}

void Machine::register_memory(int rank, Buffer buffer, bool known) {
  const Held& of = held(rank, buffer);
  Allocation& allocation = at(of.allocation);
  if (of.mapped || allocation.memory != Memory::device) {
    throw UsageError(name(buffer) + " cannot be registered: only the rank's own device memory can");
  }
  if (!known && allocation.registrations == 0) throw UsageError(name(buffer) + " is not registered");
  if (!known && allocation.registrations == 1 && in_use(rank, buffer)) {
    throw UsageError(name(buffer) + " cannot be deregistered: an operation uses it");
  }
  touch(of.allocation, true);
  allocation.registrations += known ? 1 : -1;
}

void Machine::fill(int rank, View view, Payload pattern) {
  const Part bytes = part(rank, view);
  claim(rank, bytes, true, nullptr, "fill");
  model::Content content = *at(bytes.allocation).content;
  content.fill(bytes.offset, bytes.length, pattern);
  set_content(at(bytes.allocation), std::move(content));
}

Verdict Machine::check(int rank, View view, Payload pattern) {
  const Part bytes = part(rank, view);
  claim(rank, bytes, false, nullptr, "check");
  return at(bytes.allocation).content->check(bytes.offset, bytes.length, pattern);
}

}  // namespace twinlink::explore
