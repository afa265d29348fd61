#include "tests/explore/explorer/arena.hpp"

#include <sys/mman.h>

#include <array>
#include <bitset>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <new>

namespace twinlink::explore {

/// Before every block, live or free. A gap between live blocks is exactly one free block.
struct Arena::Header {
  std::uint64_t size;  ///< of the block behind, bytes, a multiple of kGrain
  std::uint64_t live;
};

namespace {

constexpr std::size_t kGrain = 16;
constexpr std::size_t kHeader = 16;

/// The address range that all arenas are cut from; pages that nobody touches cost nothing.
struct Reserve {
  std::byte* begin = nullptr;
  std::array<Arena*, Arena::kArenas> owners{};

  Arena* owner(const void* address) const {
    const auto* byte = static_cast<const std::byte*>(address);
    if (begin == nullptr || byte < begin || byte >= begin + Arena::kArenas * Arena::kCapacity) return nullptr;
    return owners[static_cast<std::size_t>(byte - begin) / Arena::kCapacity];
  }
};

constinit Reserve reserve;
constinit Arena* active = nullptr;

}  // namespace

Arena::Arena() : begin_(nullptr) {
  if (reserve.begin == nullptr) {
    void* range =
        mmap(nullptr, kArenas * kCapacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) throw std::bad_alloc();
    reserve.begin = static_cast<std::byte*>(range);
  }
  for (std::size_t slot = 0; slot < kArenas; ++slot) {
    if (reserve.owners[slot] != nullptr) continue;
    reserve.owners[slot] = this;
    begin_ = reserve.begin + slot * kCapacity;
    return;
  }
  throw std::bad_alloc();
}

Arena::~Arena() {
  clear();
  for (Arena*& owner : reserve.owners) {
    if (owner == this) owner = nullptr;
  }
}

Arena::Header* Arena::at(std::size_t offset) const { return std::launder(reinterpret_cast<Header*>(begin_ + offset)); }

void* Arena::allocate(std::size_t size) {
  size = size == 0 ? kGrain : (size + kGrain - 1) / kGrain * kGrain;
  std::size_t offset = 0;
  while (offset < top_) {
    Header* header = at(offset);
    if (header->live == 0 && header->size >= size) {
      if (header->size >= size + kHeader) {
        new (begin_ + offset + kHeader + size) Header{header->size - size - kHeader, 0};
        header->size = size;
      }
      header->live = 1;
      return begin_ + offset + kHeader;
    }
    offset += kHeader + header->size;
  }
  if (size > kCapacity || top_ + kHeader + size > kCapacity) throw std::bad_alloc();
  new (begin_ + top_) Header{size, 1};
  top_ += kHeader + size;
  return begin_ + offset + kHeader;
}

void Arena::free(void* block) noexcept {
  const auto target = static_cast<std::size_t>(static_cast<std::byte*>(block) - begin_) - kHeader;
  std::size_t before = target;  // the free block before it, or itself
  for (std::size_t offset = 0; offset < target;) {
    const Header* header = at(offset);
    const std::size_t next = offset + kHeader + header->size;
    if (next == target && header->live == 0) before = offset;
    offset = next;
  }
  Header* header = at(target);
  assert(header->live == 1);
  std::size_t end = target + kHeader + header->size;
  if (end < top_ && at(end)->live == 0) end += kHeader + at(end)->size;
  const bool last = end >= top_;
  std::memset(begin_ + before, 0, end - before);
  if (last) {
    top_ = before;
  } else {
    at(before)->size = end - before - kHeader;
  }
}

void Arena::clear() {
  std::memset(begin_, 0, top_);
  top_ = 0;
}

void Arena::restore(std::span<const std::byte> saved) {
  if (!saved.empty()) std::memcpy(begin_, saved.data(), saved.size());
  if (top_ > saved.size()) std::memset(begin_ + saved.size(), 0, top_ - saved.size());
  top_ = saved.size();
}

ActiveArena::ActiveArena(Arena* arena) : before_(active) { active = arena; }
ActiveArena::~ActiveArena() { active = before_; }

namespace {

void* take(std::size_t size) {
  if (active != nullptr) return active->allocate(size);
  if (void* block = std::malloc(size == 0 ? 1 : size)) return block;
  throw std::bad_alloc();
}

void give_back(void* block) noexcept {
  if (Arena* owner = reserve.owner(block)) {
    owner->free(block);
  } else {
    std::free(block);
  }
}

}  // namespace
}  // namespace twinlink::explore

// The array and the nothrow forms call these.
void* operator new(std::size_t size) { return twinlink::explore::take(size); }
void operator delete(void* block) noexcept { twinlink::explore::give_back(block); }
void operator delete(void* block, std::size_t) noexcept { twinlink::explore::give_back(block); }
