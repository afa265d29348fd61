// The Block of protocols/gpu/primitives.hpp on a GPU, and its kernels: one for each operation and line format, of which
// the text is short and straight. Each format's are a source of their own.
#pragma once

#include "protocols/gpu/run.hpp"
#include "real/device/cuda/program_kernel.hpp"

namespace twinlink::real {
namespace {

using gpu::LineFormat;

/// Of a block at most: as NCCL has them for Simple and LL; of LL128 a few more would be better.
constexpr unsigned kProgramThreads = 512;
constexpr unsigned kWarp = 32;
/// After so many looks a thread asks whether the host has given the program up: that is a read over the bus.
constexpr unsigned kLooksPerQuestion = 1U << 14;
constexpr std::uint64_t kWord = gpu::kElementBytes;

struct Pair {
  std::uint64_t low;
  std::uint64_t high;
};

// Loads and stores that pass by the caches that others do not see.
__device__ std::uint64_t load_word(const char* at) {
  std::uint64_t value;
  asm volatile("ld.volatile.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
  return value;
}
__device__ void store_word(char* at, std::uint64_t value) {
  asm volatile("st.volatile.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}
__device__ Pair load_pair(const char* at) {
  Pair value;
  asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];" : "=l"(value.low), "=l"(value.high) : "l"(at) : "memory");
  return value;
}
__device__ void store_pair(char* at, Pair value) {
  asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(at), "l"(value.low), "l"(value.high) : "memory");
}

/// Bytes of a rank's own buffer as a word: eight of them where they lie so, or what there is.
__device__ std::uint64_t own_word(const char* at, std::uint64_t left) {
  if (left >= kWord && reinterpret_cast<std::uintptr_t>(at) % kWord == 0) {
    return *reinterpret_cast<const std::uint64_t*>(at);
  }
  std::uint64_t value = 0;
  for (std::uint64_t i = 0; i < left && i < kWord; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(at[i])) << (8 * i);
  }
  return value;
}
__device__ void set_own_word(char* at, std::uint64_t value, std::uint64_t left) {
  if (left >= kWord && reinterpret_cast<std::uintptr_t>(at) % kWord == 0) {
    *reinterpret_cast<std::uint64_t*>(at) = value;
    return;
  }
  for (std::uint64_t i = 0; i < left && i < kWord; ++i) at[i] = static_cast<char>(value >> (8 * i));
}

/// The Block of protocols/gpu/primitives.hpp: all of its threads do the same, and meet in barrier().
template <LineFormat Format>
class CudaBlock {
 public:
  __device__ explicit CudaBlock(const ProgramArguments& arguments)
      : a_(arguments),
        p_(arguments.program),
        role_(static_cast<std::int32_t>(blockIdx.x) < p_.channels ? 0 : 1),
        channel_(static_cast<std::int32_t>(blockIdx.x) - role_ * p_.channels),
        fifo_at_(gpu::number(channel_) * a_.fifo_room) {
    keep_counts();
  }

  __device__ std::int32_t channel() const { return channel_; }
  __device__ std::int32_t role() const { return role_; }
  __device__ gpu::ChannelPosition position() const {
    if (a_.has_position) return a_.position;
    if (a_.positions != nullptr) return a_.positions[channel()];
    gpu::ChannelPosition usual;
    usual.place = p_.rank;
    usual.before = gpu::kBefore;
    usual.behind = gpu::kBehind;
    return usual;
  }
  __device__ std::int32_t rank_at(std::int32_t place) const {
    if (a_.has_order) return a_.order[place];
    return a_.orders == nullptr ? place : a_.orders[channel() * p_.ranks + place];
  }
  __device__ std::uint64_t sent(std::int32_t link) const { return count(link).sent; }
  __device__ std::uint64_t received(std::int32_t link) const { return count(link).received; }

