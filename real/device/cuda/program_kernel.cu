#include "protocols/gpu/run.hpp"
#include "real/device/cuda/program_kernel.hpp"

namespace twinlink::real {
namespace {

using gpu::LineFormat;

/// As NCCL has them for Simple and LL; of LL128 a few more would be better.
constexpr unsigned kProgramThreads = 512;
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
class CudaBlock {
 public:
  __device__ explicit CudaBlock(const ProgramArguments& arguments) : a_(arguments), p_(arguments.program) {}

  __device__ std::int32_t channel() const { return static_cast<std::int32_t>(blockIdx.x) % p_.channels; }
  __device__ std::int32_t role() const { return static_cast<std::int32_t>(blockIdx.x) / p_.channels; }
  __device__ gpu::Stand stand() const {
    if (a_.stands != nullptr) return a_.stands[channel()];
    gpu::Stand usual;
    usual.place = p_.rank;
    usual.before = gpu::kBefore;
    usual.behind = gpu::kBehind;
    return usual;
  }
  __device__ std::int32_t rank_at(std::int32_t place) const {
    return a_.orders == nullptr ? place : a_.orders[channel() * p_.ranks + place];
  }
  __device__ std::uint64_t sent(std::int32_t link) const { return count(link).sent; }
  __device__ std::uint64_t received(std::int32_t link) const { return count(link).received; }

  __device__ bool await_credit(std::int32_t link, std::uint64_t step) {
    return step < p_.slots || await(mine(link) + gpu::kCreditAt, step + 1 - p_.slots);
  }
  __device__ bool await_slot(std::int32_t link, std::uint64_t step) {
    return await(mine(link) + gpu::kTailAt, step + 1);
  }
  __device__ bool barrier(bool good) { return __syncthreads_or(good ? 0 : 1) == 0; }
  /// Behind the barrier, so that what one thread sees of the others' stores comes first as well.
  __device__ void fence() {
    if (threadIdx.x == 0) __threadfence_system();
  }
  __device__ void signal(std::int32_t link, std::uint64_t tail) {
    if (threadIdx.x == 0) store_word(theirs(link) + gpu::kTailAt, tail);
  }
  __device__ void give_credit(std::int32_t link, std::uint64_t credit) {
    if (threadIdx.x == 0) store_word(theirs(link) + gpu::kCreditAt, credit);
  }
  __device__ void clear(std::int32_t link) {
    const std::uint64_t room = p_.format == LineFormat::simple ? gpu::kSlotsAt : gpu::fifo_room(p_);
    for (std::uint64_t at = threadIdx.x * sizeof(Pair); at < room; at += blockDim.x * sizeof(Pair)) {
      store_pair(mine(link) + at, Pair{0, 0});
    }
    __threadfence_system();
  }

  __device__ std::uint64_t listed(std::int32_t index) const { return a_.numbers[index]; }
  __device__ void tell(std::int32_t link, std::uint64_t step, std::uint64_t bytes) {
    if (threadIdx.x == 0) store_word(slot(theirs(link), step) + gpu::bytes_room(p_), bytes);
  }
  __device__ std::uint64_t told(std::int32_t link, std::uint64_t step) {
    return load_word(slot(mine(link), step) + gpu::bytes_room(p_));
  }

  /// By 16 B where both ends lie so, else by words or what there is of them.
  __device__ bool put(std::int32_t number, std::uint64_t at, std::uint64_t bytes) {
    constexpr unsigned kInFlight = 4;
    const char* const from = a_.input + at;
    char* const to = link(number).window + at;
    std::uint64_t done = 0;
    if (reinterpret_cast<std::uintptr_t>(from) % sizeof(Pair) == 0 &&
        reinterpret_cast<std::uintptr_t>(to) % sizeof(Pair) == 0) {
      const std::uint64_t pairs = bytes / sizeof(Pair);
      const ulonglong2* const source = reinterpret_cast<const ulonglong2*>(from);
      ulonglong2* const target = reinterpret_cast<ulonglong2*>(to);
      std::uint64_t i = threadIdx.x;
      for (; i + std::uint64_t{kInFlight - 1} * blockDim.x < pairs; i += std::uint64_t{kInFlight} * blockDim.x) {
        ulonglong2 held[kInFlight];
#pragma unroll
        for (unsigned k = 0; k < kInFlight; ++k) held[k] = source[i + std::uint64_t{k} * blockDim.x];
#pragma unroll
        for (unsigned k = 0; k < kInFlight; ++k) target[i + std::uint64_t{k} * blockDim.x] = held[k];
      }
      for (; i < pairs; i += blockDim.x) target[i] = source[i];
      done = pairs * sizeof(Pair);
    }
    for (std::uint64_t i = done + threadIdx.x * kWord; i < bytes; i += blockDim.x * kWord) {
      set_own_word(to + i, own_word(from + i, bytes - i), bytes - i);
    }
    return true;
  }

