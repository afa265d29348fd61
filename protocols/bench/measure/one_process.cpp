#include "protocols/bench/measure/one_process.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "protocols/bench/measure/check_error.hpp"
#include "protocols/bench/measure/payload.hpp"
#include "protocols/bench/measure/sweep.hpp"
#include "protocols/bench/measure/warm_up.hpp"
#include "protocols/trace/tracing_rank.hpp"

namespace twinlink::bench {
namespace {

constexpr Stream kThere{0};
constexpr Stream kBack{1};

/// Memory of both GPUs, and copies between them.
class TwoGpus {
 public:
  TwoGpus(MeasuredRank& rank, const Plan& plan, Bytes size)
      : rank_(rank),
        plan_(plan),
        here_(rank.allocate(Memory::device, size)),
        there_(rank.allocate_beside(plan.second, size)),
        back_(plan.pattern == Pattern::bidirectional ? std::optional(rank.allocate(Memory::device, size))
                                                     : std::nullopt),
        out_(back_ ? std::optional(rank.allocate_beside(plan.second, size)) : std::nullopt) {}
  ~TwoGpus() {
    if (std::uncaught_exceptions() > 0) return;  // the rank frees what an operation may still use
    for (const auto& buffer : {std::optional(here_), std::optional(there_), back_, out_}) {
      if (buffer) rank_.release(*buffer);
    }
  }
  TwoGpus(const TwoGpus&) = delete;
  TwoGpus& operator=(const TwoGpus&) = delete;

  void round(const Window& window, Bytes size) {
    there(window);
    if (plan_.pattern == Pattern::pingpong) finish(size);
    if (plan_.pattern == Pattern::pingpong || back_) back(window);
    finish(size);
  }

  /// With contents that no round before it had. What comes back to where it came from is not there before it does.
  void verified_round(const Window& window, Bytes size) {
    ++contents_;
    const std::uint64_t other = contents_ + (std::uint64_t{1} << 32);
    fill(rank_, window, here_, contents_);
    wipe(rank_, window, there_);
    if (back_) {
      fill(rank_, window, *out_, other);
      wipe(rank_, window, *back_);
    }
    there(window);
    if (back_) back(window);
    finish(size);
    expect(window, size, there_, contents_);
    if (back_) expect(window, size, *back_, other);
    if (plan_.pattern != Pattern::pingpong) return;
    wipe(rank_, window, here_);
    back(window);
    finish(size);
    expect(window, size, here_, contents_);
  }

 private:
  void there(const Window& window) { start(window.messages(there_), window.messages(here_), kThere, "copy there"); }
  /// Both ways at once from memory of its own, else from where the bytes have gone.
  void back(const Window& window) {
    start(window.messages(back_.value_or(here_)), window.messages(out_.value_or(there_)), kBack, "copy back");
  }
  void start(const std::vector<View>& to, const std::vector<View>& from, Stream stream, std::string_view words) {
    rank_.step(words);
    for (std::size_t i = 0; i < to.size(); ++i) ops_.push_back(rank_.copy(to[i], from[i], stream, Engine::dma));
  }

  void finish(Bytes size) {
    const Seconds deadline = rank_.now() + plan_.settings.timeout;
    while (!ops_.empty()) {
      const auto completion = rank_.wait_any(ops_, deadline);
      const Status status = completion ? completion->status : Status::timed_out;
      if (status != Status::delivered) fail(size, to_string(status));
      ops_.erase(ops_.begin() + static_cast<std::ptrdiff_t>(completion->index));
    }
  }

  void expect(const Window& window, Bytes size, Buffer buffer, std::uint64_t contents) {
    if (const auto fault = bench::check(rank_, window, buffer, contents)) fail(size, *fault);
  }

  [[noreturn]] void fail(Bytes size, std::string_view what) const {
    throw CheckError(fmt::format("rank {}: one process, {} B: {}", rank_.id().value, size.count(), what));
  }