  __device__ bool await_credit(std::int32_t link, std::uint64_t step) {
    return step < p_.slots || await(credit_, link, mine(link) + gpu::kCreditAt, step + 1 - p_.slots);
  }
  __device__ bool await_slot(std::int32_t link, std::uint64_t step) {
    return await(tail_, link, mine(link) + gpu::kTailAt, step + 1);
  }
  __device__ bool barrier(bool good) { return __syncthreads_or(good ? 0 : 1) == 0; }
  /// Behind the barrier, so that what one thread sees of the others' stores comes first as well.
  __device__ void fence() {
    if (threadIdx.x == 0) asm volatile("fence.acq_rel.sys;" ::: "memory");
  }
  __device__ void signal(std::int32_t link, std::uint64_t tail) {
    if (threadIdx.x == 0) store_word(theirs(link) + gpu::kTailAt, tail);
  }
  __device__ void give_credit(std::int32_t link, std::uint64_t credit) {
    if (threadIdx.x == 0) store_word(theirs(link) + gpu::kCreditAt, credit);
  }
  __device__ void clear(std::int32_t link) {
    const std::uint64_t room = Format == LineFormat::simple ? gpu::kSlotsAt : a_.fifo_room;
    for (std::uint64_t at = threadIdx.x * sizeof(Pair); at < room; at += blockDim.x * sizeof(Pair)) {
      store_pair(mine(link) + at, Pair{0, 0});
    }
    __threadfence_system();
  }

  __device__ std::uint64_t listed(std::int32_t index) const { return a_.numbers[index]; }
  __device__ void tell(std::int32_t link, std::uint64_t step, std::uint64_t bytes) const {
    if (threadIdx.x == 0) store_word(slot(theirs(link), step) + gpu::bytes_room(p_), bytes);
  }
  __device__ std::uint64_t told(std::int32_t link, std::uint64_t step) const {
    return load_word(slot(mine(link), step) + gpu::bytes_room(p_));
  }

  /// By 16 B where both ends lie so, else by words or what there is of them.
  __device__ bool put(std::int32_t number, std::uint64_t at, std::uint64_t bytes) const {
    const Places p{nullptr, a_.input + at, nullptr, link(number).window + at};
    std::uint64_t done = 0;
    if (lies_well(p.in) && lies_well(p.into)) done = move_all_pairs<false, true, false, true>(p, bytes);
    for (std::uint64_t i = done + threadIdx.x * kWord; i < bytes; i += blockDim.x * kWord) {
      set_own_word(p.into + i, own_word(p.in + i, bytes - i), bytes - i);
    }
    return true;
  }

  __device__ bool move(const gpu::Move& move) const {
    constexpr unsigned kFrom = 1;
    constexpr unsigned kIn = 2;
    constexpr unsigned kOut = 4;
    constexpr unsigned kInto = 8;
    const unsigned shape = (move.from == gpu::kNoLink ? 0 : kFrom) | (move.in == gpu::Region::none ? 0 : kIn) |
                           (move.out == gpu::Region::none ? 0 : kOut) | (move.into == gpu::kNoLink ? 0 : kInto);
    switch (shape) {
      case kIn | kInto:
        return move_as<false, true, false, true>(move);
      case kFrom | kOut:
        return move_as<true, false, true, false>(move);
      case kFrom | kOut | kInto:
        return move_as<true, false, true, true>(move);
      case kFrom | kIn | kInto:
        return move_as<true, true, false, true>(move);
      case kFrom | kIn | kOut:
        return move_as<true, true, true, false>(move);
      case kFrom | kIn | kOut | kInto:
        return move_as<true, true, true, true>(move);
      case kIn | kOut:
        return move_as<false, true, true, false>(move);
      default:
        return false;
    }
  }

 private:
  __device__ KernelLink link(std::int32_t number) const {
    return a_.more_links != nullptr ? a_.more_links[number] : a_.links[number];
  }
  __device__ KernelCount count(std::int32_t number) const {
    const std::int32_t index = number * p_.channels + channel();
    KernelCount before = a_.more_counts != nullptr ? a_.more_counts[index] : a_.counts[index];
    if (a_.base != nullptr) {
      const KernelCount base = a_.base[index];
      before.sent += base.sent;
      before.received += base.received;
    }
    return before;
  }
  __device__ void keep_counts() const {
    if (a_.kept == nullptr) return;
    for (std::uint64_t link = threadIdx.x; link < a_.link_count; link += blockDim.x) {
      const std::uint64_t index = link * gpu::number(p_.channels) + gpu::number(channel_);
      a_.kept[index] = a_.base[index];
    }
  }
  __device__ char* mine(std::int32_t number) const { return link(number).mine + fifo_at_; }
  __device__ char* theirs(std::int32_t number) const { return link(number).theirs + fifo_at_; }
  __device__ char* slot(char* fifo, std::uint64_t step) const {
    return fifo + gpu::kSlotsAt + (a_.slot_mask != 0 ? step & a_.slot_mask : step % p_.slots) * a_.slot_room;
  }
  __device__ char* region(gpu::Region region) const { return region == gpu::Region::input ? a_.input : a_.output; }

