#include "real/device/host_program.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "protocols/fibers/fiber.hpp"
#include "protocols/gpu/run.hpp"

namespace twinlink::real {
namespace {

using gpu::LineFormat;

constexpr std::size_t kStack = std::size_t{64} << 10;
/// Bytes that pass through a buffer at once: whole lines of every format.
constexpr std::size_t kPiece = 32 * gpu::kLl128Data;
/// After so many of them others have their turn.
constexpr unsigned kPiecesInTurn = 64;

constexpr std::size_t kWord = sizeof(std::uint64_t);

std::atomic_ref<std::uint64_t> word(std::byte* at) {
  return std::atomic_ref<std::uint64_t>(*static_cast<std::uint64_t*>(static_cast<void*>(at)));
}

/// Words are seen whole, and those of one line in their order where the last one releases them: as GPUs see lines.
constexpr auto kLoose = std::memory_order_relaxed;

/// Programs are short, and as many stacks as the last one had are soon asked for again.
std::vector<std::vector<std::byte>>& free_stacks() {
  thread_local std::vector<std::vector<std::byte>> stacks;
  return stacks;
}
std::vector<std::byte> take_stack() {
  if (free_stacks().empty()) return std::vector<std::byte>(kStack);
  std::vector<std::byte> stack = std::move(free_stacks().back());
  free_stacks().pop_back();
  return stack;
}

}  // namespace

/// The Block of protocols/gpu/primitives.hpp.
class HostProgram::Block {
 public:
  Block(HostProgram& program, std::int32_t number)
      : host_(program),
        p_(program.program_.program),
        channel_(number % p_.channels),
        role_(number / p_.channels),
        stack_(take_stack()),
        fiber_(stack_) {
    fiber_.begin([](void* block) { static_cast<Block*>(block)->run(); }, this);
  }