  __device__ bool move(const gpu::Move& move) {
    switch (p_.format) {
      case LineFormat::simple:
        return move_simple(move);
      case LineFormat::ll:
        return move_ll(move);
      case LineFormat::ll128:
        return move_ll128(move);
    }
    return false;
  }

 private:
  __device__ KernelLink link(std::int32_t number) const {
    return a_.more_links != nullptr ? a_.more_links[number] : a_.links[number];
  }
  __device__ KernelCount count(std::int32_t number) const {
    const std::int32_t index = number * p_.channels + channel();
    KernelCount before = a_.more_counts != nullptr ? a_.more_counts[index] : a_.counts[index];
    if (a_.each != nullptr) {
      before.sent += a_.runs_before * a_.each[index].sent;
      before.received += a_.runs_before * a_.each[index].received;
    }
    return before;
  }
  __device__ std::uint64_t fifo_at() const { return gpu::number(channel()) * gpu::fifo_room(p_); }
  __device__ char* mine(std::int32_t number) const { return link(number).mine + fifo_at(); }
  __device__ char* theirs(std::int32_t number) const { return link(number).theirs + fifo_at(); }
  __device__ char* slot(char* fifo, std::uint64_t step) const {
    return fifo + gpu::kSlotsAt + step % p_.slots * gpu::slot_room(p_);
  }
  __device__ char* region(gpu::Region region) const { return region == gpu::Region::input ? a_.input : a_.output; }

  __device__ bool given_up() const { return *static_cast<const volatile std::uint64_t*>(a_.given_up) >= a_.number; }
  /// Every now and then. True: the host has given the program up.
  __device__ bool asks_in_vain(unsigned& looks) const { return ++looks % kLooksPerQuestion == 0 && given_up(); }

  /// One thread looks, and all go on behind it.
  __device__ bool await(const char* counter, std::uint64_t at_least) {
    bool good = true;
    if (threadIdx.x == 0) {
      unsigned looks = 0;
      while (good && load_word(counter) < at_least) good = !asks_in_vain(looks);
      __threadfence_system();
    }
    return barrier(good);
  }

  // ---- line formats
  // -----------------------------------------------------------------------------------------------------

  /// Where a move's bytes lie; null: nowhere.
  struct Places {
    const char* from;  ///< slot
    const char* in;
    char* out;
    char* into;  ///< slot
  };
  __device__ Places places_of(const gpu::Move& move) const {
    return {move.from == gpu::kNoLink ? nullptr : slot(mine(move.from), move.from_step),
            move.in == gpu::Region::none ? nullptr : region(move.in) + move.in_at,
            move.out == gpu::Region::none ? nullptr : region(move.out) + move.out_at,
            move.into == gpu::kNoLink ? nullptr : slot(theirs(move.into), move.into_step)};
  }

  __device__ static Pair simple_pair(const Places& p, std::uint64_t at) {
    Pair value{0, 0};
    if (p.from != nullptr) value = load_pair(p.from + at);
    if (p.in != nullptr) {
      const ulonglong2 own = *reinterpret_cast<const ulonglong2*>(p.in + at);
      value.low += own.x;
      value.high += own.y;
    }
    return value;
  }
  __device__ static void set_simple_pair(const Places& p, std::uint64_t at, Pair value) {
    if (p.out != nullptr) *reinterpret_cast<ulonglong2*>(p.out + at) = ulonglong2{value.low, value.high};
    if (p.into != nullptr) store_pair(p.into + at, value);
  }