  __device__ bool given_up() const { return *static_cast<const volatile std::uint64_t*>(a_.given_up) >= a_.number; }
  /// Every now and then. True: the host has given the program up.
  __device__ bool asks_in_vain(unsigned& looks) const { return ++looks % kLooksPerQuestion == 0 && given_up(); }

  /// The last that a thread has seen of a counter, which only grows.
  struct Seen {
    std::int32_t link = gpu::kNoLink;
    std::uint64_t value = 0;
  };

  /// Every thread looks for itself, where it does not know yet; a warp's looks are one. What it loads of a slot behind
  /// that passes by all caches that are not coherent, so that they are not emptied, which an acquire does.
  __device__ bool await(Seen& seen, std::int32_t link, const char* counter, std::uint64_t at_least) {
    if (seen.link == link && seen.value >= at_least) return true;
    unsigned looks = 0;
    std::uint64_t value = load_word(counter);
    while (value < at_least) {
      if (asks_in_vain(looks)) return false;
      value = load_word(counter);
    }
    seen = {link, value};
    return true;
  }

  // ---- line formats -------------------------------------------------------------------------------------------------

  /// Where a move's bytes lie.
  struct Places {
    const char* from;  ///< slot
    const char* in;
    char* out;
    char* into;  ///< slot
  };
  __device__ Places places_of(const gpu::Move& move) const {
    return {move.from == gpu::kNoLink ? nullptr : slot(mine(move.from), move.from_step) + move.from_at,
            move.in == gpu::Region::none ? nullptr : region(move.in) + move.in_at,
            move.out == gpu::Region::none ? nullptr : region(move.out) + move.out_at,
            move.into == gpu::kNoLink ? nullptr : slot(theirs(move.into), move.into_step) + move.into_at};
  }

  /// By which places it has: loops without a question are what is fast.
  template <bool From, bool In, bool Out, bool Into>
  __device__ bool move_as(const gpu::Move& move) const {
    if constexpr (Format == LineFormat::simple) return move_simple<From, In, Out, Into>(move);
    if constexpr (Format == LineFormat::ll) return move_ll<From, In, Out, Into>(move);
    if constexpr (Format == LineFormat::ll128) return move_ll128<From, In, Out, Into>(move);
    return false;
  }

  /// So many pairs, as many apart as the block has threads: first all loads, which take long.
  template <unsigned Count, bool From, bool In, bool Out, bool Into>
  __device__ static void move_pairs(const Places& p, std::uint64_t first) {
    const auto at = [&](unsigned k) { return (first + std::uint64_t{k} * blockDim.x) * sizeof(Pair); };
    Pair held[Count];
    ulonglong2 own[Count];
#pragma unroll
    for (unsigned k = 0; k < Count; ++k) {
      if (In) own[k] = *reinterpret_cast<const ulonglong2*>(p.in + at(k));
    }
#pragma unroll
    for (unsigned k = 0; k < Count; ++k) held[k] = From ? load_pair(p.from + at(k)) : Pair{0, 0};
#pragma unroll
    for (unsigned k = 0; k < Count; ++k) {
      if (In) held[k] = Pair{held[k].low + own[k].x, held[k].high + own[k].y};
      if (Out) *reinterpret_cast<ulonglong2*>(p.out + at(k)) = ulonglong2{held[k].low, held[k].high};
      if (Into) *reinterpret_cast<ulonglong2*>(p.into + at(k)) = ulonglong2{held[k].low, held[k].high};
    }
  }

