// Texts of the command lines: layouts, options of protocols, quantities, pairs; and recorded jobs.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "protocols/bench/cli/pair_options.hpp"
#include "protocols/bench/cli/settings_options.hpp"
#include "protocols/bench/measure/ends.hpp"
#include "protocols/bench/workload/recorded/kineto_file.hpp"
#include "protocols/bench/workload/recorded/mpi_file.hpp"
#include "protocols/bench/workload/recorded/nccl_records.hpp"
#include "protocols/core/options.hpp"
#include "protocols/core/path.hpp"
#include "protocols/core/text.hpp"
#include "protocols/layout/layout.hpp"
#include "protocols/registry.hpp"
#include "protocols/workloads/goal/collectives.hpp"
#include "protocols/workloads/goal/job.hpp"
#include "protocols/workloads/goal/mpi_recording.hpp"
#include "protocols/workloads/goal/trace.hpp"
#include "tests/fuzz/targets.hpp"

namespace twinlink::fuzz {
namespace {

/// What `read` makes of `text`; nothing if it refuses it.
template <class Read>
auto accepted(Read read, std::string_view text) -> std::optional<decltype(read(text))> {
  try {
    return read(text);
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

/// More blocks take longer and are no different.
constexpr Bytes kMostWithBlocks{4096};

/// What a layout says of a message agrees with its blocks.
void promise_consistent(const Layout& layout, Bytes size) {
  const auto extent = accepted([&](std::string_view) { return layout.extent(size); }, {});
  if (!extent) return;
  promise(*extent >= size, "a message spans at least its bytes");
  promise(layout.packed(*extent) == size, "packed() is the other way round of extent()");
  if (size > kMostWithBlocks) return;
  const auto blocks = accepted([&](std::string_view) { return layout.blocks(size); }, {});
  if (!blocks) return;
  Bytes sum{};
  Bytes end{};
  for (const LayoutBlock& block : *blocks) {
    promise(block.displacement >= end && block.length > Bytes{}, "blocks ascend and have bytes");
    end = block.displacement + block.length;
    sum += block.length;
  }
  promise(sum == size && end == *extent, "the blocks of a message are its bytes");
}

template <class Quantity, class Read, class Format>
void promise_formatted(std::string_view text, Read read, Format format) {
  const std::optional<Quantity> quantity = accepted(read, text);
  if (!quantity) return;
  const std::string shown = format(*quantity);
  promise(accepted(read, shown).has_value(), "'" + shown + "' is printed and can be read");
}

}  // namespace

void read_layout(const std::string& text) {
  const Layout layout = parse_layout(text);
  promise(parse_layout(to_string(layout)) == layout, "a layout written and read again is the same");
  static_cast<void>(describe(layout));
  for (const std::uint64_t size : {0ULL, 1ULL, 7ULL, 4096ULL, 1ULL << 40U}) {
    promise_consistent(layout, Bytes{size});
  }
}

/// A protocol's name, and below it NAME=VALUE on each line: an option of its own, "preset", "chunk" or "depth".
void read_options(const std::string& text) {
  const std::vector<std::string_view> lines = split(text, '\n');
  const Protocol& protocol = find_protocol(lines[0]);
  bench::SettingsOptions options;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::size_t equals = lines[i].find('=');
    if (equals == std::string_view::npos) throw UsageError("no NAME=VALUE");
    const std::string name(lines[i].substr(0, equals));
    const std::string value(lines[i].substr(equals + 1));
    if (name == "preset") {
      options.preset = value;
    } else if (name == "chunk") {
      options.chunk = parse_size(value);
    } else {
      options.options.emplace_back(name, value);
    }
  }
  const Settings settings = bench::make_settings(protocol, options);
  const OptionReader reader(protocol, settings);
  for (const Option& option : protocol.options()) {
    const std::string_view value = reader.text(option.name);
    Settings again;
    set_option(protocol, again, option.name, value);
    promise(again.options.at(std::string(option.name)) == value, "an option's value can be set again");
  }
}

void read_units(const std::string& text) {
  if (const auto size = accepted(parse_size, text)) {
    promise(parse_size(format_size(*size)) == *size, "a size written and read again is the same");
  }
  if (const auto size = accepted(parse_bytes, text)) {
    promise(parse_size(format_size(*size)) == *size, "bytes written and read again are the same");
  }
  promise_formatted<Seconds>(text, parse_seconds, format_seconds);
  const auto seconds = accepted(parse_seconds, text);
  promise(!seconds || (std::isfinite(seconds->value()) && *seconds >= Seconds{}), "a duration is finite");
  const auto rate = accepted(parse_rate, text);
  promise(!rate || (std::isfinite(rate->bytes_per_second()) && *rate > Rate{}), "a rate is positive and finite");
  if (rate) static_cast<void>(format_rate(*rate));
}

/// What --pairs, --ends and --from take.
void read_pairs(const std::string& text) {
  const auto ends = accepted(bench::parse_ends, text);
  promise(!ends || bench::to_string(*ends) == text, "ends written are what was read");
  if (const auto place = accepted(parse_place, text)) {
    promise(parse_place(to_string(*place)) == *place, "a place written and read again is the same");
  }
  for (const bench::PairWish& wish : bench::parse_pairs(text)) {
    promise(wish.first != wish.second, "a pair has two ends");
  }
}

/// What one end sends the other receives, in the same order, and there is an order in which all of it happens.
void read_goal(const std::string& text) {
  workloads::goal::Trace trace = workloads::goal::read_trace(text, "a.goal");
  // Collectives of the protocol's own, or all as messages.
  const bool keeps = text.size() % 2 == 0;
  const auto stays = [&](std::string_view what) { return keeps && workloads::together_of(what) != nullptr; };
  workloads::goal::expand(trace, {}, stays);
  const workloads::goal::Job job(std::move(trace));
  using workloads::goal::Message;
  std::map<std::tuple<int, int, int>, std::span<const Message>> under_way;
  for (int rank = 0; rank < job.ranks(); ++rank) {
    for (const auto& sent : workloads::goal::by_lane(job.of(rank).sends)) {
      under_way[{rank, sent.front().peer, sent.front().lane}] = sent;
    }
  }
  for (int rank = 0; rank < job.ranks(); ++rank) {
    for (const auto& received : workloads::goal::by_lane(job.of(rank).receives)) {
      const auto& sent = under_way[{received.front().peer, rank, received.front().lane}];
      const auto same = [](const Message& a, const Message& b) {
        return a.content == b.content && a.size == b.size && a.window == b.window && a.turn == b.turn;
      };
      promise(std::ranges::equal(sent, received, same), "a lane's ends have the same messages in the same windows");
    }
    promise(job.of(rank).memory() >= Bytes{}, "a rank's memory can be counted");
  }
}

namespace {

/// Every collective has its ranks, none of them twice, and ends behind its beginning.
void promise_whole(const workloads::goal::RankRecording& recording) {
  for (const auto& collective : recording.collectives) {
    std::vector<int> ranks = collective.ranks;
    std::ranges::sort(ranks);
    promise(!ranks.empty() && std::ranges::adjacent_find(ranks) == ranks.end(), "a group has different ranks");
    promise(collective.when.begin >= 0 && collective.when.begin <= collective.when.end, "times go on");
    promise(collective.to.size() == collective.from.size(), "blocks go both ways");
  }
}

}  // namespace

void read_kineto(const std::string& text) {
  std::istringstream stream(text);
  const bench::Profile profile = bench::read_profile(stream, "a.json");
  promise(!profile.recording.collectives.empty(), "a profile has collectives");
  promise_whole(profile.recording);
}

void read_nccl_record(const std::string& text) {
  const bench::Profiles profiles = bench::read_nccl_records({scratch_file("record", text)});
  std::ranges::for_each(profiles.ranks, promise_whole);
  try {
    static_cast<void>(workloads::goal::goal_text(profiles.ranks, profiles.notes));
  } catch (const InputError&) {
    // The messages of a pair may have other lengths at its other end.
  }
}

/// The job of one rank's file, as if it were alone, can be read again.
void read_mpi(const std::string& text) {
  std::istringstream stream(text);
  const bench::MpiHeading heading = bench::read_mpi_heading(stream, "rank0.mpi");
  const std::string calls(std::istreambuf_iterator<char>(stream), {});
  const auto each = [&](const std::function<void(const workloads::goal::mpi::Call&)>& take) {
    std::istringstream again(calls);
    return bench::read_mpi_calls(again, "rank0.mpi", take);
  };
  const workloads::goal::MpiRecording job({{"rank0.mpi", heading.begins, heading.host, each}});
  std::string goal;
  job.write(job.notes(), [&](std::string_view part) { goal += part; });
  promise(workloads::goal::read_trace(goal, "a.goal").ranks.size() == 1, "a job of one rank has one");
}

}  // namespace twinlink::fuzz