  __device__ bool move_simple(const gpu::Move& move) const {
    constexpr unsigned kInFlight = 4;
    const Places p = places_of(move);
    const auto lies_well = [](const char* at) { return reinterpret_cast<std::uintptr_t>(at) % sizeof(Pair) == 0; };
    std::uint64_t done = 0;
    if (lies_well(p.in) && lies_well(p.out)) {
      const std::uint64_t pairs = move.bytes / sizeof(Pair);
      std::uint64_t i = threadIdx.x;
      for (; i + std::uint64_t{kInFlight - 1} * blockDim.x < pairs; i += std::uint64_t{kInFlight} * blockDim.x) {
        Pair held[kInFlight];
#pragma unroll
        for (unsigned k = 0; k < kInFlight; ++k)
          held[k] = simple_pair(p, (i + std::uint64_t{k} * blockDim.x) * sizeof(Pair));
#pragma unroll
        for (unsigned k = 0; k < kInFlight; ++k)
          set_simple_pair(p, (i + std::uint64_t{k} * blockDim.x) * sizeof(Pair), held[k]);
      }
      for (; i < pairs; i += blockDim.x) set_simple_pair(p, i * sizeof(Pair), simple_pair(p, i * sizeof(Pair)));
      done = pairs * sizeof(Pair);
    }
    // Slots begin at multiples of 128 B, so their words are whole ones; the last one may have less.
    for (std::uint64_t at = done + threadIdx.x * kWord; at < move.bytes; at += blockDim.x * kWord) {
      const std::uint64_t left = move.bytes - at;
      std::uint64_t value = p.from == nullptr ? 0 : load_word(p.from + at);
      if (p.in != nullptr) value += own_word(p.in + at, left);
      if (p.out != nullptr) set_own_word(p.out + at, value, left);
      if (p.into != nullptr) store_word(p.into + at, value);
    }
    return true;
  }

  static constexpr unsigned kLinesInFlight = 4;
  static constexpr std::uint64_t kLow = 0xFFFFFFFFU;

  /// A thread a line: 8 B of data, each half with its flag in 8 B that are seen whole. Several lines are under way, for
  /// a load takes long, and each is asked for again until it is there.
  __device__ bool move_ll(const gpu::Move& move) const {
    const std::uint64_t lines = gpu::turns(move.bytes, gpu::kLlData);
    const std::uint64_t together = std::uint64_t{kLinesInFlight} * blockDim.x;
    std::uint64_t line = threadIdx.x;
    for (; line + together - blockDim.x < lines; line += together) {
      if (!move_ll_lines<kLinesInFlight>(move, line)) return false;
    }
    for (; line < lines; line += blockDim.x) {
      if (!move_ll_lines<1>(move, line)) return false;
    }
    return true;
  }

  /// `Count` of them, as many apart as the block has threads.
  template <unsigned Count>
  __device__ bool move_ll_lines(const gpu::Move& move, std::uint64_t first) const {
    const Places p = places_of(move);
    const std::uint64_t expected = flag_of(move.from_step);
    const std::uint64_t flag = flag_of(move.into_step);
    const auto line_of = [&](unsigned k) { return first + std::uint64_t{k} * blockDim.x; };
    const auto left_at = [&](unsigned k) { return move.bytes - line_of(k) * gpu::kLlData; };
    std::uint64_t value[Count];
    if (p.in != nullptr) {
#pragma unroll
      for (unsigned k = 0; k < Count; ++k) value[k] = own_word(p.in + line_of(k) * gpu::kLlData, left_at(k));
    } else {
#pragma unroll
      for (unsigned k = 0; k < Count; ++k) value[k] = 0;
    }
    if (p.from != nullptr) {
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
      if (p.into != nullptr) {
        store_pair(p.into + line_of(k) * gpu::kLlLine, Pair{(value[k] & kLow) | flag, value[k] >> 32 | flag});
      }
      if (p.out != nullptr) set_own_word(p.out + line_of(k) * gpu::kLlData, value[k], left_at(k));
    }
    return true;
  }
  __device__ static std::uint64_t flag_of(std::uint64_t step) { return (step + 1) << 32; }