  __device__ static bool lies_well(const char* at) { return reinterpret_cast<std::uintptr_t>(at) % sizeof(Pair) == 0; }
  /// How many bytes these were.
  template <bool From, bool In, bool Out, bool Into>
  __device__ static std::uint64_t move_all_pairs(const Places& p, std::uint64_t bytes) {
    constexpr unsigned kInFlight = 4;
    const std::uint64_t pairs = bytes / sizeof(Pair);
    std::uint64_t i = threadIdx.x;
    for (; i + std::uint64_t{kInFlight - 1} * blockDim.x < pairs; i += std::uint64_t{kInFlight} * blockDim.x) {
      move_pairs<kInFlight, From, In, Out, Into>(p, i);
    }
    for (; i < pairs; i += blockDim.x) move_pairs<1, From, In, Out, Into>(p, i);
    return pairs * sizeof(Pair);
  }

  template <bool From, bool In, bool Out, bool Into>
  __device__ bool move_simple(const gpu::Move& move) const {
    const Places p = places_of(move);
    std::uint64_t done = 0;
    if (lies_well(p.in) && lies_well(p.out)) done = move_all_pairs<From, In, Out, Into>(p, move.bytes);
    // Slots begin at multiples of 128 B, so their words are whole ones; the last one may have less.
    for (std::uint64_t at = done + threadIdx.x * kWord; at < move.bytes; at += blockDim.x * kWord) {
      const std::uint64_t left = move.bytes - at;
      std::uint64_t value = From ? load_word(p.from + at) : 0;
      if (In) value += own_word(p.in + at, left);
      if (Out) set_own_word(p.out + at, value, left);
      if (Into) store_word(p.into + at, value);
    }
    return true;
  }

  static constexpr unsigned kLinesInFlight = 4;
  static constexpr std::uint64_t kLow = 0xFFFFFFFFU;

  /// A thread a line: 8 B of data, each half with its flag in 8 B that are seen whole. Several lines are under way, for
  /// a load takes long, and each is asked for again until it is there.
  template <bool From, bool In, bool Out, bool Into>
  __device__ bool move_ll(const gpu::Move& move) const {
    const std::uint64_t lines = gpu::turns(move.bytes, gpu::kLlData);
    const std::uint64_t together = std::uint64_t{kLinesInFlight} * blockDim.x;
    std::uint64_t line = threadIdx.x;
    const bool well = words_lie_well<In, Out>(places_of(move));
    for (; well && line + together - blockDim.x + 1 < lines; line += together) {
      if (!move_ll_lines<kLinesInFlight, From, In, Out, Into>(move, line)) return false;
    }
    for (; line < lines; line += blockDim.x) {
      if (!move_ll_lines<1, From, In, Out, Into>(move, line)) return false;
    }
    return true;
  }

  /// Are a rank's own words whole ones, but for the last?
  template <bool In, bool Out>
  __device__ static bool words_lie_well(const Places& p) {
    return (!In || reinterpret_cast<std::uintptr_t>(p.in) % kWord == 0) &&
           (!Out || reinterpret_cast<std::uintptr_t>(p.out) % kWord == 0);
  }
  /// A question for each word would make its load wait for the one before: several have none.
  template <bool Asks>
  __device__ static std::uint64_t word_of(const char* at, std::uint64_t left) {
    return Asks ? own_word(at, left) : *reinterpret_cast<const std::uint64_t*>(at);
  }
  template <bool Asks>
  __device__ static void set_word_of(char* at, std::uint64_t value, std::uint64_t left) {
    if (Asks) {
      set_own_word(at, value, left);
    } else {
      *reinterpret_cast<std::uint64_t*>(at) = value;
    }
  }

