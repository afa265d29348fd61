#include "protocols/workloads/execution.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <vector>

namespace twinlink::workloads {
namespace {

/// The messages of one exchange.
Outcome exchange(Channel& channel, std::span<const Transfer> transfers, const Buffers& buffers) {
  std::vector<View> out;
  std::vector<View> in;
  for (const Transfer& transfer : transfers) {
    if (transfer.send.length > 0) out.push_back(buffers.view(transfer.send));
    if (transfer.receive.length > 0) in.push_back(buffers.view(transfer.receive));
  }
  return out.empty() && in.empty() ? Outcome{} : channel.exchange(out, in);
}

/// Those with one peer, which follow each other.
std::vector<std::span<const Transfer>> by_peer(const std::vector<Transfer>& transfers) {
  std::vector<std::span<const Transfer>> all;
  for (auto first = transfers.begin(); first != transfers.end();) {
    const auto last =
        std::find_if(first, transfers.end(), [&](const Transfer& other) { return other.peer != first->peer; });
    const bool moves =
        std::any_of(first, last, [](const Transfer& each) { return each.send.length + each.receive.length > 0; });
    if (moves) all.emplace_back(first, last);
    first = last;
  }
  return all;
}

Outcome run_transfers(ConcurrentRank& rank, const Step& step, Connections& connections, const Buffers& buffers) {
  const std::vector<std::span<const Transfer>> exchanges = by_peer(step.transfers);
  std::vector<Outcome> outcomes(exchanges.size());
  std::vector<std::function<void()>> works;
  for (std::size_t i = 0; i < exchanges.size(); ++i) {
    works.emplace_back(
        [&, i] { outcomes[i] = exchange(connections.to(RankId{exchanges[i].front().peer}), exchanges[i], buffers); });
  }
  if (!works.empty()) rank.run(works);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].ok()) continue;
    Outcome failed = outcomes[i];
    failed.reason = "with rank " + std::to_string(exchanges[i].front().peer) + ": " + failed.reason;
    return failed;
  }
  return {};
}

/// Kernels behind those of copies and additions would wait for them: they have a stream of their own.
constexpr Stream kKernels{3};

/// All are queued at once, as programs do; `ended` counts them.
Outcome run_kernels(ConcurrentRank& rank, const std::vector<Seconds>& kernels, Seconds timeout, std::size_t& ended) {
  std::vector<Op> ops;
  rank.step("compute");
  for (const Seconds kernel : kernels) ops.push_back(rank.compute(kernel, kKernels));
  Outcome outcome;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Status status = wait(rank, ops[i], rank.now() + kernels[i] + timeout);
    if (status != Status::delivered) outcome = {status, "kernel " + std::to_string(i + 1)};
    ++ended;
  }
  return outcome;
}

Outcome run_locals(MeasuredRank& rank, const Step& step, const Buffers& buffers, Seconds timeout) {
  std::vector<Op> ops;
  for (const Local& local : step.locals) {
    if (local.to.length == 0) continue;
    const View to = buffers.view(local.to);
    const View from = buffers.view(local.from);
    rank.step(local.kind == Local::Kind::add ? "add up" : "copy on the device");
    ops.push_back(local.kind == Local::Kind::add ? rank.add(to, from, Stream{0})
                                                 : rank.copy(to, from, Stream{0}, Engine::dma));
  }
  for (const Op op : ops) {
    const Status status = wait(rank, op, rank.now() + timeout);
    if (status != Status::delivered) return {status, "on its own device"};
  }
  return {};
}

}  // namespace

Buffers::Buffers(Rank& rank, Memory kind, std::uint64_t data, std::uint64_t scratch)
    : rank_(rank),
      data_(rank.allocate(kind, bytes_of(std::max<std::uint64_t>(data, 1)), Locality::near)),
      scratch_(rank.allocate(kind, bytes_of(std::max<std::uint64_t>(scratch, 1)), Locality::near)) {}

Buffers::Buffers(SymmetricHeap& heap, std::uint64_t data, std::uint64_t scratch)
    : rank_(heap.rank()),
      on_heap_(true),
      data_(heap.view(heap.allocate(bytes_of(std::max<std::uint64_t>(data, 1))))),
      scratch_(heap.view(heap.allocate(bytes_of(std::max<std::uint64_t>(scratch, 1))))) {}

Buffers::~Buffers() {
  if (on_heap_) return;
  for (const View& view : {scratch_, data_}) {
    try {
      rank_.release(view.buffer);
    } catch (const Error&) {
      return;  // an exception is passing that says why it is still in use
    }
  }
}

View Buffers::view(const Slice& slice) const {
  const View& whole = slice.where == Where::data ? data_ : scratch_;
  return whole.slice(bytes_of(slice.begin), bytes_of(slice.length));
}

View Buffers::data(std::uint64_t elements) const { return data_.slice(Bytes{}, bytes_of(elements)); }

void prepare(MeasuredRank& rank, const Schedule& schedule, const Buffers& buffers) {
  rank.fill(buffers.data(schedule.data), kSentinel);
  for (const Mark& mark : schedule.before) rank.fill(buffers.view(mark.slice), summable(mark.value));
}

namespace {

Outcome run_steps(ConcurrentRank& rank, const Schedule& schedule, Connections& connections, const Buffers& buffers,
                  Seconds timeout, const std::size_t& kernels_ended) {
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[i];
    if (step.after > 0) rank.wait_until([&] { return kernels_ended >= step.after; });
    Outcome outcome = step.together ? connections.together().run(step.together->what, buffers.view(step.together->data),
                                                                 step.together->times, step.together->blocks.portions())
                                    : run_transfers(rank, step, connections, buffers);
    if (outcome.ok()) outcome = run_locals(rank, step, buffers, timeout);
    if (outcome.ok()) continue;
    outcome.reason =
        "step " + std::to_string(i + 1) + " of " + std::to_string(schedule.steps.size()) + " " + outcome.reason;
    return outcome;
  }
  return {};
}

}  // namespace

Outcome run_once(ConcurrentRank& rank, const Schedule& schedule, Connections& connections, const Buffers& buffers,
                 Seconds timeout) {
  std::size_t ended = 0;
  if (schedule.kernels.empty()) return run_steps(rank, schedule, connections, buffers, timeout, ended);
  Outcome computed;
  Outcome exchanged;
  const std::array<std::function<void()>, 2> works{
      [&] { computed = run_kernels(rank, schedule.kernels, timeout, ended); },
      [&] { exchanged = run_steps(rank, schedule, connections, buffers, timeout, ended); }};
  rank.run(works);
  return computed.ok() ? exchanged : computed;
}

std::optional<std::string> fault_in(MeasuredRank& rank, const Schedule& schedule, const Buffers& buffers) {
  for (const Mark& mark : schedule.after) {
    const Verdict verdict = rank.check(buffers.view(mark.slice), summable(mark.value));
    if (verdict.intact()) continue;
    return to_string(verdict) + " of the elements from " + std::to_string(mark.slice.begin) + " on";
  }
  return std::nullopt;
}

}  // namespace twinlink::workloads