  MeasuredRank& rank_;
  const Plan& plan_;
  Buffer here_;
  Buffer there_;
  std::optional<Buffer> back_;  ///< only of both ways at once
  std::optional<Buffer> out_;
  std::vector<Op> ops_{};
  std::uint64_t contents_ = 0;
};

std::string way_of(const Path& path) {
  if (path.same_device) return "one process: copy within the device";
  if (path.peer_access) return "one process: peer copy by the copy engine";
  return "one process: the driver copies through host memory: " + path.peer_access.reason;
}

int window_of(const Plan& plan) { return plan.pattern == Pattern::pingpong ? 1 : plan.window; }

}  // namespace

void check_one_process(const Protocol& protocol, const Plan& plan) {
  const Settings defaults = protocol.defaults();
  const bool plain = protocol.name() == "gpudirect-v2" && plan.settings.options.empty() &&
                     plan.settings.chunk == defaults.chunk && plan.settings.depth == defaults.depth;
  if (!plain || plan.facts.packing.needed() || plan.facts.ends || plan.facts.compute > Seconds{} ||
      plan.facts.buffers > 1) {
    throw UsageError(
        "--one-process copies from GPU to GPU by cudaMemcpyPeerAsync and does nothing else: it is for "
        "'-p gpudirect-v2', without settings of its own, --layout, --ends, --compute and --buffers");
  }
  if (!plan.beside.empty()) throw UsageError("--one-process has one pair");
}

Series measure_in_one_process(MeasuredRank& rank, const Protocol& protocol, const Plan& plan) {
  check_one_process(protocol, plan);
  if (rank.id() != plan.first) return {};
  Series series{.label = fmt::format("{} in one process", protocol.name()),
                .protocol = std::string(protocol.name()),
                .pattern = plan.pattern,
                .settings = plan.settings,
                .facts = plan.facts,
                .window = window_of(plan),
                .from = to_string(rank.place(plan.first)),
                .to = to_string(rank.place(plan.second))};
  const double copies = plan.pattern == Pattern::pingpong ? 2 : window_of(plan);
  Bytes memory{};
  for (const Bytes size : plan.sizes) memory = std::max(memory, Window(size, window_of(plan)).memory());
  std::optional<TwoGpus> gpus;
  series.cold_us = time_round(rank, [&] { gpus.emplace(rank, plan, memory); });
  series.cold_us += time_round(rank, [&] { gpus->round(Window(plan.sizes.front(), 1), plan.sizes.front()); }) /
                    (plan.pattern == Pattern::pingpong ? 2 : 1);
  std::optional<double> cpu_us;
  const auto measure_size = [&](Bytes size) {
    const Window window(size, window_of(plan));
    const Repeats& repeats = repeats_of(plan, size);
    const auto one_round = [&] { gpus->round(window, size); };
    if (plan.verify) gpus->verified_round(window, size);
    const std::vector<double> trial = trial_rounds(rank, repeats.warmup, one_round);
    const int rounds = rounds_within(plan.budget, trial, repeats.iterations);
    const CpuTime cpu(rank);
    Rounds timed{.times_us = time_rounds(rank, rounds, one_round)};
    cpu_us = cpu.on_each(rounds * copies);
    if (plan.verify) gpus->verified_round(window, size);
    timed /= copies;
    return timed;
  };
  sweep(plan, true, series, plan.pattern == Pattern::bidirectional ? 2 : 1, measure_size, [&](Point& point) {
    point.path = way_of(rank.path_to(plan.second));
    point.cpu_us = cpu_us;
  });
  return series;
}

std::string trace_in_one_process(MeasuredRank& rank, const Plan& plan, bool times) {
  Trace trace;
  TracingRank traced(rank, trace);
  const Plan one{.settings = plan.settings, .second = plan.second};
  const Bytes size = plan.sizes.front();
  std::string text;
  const auto part = [&](std::string_view name, const auto& work) {
    const std::size_t before = trace.events().size();
    const Seconds start = rank.now();
    work();
    text += fmt::format("# rank {}, {}\n", rank.id().value, name);
    text += list_by_step(std::span(trace.events()).subspan(before), times ? std::optional(start) : std::nullopt);
  };
  std::optional<TwoGpus> gpus;
  const Window window(size, 1);
  traced.step("allocate");
  part("allocate", [&] { gpus.emplace(traced, one, window.memory()); });
  part("first copies", [&] { gpus->round(window, size); });
  part("warm copies", [&] { gpus->round(window, size); });
  traced.step("release");
  part("release", [&] { gpus.reset(); });
  return text;
}

}  // namespace twinlink::bench