  /// `Count` of them, as many apart as the block has threads.
  template <unsigned Count, bool From, bool In, bool Out, bool Into>
  __device__ bool move_ll_lines(const gpu::Move& move, std::uint64_t first) const {
    const Places p = places_of(move);
    const std::uint64_t expected = flag_of(move.from_step);
    const std::uint64_t flag = flag_of(move.into_step);
    const auto line_of = [&](unsigned k) { return first + std::uint64_t{k} * blockDim.x; };
    const auto left_at = [&](unsigned k) { return move.bytes - line_of(k) * gpu::kLlData; };
    std::uint64_t value[Count];
    if (In) {
#pragma unroll
      for (unsigned k = 0; k < Count; ++k)
        value[k] = word_of<(Count == 1)>(p.in + line_of(k) * gpu::kLlData, left_at(k));
    } else {
#pragma unroll
      for (unsigned k = 0; k < Count; ++k) value[k] = 0;
    }
    if (From) {
      Pair held[Count];
#pragma unroll
      for (unsigned k = 0; k < Count; ++k) held[k] = load_pair(p.from + line_of(k) * gpu::kLlLine);
#pragma unroll
      for (unsigned k = 0; k < Count; ++k) {
        unsigned looks = 0;
        while ((held[k].low & ~kLow) != expected || (held[k].high & ~kLow) != expected) {
          if (asks_in_vain(looks)) return false;
          held[k] = load_pair(p.from + line_of(k) * gpu::kLlLine);
        }
        value[k] += (held[k].low & kLow) | held[k].high << 32;
      }
    }
#pragma unroll
    for (unsigned k = 0; k < Count; ++k) {
      if (Into) {
        store_pair(p.into + line_of(k) * gpu::kLlLine, Pair{(value[k] & kLow) | flag, value[k] >> 32 | flag});
      }
      if (Out) set_word_of<(Count == 1)>(p.out + line_of(k) * gpu::kLlData, value[k], left_at(k));
    }
    return true;
  }
  __device__ static std::uint64_t flag_of(std::uint64_t step) { return (step + 1) << 32; }

  static constexpr unsigned kThreadsOfLine = gpu::kLl128Line / sizeof(Pair);
  static constexpr unsigned kAll = 0xFFFFFFFFU;

  /// Eight threads a line, 16 B each, in one instruction of their warp; the last one has the flag in its second word.
  template <bool From, bool In, bool Out, bool Into>
  __device__ bool move_ll128(const gpu::Move& move) const {
    const std::uint64_t lines = gpu::turns(move.bytes, gpu::kLl128Data);
    constexpr unsigned kLinesOfWarp = kWarp / kThreadsOfLine;
    const std::uint64_t apart = blockDim.x / kThreadsOfLine;
    const std::uint64_t together = kLinesInFlight * apart;
    // The same number of turns for all threads of a warp.
    std::uint64_t first = threadIdx.x / kWarp * kLinesOfWarp;
    const bool well = words_lie_well<In, Out>(places_of(move));
    for (; well && first + together - apart + kLinesOfWarp < lines; first += together) {
      if (!move_ll128_lines<kLinesInFlight, From, In, Out, Into>(move, lines, first)) return false;
    }
    for (; first < lines; first += apart) {
      if (!move_ll128_lines<1, From, In, Out, Into>(move, lines, first)) return false;
    }
    return true;
  }

