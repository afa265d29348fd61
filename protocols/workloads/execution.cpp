#include "protocols/workloads/execution.hpp"

#include <algorithm>
#include <array>
#include <deque>
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
  for (const Mark& mark : schedule.before) rank.fill(buffers.view(mark.slice), summable(mark.value, mark.period));
}

namespace {

std::optional<std::string> fault_in(MeasuredRank& rank, std::span<const Mark> marks, const Buffers& buffers) {
  for (const Mark& mark : marks) {
    const Verdict verdict = rank.check(buffers.view(mark.slice), summable(mark.value, mark.period));
    if (verdict.intact()) continue;
    return to_string(verdict) + " of the elements from " + std::to_string(mark.slice.begin) + " on";
  }
  return std::nullopt;
}

std::string name_of(std::size_t step, std::size_t steps) {
  return "step " + std::to_string(step + 1) + " of " + std::to_string(steps);
}

/// One list of a schedule's steps.
class Lane {
 public:
  Lane(ConcurrentRank& rank, const std::vector<Step>& steps, Connections& connections, const Buffers& buffers,
       Seconds timeout, const RunWatch& watch)
      : rank_(rank), steps_(steps), connections_(connections), buffers_(buffers), timeout_(timeout), watch_(watch) {}

  /// Until all steps have ended, or either list's step fails: then the other one's outcome says why.
  Outcome run(const Lane& other) {
    Outcome outcome = run_steps(other);
    failed_ = !outcome.ok();
    return outcome;
  }

 private:
  Outcome run_steps(const Lane& other) {
    for (; ended_ < steps_.size(); ++ended_) {
      const Step& step = steps_[ended_];
      if (step.after > other.ended_) rank_.wait_until([&] { return other.ended_ >= step.after || other.failed_; });
      if (step.after > other.ended_) return {};
      if (watch_.fault != nullptr) {
        for (const Mark& mark : step.fresh) rank_.fill(buffers_.view(mark.slice), summable(mark.value, mark.period));
      }
      Outcome outcome = run(step);
      if (!outcome.ok()) {
        outcome.reason = name_of(ended_, steps_.size()) + " " + outcome.reason;
        return outcome;
      }
      if (watch_.on_sent) watch_.on_sent(sent_in(step));
      if (watch_.fault == nullptr || *watch_.fault) continue;
      std::optional<std::string>& fault = *watch_.fault;
      fault = fault_in(rank_, step.expected, buffers_);
      if (fault) *fault += ", behind " + name_of(ended_, steps_.size());
    }
    return {};
  }
  Outcome run(const Step& step) {
    if (step.compute > Seconds{}) {
      Outcome outcome = compute(step.compute);
      if (!outcome.ok()) return outcome;
    }
    if (step.together) {
      return connections_.together(step.together->members)
          .run(step.together->what, buffers_.view(step.together->data), step.together->times,
               step.together->blocks.portions());
    }
    Outcome outcome = run_transfers(rank_, step, connections_, buffers_);
    return outcome.ok() ? run_locals(rank_, step, buffers_, timeout_) : outcome;
  }

  /// Kernels that nothing stands between are queued at once, as programs do.
  Outcome compute(Seconds kernel) {
    if (queue_.empty()) queue();
    const Op op = queue_.front();
    queue_.pop_front();
    const Status status = wait(rank_, op, rank_.now() + kernel + timeout_);
    return status == Status::delivered ? Outcome{} : Outcome{status, "its kernel"};
  }
  void queue() {
    rank_.step("compute");
    for (std::size_t i = ended_; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      if (step.compute == Seconds{} || (i > ended_ && step.after > 0)) return;
      queue_.push_back(rank_.compute(step.compute, kKernels));
      if (!step.transfers.empty() || !step.locals.empty() || step.together) return;
    }
  }

  ConcurrentRank& rank_;
  const std::vector<Step>& steps_;
  Connections& connections_;
  const Buffers& buffers_;
  Seconds timeout_;
  const RunWatch& watch_;
  std::size_t ended_ = 0;
  bool failed_ = false;
  std::deque<Op> queue_{};
};

}  // namespace

std::size_t sent_in(const Step& step) {
  const auto sends = [](const Transfer& transfer) { return transfer.send.length > 0; };
  return static_cast<std::size_t>(std::ranges::count_if(step.transfers, sends)) + (step.together ? 1 : 0);
}

std::size_t sent_in(const Schedule& schedule) {
  std::size_t messages = 0;
  schedule.for_each_step([&](const Step& step) { messages += sent_in(step); });
  return messages;
}

Outcome run_once(ConcurrentRank& rank, const Schedule& schedule, Connections& connections, const Buffers& buffers,
                 Seconds timeout, const RunWatch& watch) {
  Lane first(rank, schedule.steps, connections, buffers, timeout, watch);
  Lane second(rank, schedule.beside, connections, buffers, timeout, watch);
  if (schedule.beside.empty()) return first.run(second);
  Outcome done;
  Outcome done_beside;
  const std::array<std::function<void()>, 2> works{[&] { done = first.run(second); },
                                                   [&] { done_beside = second.run(first); }};
  rank.run(works);
  return done.ok() ? done_beside : done;
}

std::optional<std::string> fault_in(MeasuredRank& rank, const Schedule& schedule, const Buffers& buffers) {
  return fault_in(rank, schedule.after, buffers);
}

}  // namespace twinlink::workloads