  ~Block() { free_stacks().push_back(std::move(stack_)); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  [[nodiscard]] bool ended() const { return fiber_.ended(); }
  void go_on() { fiber_.go_on(); }

  [[nodiscard]] std::int32_t channel() const { return channel_; }
  [[nodiscard]] std::int32_t role() const { return role_; }
  [[nodiscard]] gpu::ChannelPosition position() const {
    const std::vector<gpu::ChannelPosition>& positions = host_.program_.positions;
    return positions.empty() ? gpu::ChannelPosition{.place = p_.rank, .before = gpu::kBefore, .behind = gpu::kBehind}
                             : positions[index()];
  }
  [[nodiscard]] std::int32_t rank_at(std::int32_t place) const {
    const std::vector<std::int32_t>& orders = host_.program_.orders;
    return orders.empty() ? place : orders[index() * gpu::number(p_.ranks) + gpu::number(place)];
  }
  [[nodiscard]] std::uint64_t sent(std::int32_t link) const { return of(link).sent[index()]; }
  [[nodiscard]] std::uint64_t received(std::int32_t link) const { return of(link).received[index()]; }

  bool await_credit(std::int32_t link, std::uint64_t step) {
    return await(mine(link) + gpu::kCreditAt, step + 1 > p_.slots ? step + 1 - p_.slots : 0);
  }
  bool await_slot(std::int32_t link, std::uint64_t step) { return await(mine(link) + gpu::kTailAt, step + 1); }
  bool barrier(bool good) { return good; }
  void fence() { std::atomic_thread_fence(std::memory_order_release); }
  void signal(std::int32_t link, std::uint64_t tail) { word(theirs(link) + gpu::kTailAt).store(tail, kLoose); }
  void give_credit(std::int32_t link, std::uint64_t credit) {
    // The slot has been read before the peer fills it again.
    word(theirs(link) + gpu::kCreditAt).store(credit, std::memory_order_release);
  }
  void clear(std::int32_t link) {
    const std::size_t room = p_.format == LineFormat::simple ? gpu::kSlotsAt : gpu::fifo_room(p_);
    std::memset(mine(link), 0, room);
  }

  bool put(std::int32_t link, std::uint64_t at, std::uint64_t bytes) {
    for (std::uint64_t done = 0; done < bytes; done += kPiece) {
      std::memcpy(of(link).window + at + done, host_.program_.input + at + done,
                  std::min<std::uint64_t>(kPiece, bytes - done));
      if (++pieces_ % kPiecesInTurn == 0 && !pause()) return false;
    }
    return !host_.given_up_;
  }
  [[nodiscard]] std::uint64_t listed(std::int32_t index) const {
    return host_.program_.numbers[static_cast<std::size_t>(index)];
  }
  void tell(std::int32_t link, std::uint64_t step, std::uint64_t bytes) {
    word(slot(theirs(link), step) + gpu::bytes_room(p_)).store(bytes, kLoose);
  }
  std::uint64_t told(std::int32_t link, std::uint64_t step) {
    return word(slot(mine(link), step) + gpu::bytes_room(p_)).load(kLoose);
  }

  bool move(const gpu::Move& move) {
    std::array<std::byte, kPiece>& value = piece_;
    for (std::size_t at = 0; at < move.bytes; at += kPiece) {
      const std::size_t length = std::min<std::size_t>(kPiece, move.bytes - at);
      if (move.from != gpu::kNoLink) {
        if (!take(slot(mine(move.from), move.from_step) + move.from_at, move.from_step, at, {value.data(), length}))
          return false;
        if (move.in != gpu::Region::none) add(value.data(), region(move.in) + move.in_at + at, length);
      } else {
        std::memcpy(value.data(), region(move.in) + move.in_at + at, length);
      }
      if (move.out != gpu::Region::none) std::memcpy(region(move.out) + move.out_at + at, value.data(), length);
      if (move.into != gpu::kNoLink) {
        put(slot(theirs(move.into), move.into_step) + move.into_at, move.into_step, at, {value.data(), length});
      }
      if (++pieces_ % kPiecesInTurn == 0 && !pause()) return false;
    }
    return !host_.given_up_;
  }

 private:
  void run() {
    if (!host_.given_up_) static_cast<void>(gpu::run(*this, p_));
  }

  [[nodiscard]] std::size_t index() const { return static_cast<std::size_t>(channel_); }
  [[nodiscard]] const DeviceLink& of(std::int32_t link) const {
    return host_.program_.links[static_cast<std::size_t>(link)];
  }
  [[nodiscard]] std::byte* mine(std::int32_t link) const { return of(link).mine + index() * gpu::fifo_room(p_); }
  [[nodiscard]] std::byte* theirs(std::int32_t link) const { return of(link).theirs + index() * gpu::fifo_room(p_); }
  [[nodiscard]] std::byte* slot(std::byte* fifo, std::uint64_t step) const {
    return fifo + gpu::kSlotsAt + step % p_.slots * gpu::slot_room(p_);
  }
  [[nodiscard]] std::byte* region(gpu::Region region) const {
    return region == gpu::Region::input ? host_.program_.input : host_.program_.output;
  }

  /// Others go on. False: given up.
  bool pause() {
    if (!host_.given_up_) fiber_.pause();
    return !host_.given_up_;
  }
  bool await(std::byte* counter, std::uint64_t least) {
    while (word(counter).load(std::memory_order_acquire) < least) {
      if (!pause()) return false;
    }
    return true;
  }

  static void add(std::byte* to, const std::byte* from, std::size_t length) {
    for (std::size_t at = 0; at < length; at += kWord) {
      std::uint64_t sum = 0;
      std::uint64_t term = 0;
      std::memcpy(&sum, to + at, kWord);
      std::memcpy(&term, from + at, kWord);
      sum += term;
      std::memcpy(to + at, &sum, kWord);
    }
  }

  // ---- line formats: bytes [at, at + the length) of a slot's data
  // -----------------------------------------------------

  void put(std::byte* slot, std::uint64_t step, std::size_t at, std::span<const std::byte> from) const {
    switch (p_.format) {
      case LineFormat::simple:
        std::memcpy(slot + at, from.data(), from.size());
        return;
      case LineFormat::ll:
        return put_ll(slot, step, at, from);
      case LineFormat::ll128:
        return put_ll128(slot, step, at, from);
    }
  }
  bool take(std::byte* slot, std::uint64_t step, std::size_t at, std::span<std::byte> to) {
    switch (p_.format) {
      case LineFormat::simple:
        std::memcpy(to.data(), slot + at, to.size());
        return true;
      case LineFormat::ll:
        return take_ll(slot, step, at, to);
      case LineFormat::ll128:
        return take_ll128(slot, step, at, to);
    }
    return false;
  }

  static std::uint64_t ll_flag(std::uint64_t step) { return ((step + 1) & 0xFFFFFFFFU) << 32U; }

  static void put_ll(std::byte* slot, std::uint64_t step, std::size_t at, std::span<const std::byte> from) {
    for (std::size_t i = 0; i < from.size(); i += gpu::kLlData) {
      std::array<std::uint32_t, 2> data{};
      std::memcpy(data.data(), from.data() + i, std::min<std::size_t>(gpu::kLlData, from.size() - i));
      std::byte* const line = slot + (at + i) / gpu::kLlData * gpu::kLlLine;
      for (std::size_t half = 0; half < 2; ++half) word(line + half * kWord).store(data[half] | ll_flag(step), kLoose);
    }
  }
  bool take_ll(std::byte* slot, std::uint64_t step, std::size_t at, std::span<std::byte> to) {
    for (std::size_t i = 0; i < to.size(); i += gpu::kLlData) {
      std::byte* const line = slot + (at + i) / gpu::kLlData * gpu::kLlLine;
      std::array<std::uint32_t, 2> data{};
      for (std::size_t half = 0; half < 2; ++half) {
        std::uint64_t held = word(line + half * kWord).load(kLoose);
        for (; held >> 32U << 32U != ll_flag(step); held = word(line + half * kWord).load(kLoose)) {
          if (!pause()) return false;
        }
        data[half] = static_cast<std::uint32_t>(held);
      }
      std::memcpy(to.data() + i, data.data(), std::min<std::size_t>(gpu::kLlData, to.size() - i));
    }
    return true;
  }

  static constexpr std::size_t kLl128Words = gpu::kLl128Data / kWord;

  static void put_ll128(std::byte* slot, std::uint64_t step, std::size_t at, std::span<const std::byte> from) {
    for (std::size_t i = 0; i < from.size(); i += gpu::kLl128Data) {
      std::array<std::uint64_t, kLl128Words> data{};
      std::memcpy(data.data(), from.data() + i, std::min<std::size_t>(gpu::kLl128Data, from.size() - i));
      std::byte* const line = slot + (at + i) / gpu::kLl128Data * gpu::kLl128Line;
      for (std::size_t w = 0; w < kLl128Words; ++w) word(line + w * kWord).store(data[w], kLoose);
      word(line + gpu::kLl128Data).store(step + 1, std::memory_order_release);
    }
  }
  bool take_ll128(std::byte* slot, std::uint64_t step, std::size_t at, std::span<std::byte> to) {
    for (std::size_t i = 0; i < to.size(); i += gpu::kLl128Data) {
      std::byte* const line = slot + (at + i) / gpu::kLl128Data * gpu::kLl128Line;
      while (word(line + gpu::kLl128Data).load(std::memory_order_acquire) != step + 1) {
        if (!pause()) return false;
      }
      std::array<std::uint64_t, kLl128Words> data{};
      for (std::size_t w = 0; w < kLl128Words; ++w) data[w] = word(line + w * kWord).load(kLoose);
      std::memcpy(to.data() + i, data.data(), std::min<std::size_t>(gpu::kLl128Data, to.size() - i));
    }
    return true;
  }

  HostProgram& host_;
  const gpu::Program& p_;
  std::int32_t channel_;
  std::int32_t role_;
  unsigned pieces_ = 0;
  std::array<std::byte, kPiece> piece_{};
  std::vector<std::byte> stack_;
  Fiber fiber_;
};

HostProgram::HostProgram(DeviceProgram program) : program_(std::move(program)) { begin(); }

HostProgram::~HostProgram() = default;

void HostProgram::begin() {
  blocks_.clear();
  for (std::int32_t number = 0; number < gpu::blocks_of(program_.program); ++number) {
    blocks_.push_back(std::make_unique<Block>(*this, number));
  }
}

bool HostProgram::go_on() {
  bool ended = true;
  for (const auto& block : blocks_) {
    if (!block->ended()) block->go_on();
    ended = ended && block->ended();
  }
  if (!ended || ++ran_ >= program_.times || given_up_) return ended;
  for (DeviceLink& link : program_.links) {
    for (std::size_t channel = 0; channel < link.sent.size(); ++channel) {
      link.sent[channel] += link.sent_each[channel];
      link.received[channel] += link.received_each[channel];
    }
  }
  begin();
  return false;
}

}  // namespace twinlink::real