  /// Eight threads a line, 16 B each, in one instruction of their warp; the last one has the flag in its second word.
  __device__ bool move_ll128(const gpu::Move& move) const {
    constexpr std::uint64_t kThreadsOfLine = gpu::kLl128Line / sizeof(Pair);
    constexpr unsigned kWarp = 32;
    const Places p = places_of(move);
    const std::uint64_t lines = gpu::turns(move.bytes, gpu::kLl128Data);
    const std::uint64_t own = threadIdx.x % kThreadsOfLine;
    const bool has_flag = own + 1 == kThreadsOfLine;
    // The same number of turns for all threads of a warp.
    const std::uint64_t of_warp = threadIdx.x / kWarp * (kWarp / kThreadsOfLine);
    for (std::uint64_t first = of_warp; first < lines; first += blockDim.x / kThreadsOfLine) {
      const std::uint64_t line = first + threadIdx.x % kWarp / kThreadsOfLine;
      const bool there = line < lines;
      const std::uint64_t stored = line * gpu::kLl128Line + own * sizeof(Pair);
      const std::uint64_t at = line * gpu::kLl128Data + own * sizeof(Pair);
      Pair value{0, 0};
      if (p.from != nullptr) {
        unsigned looks = 0;
        bool waits = true;
        while (waits) {
          bool missing = false;
          if (there) {
            value = load_pair(p.from + stored);
            missing = has_flag && value.high != move.from_step + 1;
          }
          waits = __any_sync(0xFFFFFFFFU, missing) != 0;
          const bool lost = waits && threadIdx.x % kWarp == 0 && asks_in_vain(looks);
          if (__any_sync(0xFFFFFFFFU, lost) != 0) return false;
        }
      }
      if (!there) continue;
      const auto left = [&](std::uint64_t place) { return place < move.bytes ? move.bytes - place : 0; };
      if (p.in != nullptr) {
        value.low += own_word(p.in + at, left(at));
        if (!has_flag) value.high += own_word(p.in + at + kWord, left(at + kWord));
      }
      if (p.out != nullptr) {
        set_own_word(p.out + at, value.low, left(at));
        if (!has_flag) set_own_word(p.out + at + kWord, value.high, left(at + kWord));
      }
      if (has_flag) value.high = move.into_step + 1;
      if (p.into != nullptr) store_pair(p.into + stored, value);
    }
    return true;
  }

  const ProgramArguments& a_;
  const gpu::Program& p_;
};

// Arguments stay where they are: a copy of them in each thread's memory takes longer than a small program.
__global__ void __launch_bounds__(kProgramThreads) run_program(const __grid_constant__ ProgramArguments arguments) {
  CudaBlock block(arguments);
  gpu::run_in_rings(block, arguments.program);
}
// A kernel of its own: what trees need of registers rings shall not lack.
__global__ void __launch_bounds__(kProgramThreads) run_tree(const __grid_constant__ ProgramArguments arguments) {
  CudaBlock block(arguments);
  gpu::tree_all_reduce(block, arguments.program);
}
// And what of puts.
__global__ void __launch_bounds__(kProgramThreads) run_put(const __grid_constant__ ProgramArguments arguments) {
  CudaBlock block(arguments);
  gpu::run_puts(block, arguments.program);
}

}  // namespace

cudaError_t launch_program_kernel(const ProgramArguments& arguments, cudaStream_t stream) {
  cudaGetLastError();  // a query that said "not ready" left that behind
  const auto blocks = static_cast<unsigned>(gpu::blocks_of(arguments.program));
  if (gpu::is_tree(arguments.program)) {
    run_tree<<<blocks, kProgramThreads, 0, stream>>>(arguments);
  } else if (gpu::is_put(arguments.program)) {
    run_put<<<blocks, kProgramThreads, 0, stream>>>(arguments);
  } else {
    run_program<<<blocks, kProgramThreads, 0, stream>>>(arguments);
  }
  return cudaGetLastError();
}

}  // namespace twinlink::real
