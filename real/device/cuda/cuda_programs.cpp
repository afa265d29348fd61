// CudaRuntime's programs of thread blocks.
#include <algorithm>
#include <atomic>
#include <vector>

#include "real/device/cuda/cuda_check.hpp"
#include "real/device/cuda/cuda_runtime.hpp"
#include "real/device/cuda/program_kernel.hpp"

namespace twinlink::real {
Event CudaRuntime::launch(DeviceProgram program, Stream stream) {
  const cudaStream_t queue = queue_of(stream);
  const auto index = static_cast<std::size_t>(stream.index);
  rest();
  const auto reached = [&](std::byte* memory) {
    return memory == nullptr ? nullptr : static_cast<char*>(static_cast<void*>(for_kernel(memory)));
  };
  ProgramArguments arguments{};
  arguments.program = program.program;
  arguments.input = program.program.bytes == 0 ? nullptr : reached(program.input);
  const bool is_exchange = program.program.operation == gpu::Operation::exchange;
  arguments.output = is_exchange && program.program.received == 0 ? nullptr : reached(program.output);
  std::vector<KernelLink> links;
  std::vector<KernelCount> counts;
  const auto channels = static_cast<std::size_t>(program.program.channels);
  for (const DeviceLink& link : program.links) {
    links.push_back({reached(link.mine), reached(link.theirs)});
    for (std::size_t channel = 0; channel < channels; ++channel) {
      const bool counted = channel < link.sent.size() && channel < link.received.size();
      counts.push_back(counted ? KernelCount{link.sent[channel], link.received[channel]} : KernelCount{});
    }
  }
  if (links.size() <= kArgumentLinks && counts.size() <= kArgumentCounts) {
    std::ranges::copy(links, arguments.links);
    std::ranges::copy(counts, arguments.counts);
  } else {
    const std::size_t size_of_links = links.size() * sizeof(KernelLink);
    std::vector<std::byte> both(size_of_links + counts.size() * sizeof(KernelCount));
    std::ranges::copy(std::as_bytes(std::span(links)), both.begin());
    std::ranges::copy(std::as_bytes(std::span(counts)), both.begin() + static_cast<std::ptrdiff_t>(size_of_links));
    const auto* const there = static_cast<const std::byte*>(upload_bytes(both, index));
    arguments.more_links = static_cast<const KernelLink*>(static_cast<const void*>(there));
    arguments.more_counts = static_cast<const KernelCount*>(static_cast<const void*>(there + size_of_links));
  }
  arguments.given_up = &given_up_.there()[index].word;
  arguments.number = ++programs_[index];
  check_cuda(launch_program_kernel(arguments, queue), "program of thread blocks");
  return mark(stream);
}

/// Blocks that wait look for it now and then.
void CudaRuntime::give_up_programs(Stream stream) {
  const auto index = static_cast<std::size_t>(stream.index);
  std::atomic_ref(given_up_.here()[index].word).store(programs_[index], std::memory_order_release);
}

}  // namespace twinlink::real