  /// `Count` lines of a thread, all of which are asked for again until all are there for its warp.
  template <unsigned Count, bool From, bool In, bool Out, bool Into>
  __device__ bool move_ll128_lines(const gpu::Move& move, std::uint64_t lines, std::uint64_t first) const {
    const Places p = places_of(move);
    const std::uint64_t own = threadIdx.x % kThreadsOfLine;
    const bool has_flag = own + 1 == kThreadsOfLine;
    const std::uint64_t apart = blockDim.x / kThreadsOfLine;
    const std::uint64_t begin = first + threadIdx.x % kWarp / kThreadsOfLine;
    const auto line_of = [&](unsigned k) { return begin + k * apart; };
    const auto stored = [&](unsigned k) { return line_of(k) * gpu::kLl128Line + own * sizeof(Pair); };
    const auto at = [&](unsigned k) { return line_of(k) * gpu::kLl128Data + own * sizeof(Pair); };
    const auto left = [&](std::uint64_t place) { return place < move.bytes ? move.bytes - place : 0; };
    Pair value[Count];
#pragma unroll
    for (unsigned k = 0; k < Count; ++k) {
      value[k] = Pair{0, 0};
      if (!In || (Count == 1 && line_of(k) >= lines)) continue;
      value[k].low = word_of<(Count == 1)>(p.in + at(k), left(at(k)));
      if (!has_flag) value[k].high = word_of<(Count == 1)>(p.in + at(k) + kWord, left(at(k) + kWord));
    }
    if (From) {
      Pair come[Count];
      unsigned looks = 0;
      for (bool waits = true; waits;) {
        bool missing = false;
#pragma unroll
        for (unsigned k = 0; k < Count; ++k) {
          if ((Count > 1 || line_of(k) < lines)) come[k] = load_pair(p.from + stored(k));
        }
#pragma unroll
        for (unsigned k = 0; k < Count; ++k) {
          missing = missing || (has_flag && (Count > 1 || line_of(k) < lines) && come[k].high != move.from_step + 1);
        }
        waits = __any_sync(kAll, missing) != 0;
        const bool lost = waits && threadIdx.x % kWarp == 0 && asks_in_vain(looks);
        if (__any_sync(kAll, lost) != 0) return false;
      }
#pragma unroll
      for (unsigned k = 0; k < Count; ++k) {
        value[k].low += come[k].low;
        value[k].high += come[k].high;
      }
    }
#pragma unroll
    for (unsigned k = 0; k < Count; ++k) {
      if (Count == 1 && line_of(k) >= lines) continue;
      if (Out) {
        set_word_of<(Count == 1)>(p.out + at(k), value[k].low, left(at(k)));
        if (!has_flag) set_word_of<(Count == 1)>(p.out + at(k) + kWord, value[k].high, left(at(k) + kWord));
      }
      if (has_flag) value[k].high = move.into_step + 1;
      if (Into) store_pair(p.into + stored(k), value[k]);
    }
    return true;
  }

  const ProgramArguments& a_;
  const gpu::Program& p_;
  std::int32_t role_;
  std::int32_t channel_;
  std::uint64_t fifo_at_;
  Seen credit_;
  Seen tail_;
};

// Arguments stay where they are: a copy of them in each thread's memory takes longer than a small program.
template <gpu::Operation What, gpu::Algorithm How, LineFormat Format>
__global__ void __launch_bounds__(kProgramThreads) run_program(const __grid_constant__ ProgramArguments arguments) {
  __builtin_assume(arguments.program.operation == What);
  __builtin_assume(arguments.program.algorithm == How);
  __builtin_assume(arguments.program.format == Format);
  CudaBlock<Format> block(arguments);
  gpu::run_as<What, How>(block, arguments.program);
}

/// Threads that a step's bytes keep busy, for all take part in all that a block does.
inline unsigned threads_of(const gpu::Program& p) {
  const auto channels = gpu::number(p.channels);
  const std::uint64_t bytes = p.operation == gpu::Operation::clear ? gpu::fifo_room(p) : p.bytes + p.received;
  const std::uint64_t share = gpu::turns(bytes, channels);
  const std::uint64_t step = p.operation == gpu::Operation::put ? share : gpu::least(share, p.slot);
  const std::uint64_t each = p.format == LineFormat::simple ? sizeof(Pair) : kWord;
  const std::uint64_t warps = gpu::turns(gpu::turns(step, each), kWarp);
  return kWarp * static_cast<unsigned>(gpu::least(warps > 0 ? warps : 1, kProgramThreads / kWarp));
}

/// What is put is in no line, nor are parallel trees.
constexpr bool has_format(gpu::Operation what, gpu::Algorithm how, LineFormat format) {
  const bool puts = what == gpu::Operation::put || what == gpu::Operation::dispatch || what == gpu::Operation::combine;
  return format == LineFormat::simple || (!puts && how != gpu::Algorithm::pat);
}

template <LineFormat Format>
void launch_in(ProgramArguments arguments, cudaStream_t stream) {
  gpu::Program& p = arguments.program;
  arguments.slot_room = gpu::slot_room(p);
  arguments.fifo_room = gpu::fifo_room(p);
  arguments.slot_mask = (p.slots & (p.slots - 1)) == 0 ? p.slots - 1 : 0;
  gpu::as_known(p, [&](auto what, auto how) {
    if constexpr (has_format(what(), how(), Format)) {
      p.algorithm = how();
      run_program<what(), how(), Format>
          <<<static_cast<unsigned>(gpu::blocks_of(p)), threads_of(p), 0, stream>>>(arguments);
    }
  });
}

}  // namespace
}  // namespace twinlink::real
