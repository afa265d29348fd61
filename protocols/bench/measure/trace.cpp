#include "protocols/bench/measure/trace.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "protocols/bench/measure/collectives.hpp"
#include "protocols/bench/measure/ends.hpp"
#include "protocols/bench/measure/one_process.hpp"
#include "protocols/bench/measure/payload.hpp"
#include "protocols/bench/measure/warm_up.hpp"
#include "protocols/bench/results/settings_text.hpp"
#include "protocols/trace/tracing_rank.hpp"

namespace twinlink::bench {
namespace {

/// One end of a traced connection.
class TracedEnd {
 public:
  TracedEnd(MeasuredRank& rank, const Protocol& protocol, const Plan& plan, bool times)
      : rank_(rank),
        traced_(rank_, trace_),
        protocol_(protocol),
        plan_(plan),
        times_(times),
        peer_(rank.id() == plan.first ? plan.second : plan.first),
        buffer_(rank_, message_memory(protocol, plan, rank.id() == plan.first), extent()),
        packed_(rank_, protocol, plan.facts.packing, plan.sizes.front(), plan.sizes.front()) {}

  std::string run() {
    const Settings settings = settings_of_end(protocol_, plan_, rank_.id() == plan_.first);
    tell("connect", part("connect", [&] {
           channel_ = twinlink::connect(traced_, peer_, protocol_, settings, plan_.facts.packing, packed_);
         }));
    tell_of("first message", there_and_back());
    std::vector<Lines> later;
    WarmUp warm_up(
        rank_, [this] { return channel_->connecting(); },
        [this](int mine) { return agree_in(rank_, leader_first(rank_.id(), peer_, leading()), mine, patience()); });
    warm_up(1, [&] { later.push_back(there_and_back()); });
    for (std::size_t i = 0; i + 1 < later.size(); ++i) tell_of(fmt::format("message {}", i + 2), later[i]);
    tell_of("warm message", later.back());
    tell("close", part("close", [&] { channel_.reset(); }));
    synchronize(rank_, peer_, patience());  // the peer may have had our buffer open until now
    return text_;
  }

 private:
  [[nodiscard]] bool leading() const { return rank_.id() == plan_.first; }
  [[nodiscard]] Bytes extent() const { return plan_.facts.packing.layout.extent(plan_.sizes.front()); }
  [[nodiscard]] Patience patience() const { return Patience::of_peer(plan_.settings.timeout); }

  /// Lines of the two messages of a ping-pong, the one to the peer and the one from it.
  struct Lines {
    std::string to{};
    std::string from{};
  };

  Lines there_and_back() {
    Lines lines;
    for (const bool sending : {leading(), !leading()}) (sending ? lines.to : lines.from) = pass(sending);
    return lines;
  }

  /// In the order in which they went.
  void tell_of(std::string_view which, const Lines& lines) {
    for (const bool sending : {leading(), !leading()}) {
      tell(fmt::format("{} {} rank {}", which, sending ? "to" : "from", peer_.value), sending ? lines.to : lines.from);
    }
  }

  std::string pass(bool sending) {
    return part("prepare", [&] {
      const View message = buffer_.first(extent());
      const Outcome outcome = sending ? channel_->send(message) : channel_->receive(message);
      if (outcome.ok()) return sending ? void() : compute();
      throw CheckError(fmt::format("rank {}: {}, {} B, traced: {}: {}", rank_.id().value, protocol_.name(),
                                   plan_.sizes.front().count(), to_string(outcome.status), outcome.reason));
    });
  }

  void compute() {
    if (plan_.facts.compute == Seconds{}) return;
    traced_.step("compute");
    const Op computing = traced_.compute(plan_.facts.compute, Stream{0});
    const Status status = wait(traced_, computing, rank_.now() + patience().longest);
    if (status == Status::delivered) return;
    throw CheckError(fmt::format("rank {}: computing, traced: {}", rank_.id().value, to_string(status)));
  }

  /// Both ranks begin a part together. `step` is for what is done before the protocol names one. What it did, line by
  /// line.
  template <class Work>
  std::string part(std::string_view step, const Work& work) {
    synchronize(rank_, peer_, patience());
    const std::size_t before = trace_.events().size();
    const Seconds start = rank_.now();
    traced_.step(step);
    work();
    const std::span<const TraceEvent> events = std::span(trace_.events()).subspan(before);
    return list_by_step(events, times_ ? std::optional(start) : std::nullopt);
  }

  void tell(std::string_view name, const std::string& lines) {
    text_ += fmt::format("# rank {}, {}\n{}", rank_.id().value, name, lines);
  }

  SetUpRank rank_;
  Trace trace_;
  TracingRank traced_;
  const Protocol& protocol_;
  const Plan& plan_;
  bool times_;
  RankId peer_;
  ScopedBuffer buffer_;
  PackedBuffers packed_;
  std::unique_ptr<Channel> channel_;
  std::string text_;
};

}  // namespace

std::string trace(MeasuredRank& rank, const Protocol& protocol, const Plan& plan, bool times) {
  std::string mine;
  if (plan.facts.one_process) {
    if (rank.id() == plan.first) mine = trace_in_one_process(rank, plan, times);
  } else if (rank.id() == plan.first || rank.id() == plan.second) {
    mine = TracedEnd(rank, protocol, plan, times).run();
  }
  const std::vector<std::string> texts = gather(rank, mine, Patience::of_turn(plan.settings.timeout));
  if (rank.id() != RankId{0}) return {};
  std::string text = fmt::format("# {}, messages of {}, {}\n", protocol.name(), format_size(plan.sizes.front()),
                                 settings_text(plan.settings, plan.facts));
  if (times) text += "# start us    end us  step              what\n";
  for (const std::string& of_rank : texts) text += of_rank;
  return text;
}

}  // namespace twinlink::bench
