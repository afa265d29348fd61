// CudaRuntime's copies: by the copy engine, by kernels and by the one that stays.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "protocols/core/blocks.hpp"
#include "protocols/core/errors.hpp"
#include "real/device/cuda/copy_kernel.hpp"
#include "real/device/cuda/cuda_check.hpp"
#include "real/device/cuda/cuda_runtime.hpp"

namespace twinlink::real {
namespace {

/// In the id of an event that is an order to the resident kernel.
constexpr std::uint64_t kOrdered = std::uint64_t{1} << 63;
/// In the id of an event that is a kernel's raise: below it the stream, and the number of the raise in its stream.
constexpr std::uint64_t kRaised = std::uint64_t{1} << 62;
constexpr int kNumberBits = 48;

std::size_t at(Stream stream) { return static_cast<std::size_t>(stream.index); }

bool is(std::uint64_t kind, Event event) { return (event.id & kind) != 0; }
std::uint64_t number_of(Event event) { return event.id & ((std::uint64_t{1} << kNumberBits) - 1); }
Stream stream_of(Event event) { return {static_cast<int>((event.id & ~kRaised) >> kNumberBits)}; }

}  // namespace

std::size_t CudaRuntime::unused_event() {
  if (unused_events_.empty()) {
    cudaEvent_t event = nullptr;
    check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    events_.push_back({event, {}});
    return events_.size() - 1;
  }
  const std::size_t index = unused_events_.back();
  unused_events_.pop_back();
  return index;
}

Event CudaRuntime::mark(Stream stream) {
  const std::size_t index = unused_event();
  events_[index].stream = stream;
  driver_->record(events_[index].event, streams_[at(stream)]);
  ++marked_[at(stream)];
  return {index};
}

std::byte* CudaRuntime::for_kernel(const std::byte* memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::size_t offset = address % kDeviceBlock;
  if (const auto known = reached_.find(address - offset); known != reached_.end()) return known->second + offset;
  cudaPointerAttributes attributes{};
  check_cuda(cudaPointerGetAttributes(&attributes, memory), "cudaPointerGetAttributes");
  const bool foreign = attributes.type == cudaMemoryTypeDevice && attributes.device != device_;
  if (attributes.devicePointer == nullptr || foreign) {
    throw UsageError(foreign ? "a kernel cannot reach the memory of a device without peer access"
                             : "a kernel cannot reach pageable memory");
  }
  auto* const there = static_cast<std::byte*>(attributes.devicePointer);
  if (attributes.type == cudaMemoryTypeDevice) reached_.emplace(address - offset, there - offset);
  return there;
}

// ---- copies ---------------------------------------------------------------------------------------------------------

cudaStream_t CudaRuntime::queue_of(Stream stream) {
  if (resident_) resident_->wait(ordered_[at(stream)]);
  return streams_[at(stream)];
}

void CudaRuntime::rest() {
  if (resident_) resident_->stop();
}

Event CudaRuntime::order(std::byte* to, const std::byte* from, Bytes size, Flag flag, Stream stream) {
  if (marked_[at(stream)] > 0) check_cuda(cudaStreamSynchronize(streams_[at(stream)]), "cudaStreamSynchronize");
  if (!resident_) resident_.emplace();
  std::uint64_t* const word = flag.word == nullptr ? nullptr : on_device(flag.word);
  const bool empty = size == Bytes{};  // an address behind the end of its memory is nobody's
  ordered_[at(stream)] = resident_->order(empty ? nullptr : for_kernel(to), empty ? nullptr : for_kernel(from),
                                          size.count(), word, flag.value);
  return {kOrdered | ordered_[at(stream)]};
}

Event CudaRuntime::copy(std::byte* to, const std::byte* from, Bytes size, Stream stream, Engine engine) {
  if (engine == Engine::resident) return order(to, from, size, {}, stream);
  const cudaStream_t queue = queue_of(stream);
  if (engine == Engine::kernel) {
    rest();
    if (size > Bytes{}) {
      check_cuda(launch_copy_kernel(for_kernel(to), for_kernel(from), size.count(), queue), "copy kernel");
    }
  } else if (size > Bytes{}) {
    copy_by_engine(to, from, size.count(), queue);
  }
  return mark(stream);
}

/// Unified addressing says where both ends lie, also of peers' memory: between devices without peer access the driver
/// goes through the host.
void CudaRuntime::copy_by_engine(std::byte* to, const std::byte* from, std::size_t size, cudaStream_t queue) {
  const auto there = beside_.empty() ? std::nullopt : device_beside(to);
  const auto here = beside_.empty() ? std::nullopt : device_beside(from);
  if (!there && !here) return driver_->copy(to, from, size, queue);
  check_cuda(cudaMemcpyPeerAsync(to, there.value_or(device_), from, here.value_or(device_), size, queue),
             "cudaMemcpyPeerAsync");
}

std::optional<int> CudaRuntime::device_beside(const std::byte* memory) const {
  const auto behind = beside_.upper_bound(memory);
  if (behind == beside_.begin()) return std::nullopt;
  const auto& [start, what] = *std::prev(behind);
  return memory < start + what.size ? std::optional(what.device) : std::nullopt;
}

Event CudaRuntime::add(std::byte* to, const std::byte* from, Bytes size, Stream stream) {
  const cudaStream_t queue = queue_of(stream);
  rest();
  if (size > Bytes{}) check_cuda(launch_add_kernel(to, from, size.count(), queue), "add kernel");
  return mark(stream);
}

Event CudaRuntime::compute(Seconds duration, Stream stream) {
  const cudaStream_t queue = queue_of(stream);
  rest();
  check_cuda(launch_spinning_kernel(static_cast<std::uint64_t>(std::llround(duration.value() * 1e9)), queue),
             "spinning kernel");
  return mark(stream);
}

Event CudaRuntime::copy_blocks(std::byte* to, const std::byte* from, std::span<const Block> blocks, Stream stream,
                               Engine engine) {
  rest();  // the driver may copy rows by a kernel of its own
  const cudaStream_t queue = queue_of(stream);
  const auto rows = as_rows(blocks);
  if (engine == Engine::dma) {
    check_cuda(cudaMemcpy2DAsync(to + rows->to.count(), rows->to_pitch.count(), from + rows->from.count(),
                                 rows->from_pitch.count(), rows->width.count(), rows->rows, cudaMemcpyDefault, queue),
               "cudaMemcpy2DAsync");
  } else if (rows) {
    const Extent first{rows->to.count(), rows->from.count(), rows->width.count()};
    check_cuda(launch_rows_kernel(for_kernel(to), for_kernel(from), first, rows->to_pitch.count(),
                                  rows->from_pitch.count(), rows->rows, queue),
               "rows kernel");
  } else {
    const Extent* const extents = upload(blocks, at(stream));
    check_cuda(launch_extents_kernel(for_kernel(to), for_kernel(from), extents, blocks.size(), queue),
               "extents kernel");
  }
  return mark(stream);
}

/// The list of a copy, in device memory, behind what the stream does before.
const Extent* CudaRuntime::upload(std::span<const Block> blocks, std::size_t stream) {
  std::vector<Extent> extents;
  extents.reserve(blocks.size());
  for (const Block& b : blocks) extents.push_back({b.to.count(), b.from.count(), b.length.count()});
  return static_cast<const Extent*>(upload_bytes(std::as_bytes(std::span(extents)), extents_[stream], stream));
}

const void* CudaRuntime::upload_bytes(std::span<const std::byte> bytes, ListRoom& room, std::size_t stream) {
  if (std::ranges::equal(bytes, room.held)) return room.memory;
  const std::size_t size = bytes.size();
  room.held.clear();
  if (room.size < size) {
    check_cuda(cudaStreamSynchronize(streams_[stream]), "cudaStreamSynchronize");
    check_cuda(cudaFree(room.memory), "cudaFree");
    room = {};
    check_cuda(cudaMalloc(&room.memory, size), "cudaMalloc");
    room.size = size;
  }
  // From pageable memory: the list is read before this returns.
  check_cuda(cudaMemcpyAsync(room.memory, bytes.data(), size, cudaMemcpyHostToDevice, streams_[stream]),
             "cudaMemcpyAsync");
  room.held.assign(bytes.begin(), bytes.end());
  return room.memory;
}

std::uint64_t* CudaRuntime::on_device(std::uint64_t* word) const {
  auto* const byte = static_cast<std::byte*>(static_cast<void*>(word));
  const auto behind = pinned_.upper_bound(byte);
  if (behind != pinned_.begin()) {
    const auto& [start, there] = *std::prev(behind);
    if (byte + sizeof *word <= start + there.second) {
      return static_cast<std::uint64_t*>(static_cast<void*>(there.first + (byte - start)));
    }
  }
  throw EnvironmentError("copy_and_raise", "the flag lies in memory that is not page-locked");
}

Event CudaRuntime::copy_and_raise(std::byte* to, const std::byte* from, Bytes size, Flag flag, Stream stream,
                                  Engine engine) {
  if (engine == Engine::resident) return order(to, from, size, flag, stream);
  const cudaStream_t queue = queue_of(stream);
  std::uint64_t* const word = on_device(flag.word);
  if (engine == Engine::kernel) rest();
  if (engine == Engine::kernel) {
    static_assert(kStreams <= kRaisingQueues);
    const bool empty = size == Bytes{};
    const std::uint64_t number = raises_[at(stream)] + 1;
    check_cuda(launch_copy_and_raise(empty ? to : for_kernel(to), empty ? from : for_kernel(from), size.count(),
                                     {word, flag.value}, {&raised_.there()[at(stream)].word, number},
                                     static_cast<unsigned>(stream.index), queue),
               "copy kernel with a flag");
    raises_[at(stream)] = number;
    ++marked_[at(stream)];
    return {kRaised | std::uint64_t{at(stream)} << kNumberBits | number};
  }
  if (size > Bytes{}) driver_->copy(to, from, size.count(), queue);
  driver_->write_value(word, flag.value, queue);
  return mark(stream);
}

bool CudaRuntime::ended(Event event) {
  if (is(kOrdered, event)) return resident_->ended(event.id & ~kOrdered);
  const bool over = is(kRaised, event) ? has_raised(event) : driver_->ended(events_[event.id].event);
  if (over) forget(event);
  return over;
}

void CudaRuntime::forget(Event event) {
  if (is(kOrdered, event)) return;
  if (is(kRaised, event)) {
    --marked_[at(stream_of(event))];
    return;
  }
  --marked_[at(events_[event.id].stream)];
  unused_events_.push_back(event.id);
}

bool CudaRuntime::has_raised(Event raise) {
  const std::size_t stream = at(stream_of(raise));
  return counts_.reached(raised_.here()[stream].word, number_of(raise), streams_[stream], "copy kernel with a flag");
}

void CudaRuntime::synchronize(Stream stream) {
  check_cuda(cudaStreamSynchronize(queue_of(stream)), "cudaStreamSynchronize");
}

}  // namespace twinlink::real
