// CudaRuntime's programs of thread blocks.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>
#include <vector>

#include "real/device/cuda/cuda_check.hpp"
#include "real/device/cuda/cuda_runtime.hpp"
#include "real/device/cuda/program_kernel.hpp"

namespace twinlink::real {
namespace {

/// What kernels find in device memory, one behind the other.
class Lists {
 public:
  template <class T>
  std::size_t add(const std::vector<T>& values) {
    constexpr std::size_t kAlign = 16;
    const std::size_t at = (bytes_.size() + kAlign - 1) / kAlign * kAlign;
    bytes_.resize(at + values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(bytes_.data() + at, values.data(), values.size() * sizeof(T));
    return at;
  }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

template <class T>
const T* there(const void* lists, std::size_t at) {
  return static_cast<const T*>(static_cast<const void*>(static_cast<const std::byte*>(lists) + at));
}

KernelCount count_at(const std::vector<std::uint64_t>& sent, const std::vector<std::uint64_t>& received,
                     std::size_t channel) {
  const bool counted = channel < sent.size() && channel < received.size();
  return counted ? KernelCount{sent[channel], received[channel]} : KernelCount{};
}

/// Has every channel what the first one has, `each` values?
template <class T>
bool are_alike(const std::vector<T>& values, std::size_t each) {
  for (std::size_t at = each; at < values.size(); at += each) {
    if (std::memcmp(&values[at], values.data(), each * sizeof(T)) != 0) return false;
  }
  return !values.empty() && values.size() % each == 0;
}

}  // namespace

/// The arguments but for what lies in lists.
ProgramArguments CudaRuntime::arguments_of(const DeviceProgram& program) {
  const auto reached = [&](std::byte* memory) {
    return memory == nullptr ? nullptr : static_cast<char*>(static_cast<void*>(for_kernel(memory)));
  };
  ProgramArguments arguments{};
  arguments.program = program.program;
  arguments.input = program.program.bytes == 0 ? nullptr : reached(program.input);
  arguments.output =
      gpu::is_of_two(program.program) && program.program.received == 0 ? nullptr : reached(program.output);
  arguments.link_count = program.links.size();
  arguments.has_position = are_alike(program.positions, 1);
  if (arguments.has_position) arguments.position = program.positions.front();
  const auto ranks = static_cast<std::size_t>(program.program.ranks);
  arguments.has_order = ranks <= kArgumentOrder && are_alike(program.orders, ranks);
  if (arguments.has_order) std::copy_n(program.orders.begin(), ranks, arguments.order);
  return arguments;
}

std::vector<KernelLink> CudaRuntime::links_of(const DeviceProgram& program) {
  const auto reached = [&](std::byte* memory) {
    return memory == nullptr ? nullptr : static_cast<char*>(static_cast<void*>(for_kernel(memory)));
  };
  std::vector<KernelLink> links;
  for (const DeviceLink& link : program.links) {
    links.push_back({reached(link.mine), reached(link.theirs), reached(link.window)});
  }
  return links;
}

namespace {

/// What `count` says of each link and channel, in the order of a kernel's arguments.
template <class Count>
std::vector<KernelCount> of_each_link(const DeviceProgram& program, Count count) {
  std::vector<KernelCount> counts;
  for (const DeviceLink& link : program.links) {
    for (std::size_t channel = 0; channel < static_cast<std::size_t>(program.program.channels); ++channel) {
      counts.push_back(count(link, channel));
    }
  }
  return counts;
}

std::vector<KernelCount> counts_of(const DeviceProgram& program) {
  return of_each_link(
      program, [](const DeviceLink& link, std::size_t channel) { return count_at(link.sent, link.received, channel); });
}

/// What the `runs` before one have passed.
std::vector<KernelCount> passed_by(const DeviceProgram& program, int runs) {
  return of_each_link(program, [times = static_cast<std::uint64_t>(runs)](const DeviceLink& link, std::size_t channel) {
    const KernelCount each = count_at(link.sent_each, link.received_each, channel);
    return KernelCount{each.sent * times, each.received * times};
  });
}

/// Into the arguments, where there is room. False: they go into lists.
bool pass_on(const std::vector<KernelLink>& links, ProgramArguments& arguments) {
  if (links.size() > kArgumentLinks) return false;
  std::ranges::copy(links, arguments.links);
  return true;
}
bool pass_on(const std::vector<KernelCount>& counts, ProgramArguments& arguments) {
  if (counts.size() > kArgumentCounts) return false;
  std::ranges::copy(counts, arguments.counts);
  return true;
}

/// What makes a graph another one, as numbers: between members of a struct lies what nobody has set.
std::vector<std::uint64_t> numbers_of(const ProgramArguments& arguments, int times, std::size_t stream) {
  const gpu::Program& p = arguments.program;
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  const auto address = [](const void* at) { return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(at)); };
  return {number(p.operation),
          number(p.format),
          number(p.algorithm),
          number(p.rank),
          number(p.ranks),
          number(p.root),
          number(p.channels),
          p.bytes,
          p.received,
          p.echoes,
          p.slot,
          p.slots,
          number(p.experts),
          address(arguments.input),
          address(arguments.output),
          number(times),
          number(stream)};
}

void launch_kernel(const ProgramArguments& arguments, cudaStream_t queue) {
  cudaGetLastError();  // a query that said "not ready" left that behind
  switch (arguments.program.format) {
    case gpu::LineFormat::simple:
      launch_simple_program(arguments, queue);
      break;
    case gpu::LineFormat::ll:
      launch_ll_program(arguments, queue);
      break;
    case gpu::LineFormat::ll128:
      launch_ll128_program(arguments, queue);
      break;
  }
  check_cuda(cudaGetLastError(), "program of thread blocks");
}

}  // namespace

Event CudaRuntime::launch(DeviceProgram program, Stream stream) {
  if (program.times > 1) return launch_graph(program, stream);
  const cudaStream_t queue = queue_of(stream);
  const auto index = static_cast<std::size_t>(stream.index);
  rest();
  ProgramArguments arguments = arguments_of(program);
  const std::vector<KernelLink> links = links_of(program);
  const std::vector<KernelCount> counts = counts_of(program);
  // Counts alone differ from launch to launch: what stays is uploaded once.
  if (!pass_on(counts, arguments)) {
    arguments.more_counts =
        there<KernelCount>(upload_bytes(std::as_bytes(std::span(counts)), passed_[index], index), 0);
  }
  Lists lists;
  const bool passed = pass_on(links, arguments);
  const std::size_t links_at = passed ? 0 : lists.add(links);
  const bool placed = arguments.has_position || program.positions.empty();
  const bool ordered = arguments.has_order || program.orders.empty();
  const std::size_t positions_at = placed ? 0 : lists.add(program.positions);
  const std::size_t orders_at = ordered ? 0 : lists.add(program.orders);
  const std::size_t numbers_at = lists.add(program.numbers);
  if (!lists.bytes().empty()) {
    const void* const uploaded = upload_bytes(lists.bytes(), lists_[index], index);
    if (!passed) arguments.more_links = there<KernelLink>(uploaded, links_at);
    if (!placed) arguments.positions = there<gpu::ChannelPosition>(uploaded, positions_at);
    if (!ordered) arguments.orders = there<std::int32_t>(uploaded, orders_at);
    if (!program.numbers.empty()) arguments.numbers = there<std::uint64_t>(uploaded, numbers_at);
  }
  arguments.given_up = &given_up_.there()[index].word;
  arguments.number = ++programs_[index];
  launch_kernel(arguments, queue);
  return mark(stream);
}

/// A graph of kernels is made once for a program and its memory, and launched with the counts of the moment, which its
/// first kernel reads from the host.
Event CudaRuntime::launch_graph(const DeviceProgram& program, Stream stream) {
  const cudaStream_t queue = queue_of(stream);
  const auto index = static_cast<std::size_t>(stream.index);
  rest();
  const std::vector<KernelCount> counts = counts_of(program);
  Lists key;
  key.add(numbers_of(arguments_of(program), program.times, index));
  key.add(links_of(program));
  key.add(passed_by(program, 1));
  for (const gpu::ChannelPosition& position : program.positions) {
    key.add(std::vector{position.place, position.before, position.behind, position.above});
    key.add(std::vector<std::int32_t>(std::begin(position.below), std::end(position.below)));
  }
  key.add(program.orders);
  key.add(program.numbers);
  key.add(std::vector{std::atomic_ref(given_up_.here()[index].word).load()});
  auto found = std::ranges::find(graphs_, key.bytes(), &ProgramGraph::key);
  if (found == graphs_.end()) {
    graphs_.push_back(make_graph(program, queue, index));
    found = graphs_.end() - 1;
    found->key = key.bytes();
  }
  // Whoever launches it again has waited for its end.
  std::memcpy(found->counts, counts.data(), counts.size() * sizeof(KernelCount));
  check_cuda(cudaGraphLaunch(found->exec, queue), "cudaGraphLaunch");
  return mark(stream);
}

CudaRuntime::ProgramGraph CudaRuntime::make_graph(const DeviceProgram& program, cudaStream_t queue, std::size_t index) {
  ProgramGraph graph;
  Lists lists;
  const std::vector<KernelLink> links = links_of(program);
  const std::size_t room = links.size() * static_cast<std::size_t>(program.program.channels);
  const std::size_t kept_at = lists.add(std::vector<KernelCount>(room));
  const std::size_t links_at = lists.add(links);
  const std::size_t positions_at = lists.add(program.positions);
  const std::size_t orders_at = lists.add(program.orders);
  const std::size_t numbers_at = lists.add(program.numbers);
  std::vector<std::vector<KernelCount>> before;
  std::vector<std::size_t> before_at;
  for (int run = 0; run < program.times; ++run) {
    before.push_back(passed_by(program, run));
    before_at.push_back(lists.add(before.back()));
  }
  check_cuda(cudaMalloc(&graph.lists, lists.bytes().size()), "cudaMalloc");
  check_cuda(cudaHostAlloc(&graph.counts, std::max<std::size_t>(room * sizeof(KernelCount), 1), cudaHostAllocMapped),
             "cudaHostAlloc");
  copy_now(static_cast<std::byte*>(graph.lists), lists.bytes().data(), Bytes{lists.bytes().size()});
  void* counts = nullptr;
  check_cuda(cudaHostGetDevicePointer(&counts, graph.counts, 0), "cudaHostGetDevicePointer");
  auto* const kept = static_cast<KernelCount*>(
      static_cast<void*>(static_cast<std::byte*>(graph.lists) + kept_at));  // which the first kernel fills
  ProgramArguments arguments = arguments_of(program);
  if (!program.positions.empty()) arguments.positions = there<gpu::ChannelPosition>(graph.lists, positions_at);
  if (!program.orders.empty()) arguments.orders = there<std::int32_t>(graph.lists, orders_at);
  if (!program.numbers.empty()) arguments.numbers = there<std::uint64_t>(graph.lists, numbers_at);
  arguments.given_up = &given_up_.there()[index].word;
  arguments.number = ++programs_[index];
  check_cuda(cudaStreamBeginCapture(queue, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  for (std::size_t run = 0; run < before.size(); ++run) {
    arguments.base = run == 0 ? static_cast<const KernelCount*>(counts) : kept;
    arguments.kept = run == 0 ? kept : nullptr;
    if (!pass_on(links, arguments)) arguments.more_links = there<KernelLink>(graph.lists, links_at);
    if (!pass_on(before[run], arguments)) arguments.more_counts = there<KernelCount>(graph.lists, before_at[run]);
    launch_kernel(arguments, queue);
  }
  end_capture(graph, queue);
  return graph;
}

Event CudaRuntime::enqueue(Stream stream, int times, std::string_view key, const Enqueue& calls) {
  const cudaStream_t queue = queue_of(stream);
  rest();
  if (times == 1) {
    calls(queue);
    return mark(stream);
  }
  Lists whole;
  whole.add(std::vector<char>(key.begin(), key.end()));
  whole.add(std::vector{times, stream.index});
  auto found = std::ranges::find(graphs_, whole.bytes(), &ProgramGraph::key);
  if (found == graphs_.end()) {
    ProgramGraph graph{.key = whole.bytes(), .enqueued = std::string(key)};
    check_cuda(cudaStreamBeginCapture(queue, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    for (int run = 0; run < times; ++run) calls(queue);
    end_capture(graph, queue);
    graphs_.push_back(graph);
    found = graphs_.end() - 1;
  }
  check_cuda(cudaGraphLaunch(found->exec, queue), "cudaGraphLaunch");
  return mark(stream);
}

void CudaRuntime::end_capture(ProgramGraph& graph, cudaStream_t queue) {
  cudaGraph_t captured = nullptr;
  check_cuda(cudaStreamEndCapture(queue, &captured), "cudaStreamEndCapture");
  check_cuda(cudaGraphInstantiateWithFlags(&graph.exec, captured, 0), "cudaGraphInstantiateWithFlags");
  check_cuda(cudaGraphDestroy(captured), "cudaGraphDestroy");
}

void CudaRuntime::destroy(const ProgramGraph& graph) {
  cudaGraphExecDestroy(graph.exec);
  cudaFree(graph.lists);
  cudaFreeHost(graph.counts);
}

void CudaRuntime::forget_enqueued(std::string_view begin) {
  std::erase_if(graphs_, [&](const ProgramGraph& graph) {
    if (graph.enqueued.empty() || !graph.enqueued.starts_with(begin)) return false;
    cudaGraphExecDestroy(graph.exec);  // what is running of it ends on the device first
    return true;
  });
}

/// Blocks that wait look for it now and then.
void CudaRuntime::give_up_programs(Stream stream) {
  const auto index = static_cast<std::size_t>(stream.index);
  std::atomic_ref(given_up_.here()[index].word).store(programs_[index], std::memory_order_release);
}

}  // namespace twinlink::real
