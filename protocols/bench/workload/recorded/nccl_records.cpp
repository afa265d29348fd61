#include "protocols/bench/workload/recorded/nccl_records.hpp"

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/json_fault.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/workloads/goal/trace.hpp"

namespace twinlink::bench {
namespace {

using nlohmann::json;
using workloads::goal::RecordedCollective;
using Word = std::string_view;

struct Function {
  Word theirs;
  Word ours;
  bool is_of_each;  ///< NCCL counts what one rank has, the catalogue what all have
};
constexpr std::array<Function, 10> kFunctions{{{"AllReduce", "all-reduce", false},
                                               {"AllGather", "all-gather", true},
                                               {"ReduceScatter", "reduce-scatter", true},
                                               {"Broadcast", "broadcast", false},
                                               {"Reduce", "reduce", false},
                                               {"AlltoAll", "all-to-all", true},
                                               {"Gather", "gather", true},
                                               {"Scatter", "scatter", true},
                                               {"Send", "send", false},
                                               {"Recv", "recv", false}}};
/// From the line to the job's file, bytes: measured with a million all-reduces.
constexpr std::int64_t kPerCall = 1000;
constexpr std::uint8_t kSend = 8;  ///< and what is behind it is messages

struct Call {
  std::int64_t begin = 0;  ///< ns
  std::int64_t end = 0;
  std::uint64_t bytes = 0;
  std::uint64_t number = 0;  ///< of the function in the communicator, of messages at this rank
  std::uint32_t line = 0;
  std::int32_t peer = -1;
  std::uint8_t function = 0;
  bool is_of_host = false;  ///< by another clock than those of GPUs

  /// What is the same at all members of a collective.
  [[nodiscard]] auto key() const { return std::pair(function, number); }
};

/// A GPU that has communicators.
struct Endpoint {
  std::tuple<std::int64_t, std::string, std::int64_t, std::int64_t, int> order{};  ///< job's rank, host, pid, device
  std::string file{};
  std::int64_t launch = INT64_MAX;  ///< from the call to the GPU's begin, at least, and how the clocks differ
  int rank = -1;                    ///< of the job
};

struct Communicator {
  std::string id{};
  int ranks = 0;
  std::map<int, std::size_t> endpoints{};    ///< by rank
  std::map<int, std::vector<Call>> calls{};  ///< by rank
  std::uint64_t lost_messages = 0;
};

class RecordReader {
 public:
  /// So many bytes may be taken for it.
  void read(const std::filesystem::path& path, std::int64_t room) {
    file_ = path.string();
    room_ = room;
    const auto stream = open_to_read(path);
    std::string line;
    header_.reset();
    endpoint_of_.clear();
    has_several_ = false;
    for (line_ = 1; std::getline(*stream, line); ++line_) {
      if (line.empty()) continue;
      if (room_ < 0) {
        ++cut_;
        break;
      }
      const json parsed = json::parse(line, nullptr, false);
      if (parsed.is_discarded()) {
        if (stream->peek() != std::char_traits<char>::eof()) refuse("not JSON");
        notes_.push_back(fmt::format("{}: its last line is cut short", file_));
        break;
      }
      try {
        take(parsed);
      } catch (const json::exception& error) {
        refuse(json_fault(error));
      }
    }
  }

  Profiles profiles() {
    number_ranks();
    Profiles all;
    for (const Endpoint* const each : by_rank_) all.ranks.push_back({.file = each->file});
    std::vector<std::vector<Placed>> placed(by_rank_.size());
    for (std::size_t c = 0; c < communicators_.size(); ++c) {
      Communicator& communicator = communicators_[c];
      require_whole(communicator);
      if (communicator.ranks == 1) continue;
      drop_own(communicator);
      keep_common(communicator);
      keep_pairs(communicator);
      for (auto& [rank, calls] : communicator.calls) {
        const Endpoint& endpoint = endpoints_[communicator.endpoints.at(rank)];
        place(c, endpoint, calls, placed[static_cast<std::size_t>(endpoint.rank)]);
        calls = {};
      }
    }
    std::size_t count = 0;
    std::set<std::size_t> active;
    for (std::size_t r = 0; r < placed.size(); ++r) {
      std::ranges::stable_sort(placed[r], {}, [](const Placed& each) { return each.call.begin; });
      for (const Placed& each : placed[r]) {
        all.ranks[r].collectives.push_back(recorded(each, placed[r].front().call.begin));
        active.insert(each.communicator);
      }
      count += placed[r].size();
      placed[r] = {};
    }
    if (count == 0) throw InputError(fmt::format("{}: error: there is no call of NCCL that several ranks have", file_));
    all.notes.push_back(fmt::format("{} ranks, {} collectives and messages of {} communicators", all.ranks.size(),
                                    count, active.size()));
    all.notes.emplace_back(
        has_times_ ? "what passes between them is kept as computing that waits for those before it: what a GPU "
                     "computes beside them is not recorded"
                   : "the files do not say when (NCCL_INSPECTOR_DUMP_VERBOSE=1): communicators run beside each other, "
                     "and nothing passes between their calls");
    std::ranges::move(notes_, std::back_inserter(all.notes));
    if (cut_ > 0) all.notes.push_back(fmt::format("the first calls of {} files: more of them take over 1 GiB", cut_));
    if (left_out_ > 0) all.notes.push_back(fmt::format("{} calls that not all ranks have are left out", left_out_));
    if (lost_ > 0) all.notes.push_back(fmt::format("the recorder has lost {} calls", lost_));
    if (of_host_ > own_) all.notes.push_back(fmt::format("{} calls have the host's times", of_host_ - own_));
    if (own_ > 0) all.notes.push_back(fmt::format("{} ends of messages of ranks to themselves are left out", own_));
    return all;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw InputError(fmt::format("{}:{}: error: {}", file_, line_, what));
  }

  /// Whose the lines behind it are.
  struct Header {
    std::size_t communicator = 0;
    int rank = 0;
    std::size_t endpoint = 0;
  };

  void take(const json& line) {
    if (line.contains("header")) note_header(line.at("header"), line.at("metadata"));
    const bool is_message = line.contains("p2p_perf");
    if (line.contains("dump_stats")) note_losses(line.at("dump_stats"));
    if (!is_message && !line.contains("coll_perf")) return;
    if (!header_) refuse("a call whose communicator is said nowhere before");
    const json& told = line.at(is_message ? "p2p_perf" : "coll_perf");
    const std::string kind = is_message ? "p2p" : "coll";
    const auto name = told.at(kind).get<std::string>();
    const auto* const known = std::ranges::find(kFunctions, name, &Function::theirs);
    if (known == kFunctions.end()) refuse(fmt::format("'{}' is no collective that is known here", name));
    Communicator& communicator = communicators_[header_->communicator];
    Call call{.bytes = told.at(kind + "_msg_size_bytes").get<std::uint64_t>(),
              .number = told.at(kind + "_sn").get<std::uint64_t>(),
              .line = line_,
              .function = static_cast<std::uint8_t>(known - kFunctions.begin())};
    if (known->is_of_each) call.bytes *= static_cast<std::uint64_t>(communicator.ranks);
    constexpr std::uint64_t kMost = std::uint64_t{1} << 40U;
    if (call.bytes > kMost) refuse("more than 1 TiB");
    if (is_message) {
      call.peer = told.at("p2p_peer").get<int>();
      if (call.peer < 0 || call.peer >= communicator.ranks) refuse(fmt::format("there is no rank {}", call.peer));
    }
    note_times(told, kind, call);
    communicator.calls[header_->rank].push_back(call);
    room_ -= kPerCall + communicator.ranks * static_cast<std::int64_t>(sizeof(int));
  }

  void note_header(const json& header, const json& metadata) {
    const auto version = metadata.at("inspector_output_format_version").get<std::string>();
    if (!version.starts_with("v4.")) refuse(fmt::format("dumps of format {} are not known here; v4 is", version));
    const auto id = header.at("id").get<std::string>();
    const int rank = header.at("rank").get<int>();
    const int ranks = header.at("n_ranks").get<int>();
    if (ranks < 1 || ranks > static_cast<int>(workloads::goal::kMostRanks) || rank < 0 || rank >= ranks) {
      refuse(fmt::format("rank {} of {}", rank, ranks));
    }
    const auto [place, is_new] = by_id_.try_emplace(id, communicators_.size());
    if (is_new) communicators_.push_back({.id = id, .ranks = ranks});
    Communicator& communicator = communicators_[place->second];
    if (communicator.ranks != ranks) {
      refuse(fmt::format("communicator {} has {} ranks, and elsewhere {}", id, ranks, communicator.ranks));
    }
    const std::size_t endpoint = endpoint_of(place->second, rank, metadata);
    const auto [member, first] = communicator.endpoints.try_emplace(rank, endpoint);
    if (!first && member->second != endpoint) {
      refuse(fmt::format("rank {} of communicator {} is also in {}", rank, id, endpoints_[member->second].file));
    }
    header_ = {place->second, rank, endpoint};
  }

  /// A file is one GPU's, or all ranks of the one communicator of a process.
  std::size_t endpoint_of(std::size_t communicator, int rank, const json& metadata) {
    for (const auto& [key, endpoint] : endpoint_of_) {
      if (key == std::pair(communicator, rank)) return endpoint;
      if (key.first == communicator) has_several_ = true;
    }
    std::size_t endpoint = endpoints_.size();
    if (!endpoint_of_.empty() && !has_several_) endpoint = endpoint_of_.begin()->second;
    if (has_several_ &&
        std::ranges::any_of(endpoint_of_, [&](const auto& each) { return each.first.first != communicator; })) {
      refuse("a process with several GPUs and several communicators: which of them are of one GPU is said nowhere");
    }
    if (endpoint == endpoints_.size()) {
      const std::int64_t said = metadata.value("job_rank", std::int64_t{-1});
      endpoints_.push_back(
          {.order = {said < 0 ? INT64_MAX : said, metadata.value("hostname", ""),
                     metadata.value("pid", std::int64_t{0}), metadata.value("device", std::int64_t{-1}), rank},
           .file = file_});
    }
    endpoint_of_[{communicator, rank}] = endpoint;
    return endpoint;
  }

  void note_losses(const json& stats) {
    if (!header_) return;
    const std::uint64_t messages = stats.value("p2p_dropped_since_last_dump", std::uint64_t{0});
    communicators_[header_->communicator].lost_messages += messages;
    lost_ += messages + stats.value("coll_dropped_since_last_dump", std::uint64_t{0});
  }

  void note_times(const json& told, const std::string& kind, Call& call) {
    constexpr std::int64_t kNsPerUs = 1000;
    Endpoint& endpoint = endpoints_[header_->endpoint];
    if (told.contains(kind + "_begin_ns")) {
      call.begin = told.at(kind + "_begin_ns").get<std::int64_t>();
      call.end = told.at(kind + "_end_ns").get<std::int64_t>();
      call.is_of_host = told.at(kind + "_timing_source").get_ref<const std::string&>() != "kernel_gpu";
      if (!call.is_of_host) {
        const auto called = told.at(kind + "_call_ns").get<std::int64_t>();
        if (called < 0 || call.begin < 0) refuse("a time out of range");
        endpoint.launch = std::min(endpoint.launch, call.begin - called);
      }
      of_host_ += call.is_of_host ? 1 : 0;
    } else if (told.contains("event_trace_ts")) {
      const json& trace = told.at("event_trace_ts");
      call.begin = INT64_MAX;
      for (const json& channel : trace.at("kernel_events")) {
        const auto begin = channel.at("kernel_start_ts").get<std::int64_t>();
        if (begin <= 0) continue;  // The channel was not seen.
        call.begin = std::min(call.begin, begin);
        call.end = std::max(call.end, channel.at("kernel_stop_ts").get<std::int64_t>());
      }
      if (call.begin == INT64_MAX) {
        call.begin = trace.at(kind + "_start_ts").get<std::int64_t>();
        call.end = trace.at(kind + "_stop_ts").get<std::int64_t>();
      }
      if (call.begin > INT64_MAX / kNsPerUs || call.end > INT64_MAX / kNsPerUs) refuse("a time out of range");
      call.begin *= kNsPerUs;
      call.end *= kNsPerUs;
    } else {
      has_times_ = false;
    }
    constexpr std::int64_t kLatest = std::int64_t{1} << 61U;
    if (call.begin < 0 || call.end < call.begin || call.end > kLatest) refuse("a call that ends before it begins");
  }

  void number_ranks() {
    for (const Endpoint& each : endpoints_) by_rank_.push_back(&each);
    std::ranges::sort(by_rank_, {}, [](const Endpoint* each) { return each->order; });
    const auto all = std::ranges::find_if(communicators_, [&](const Communicator& each) {
      return each.endpoints.size() == endpoints_.size() && static_cast<std::size_t>(each.ranks) == endpoints_.size();
    });
    if (all != communicators_.end()) {
      for (const auto& [rank, endpoint] : all->endpoints)
        by_rank_[static_cast<std::size_t>(rank)] = &endpoints_[endpoint];
    } else if (!by_rank_.empty() && std::get<0>(by_rank_.back()->order) == INT64_MAX) {
      notes_.emplace_back("no communicator has all ranks: they are numbered by host and process");
    }
    for (std::size_t r = 0; r < by_rank_.size(); ++r) {
      endpoints_[static_cast<std::size_t>(by_rank_[r] - endpoints_.data())].rank = static_cast<int>(r);
    }
  }

  void require_whole(const Communicator& communicator) const {
    const std::string& file = endpoints_[communicator.endpoints.begin()->second].file;
    for (int rank = 0; rank < communicator.ranks; ++rank) {
      if (communicator.endpoints.contains(rank)) continue;
      throw InputError(
          fmt::format("{}: error: communicator {} has {} ranks, and nothing is there of its rank {}; all "
                      "files of a job are needed, and of one job only",
                      file, communicator.id, communicator.ranks, rank));
    }
    if (communicator.lost_messages > 0) {
      throw InputError(
          fmt::format("{}: error: {} messages of communicator {} were lost, so that nobody knows which "
                      "belong together; record with a larger NCCL_INSPECTOR_DUMP_P2P_RING_SIZE",
                      file, communicator.lost_messages, communicator.id));
    }
  }

  static bool is_message(const Call& call) { return call.function >= kSend; }

  /// Collectives that all members have, in the first one's order at all of them, behind which messages follow.
  void keep_common(Communicator& communicator) {
    std::vector<std::pair<std::uint8_t, std::uint64_t>> common;
    for (int rank = 0; rank < communicator.ranks; ++rank) {
      std::vector<Call>& calls = communicator.calls[rank];
      std::ranges::sort(calls, {}, [](const Call& c) { return std::tuple(is_message(c), c.key(), c.line); });
      std::vector<std::pair<std::uint8_t, std::uint64_t>> mine;
      for (const Call& call : calls) {
        if (!is_message(call)) mine.push_back(call.key());
      }
      if (rank > 0) {
        std::vector<std::pair<std::uint8_t, std::uint64_t>> both;
        std::ranges::set_intersection(common, mine, std::back_inserter(both));
        mine = std::move(both);
      }
      common = std::move(mine);
    }
    std::vector<std::size_t> order(common.size());
    for (auto& [rank, calls] : communicator.calls) {
      std::vector<Call> kept;
      auto next = common.begin();
      std::vector<Call> messages;
      for (const Call& call : calls) {
        if (is_message(call)) {
          messages.push_back(call);
        } else if (next != common.end() && *next == call.key()) {
          kept.push_back(call);
          ++next;
        } else {
          ++left_out_;
        }
      }
      if (rank == 0) {
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(kept[i].begin, kept[i].line); });
      }
      calls.clear();
      for (const std::size_t i : order) calls.push_back(kept[i]);
      std::ranges::copy(messages, std::back_inserter(calls));
    }
  }

  /// What a rank sends to itself is a copy within its GPU. NCCL makes it beside the kernel, and tells the host's times.
  void drop_own(Communicator& communicator) {
    for (auto& [rank, calls] : communicator.calls) {
      own_ += std::erase_if(
          calls, [at = rank](const Call& call) { return is_message(call) && call.peer == at && call.is_of_host; });
    }
  }

  /// Messages of which both ends are recorded: the first ones of each pair.
  void keep_pairs(Communicator& communicator) {
    std::map<std::pair<int, int>, std::array<std::size_t, 2>> pairs;  // from and to: sent and received
    const auto ends = [](int rank, const Call& call) {
      return call.function == kSend ? std::pair(rank, call.peer) : std::pair(call.peer, rank);
    };
    for (const auto& [rank, calls] : communicator.calls) {
      for (const Call& call : calls) {
        if (is_message(call)) ++pairs[ends(rank, call)][call.function - kSend];
      }
    }
    for (auto& [rank, calls] : communicator.calls) {
      std::map<std::pair<int, int>, std::size_t> kept;
      left_out_ += std::erase_if(calls, [&, at = rank](const Call& call) {
        if (!is_message(call)) return false;
        const std::array<std::size_t, 2>& both = pairs.at(ends(at, call));
        // A message to oneself has two ends at one rank.
        std::size_t& count = kept[{call.function, call.peer}];
        return ++count > std::min(both[0], both[1]);
      });
    }
  }

  struct Placed {
    std::size_t communicator = 0;
    std::int64_t stream = 0;
    Call call{};
  };

  /// What is under way at once is in streams of its own; collectives, and messages of a pair, begin one after the
  /// other.
  void place(std::size_t communicator, const Endpoint& endpoint, const std::vector<Call>& calls,
             std::vector<Placed>& placed) {
    struct Before {
      std::int64_t begin = 0;
      std::int64_t stream = 0;
    };
    std::map<std::pair<std::uint8_t, int>, Before> before;  // collectives, or a pair and direction
    const std::size_t first = placed.size();
    for (Call call : calls) {
      if (call.is_of_host && endpoint.launch != INT64_MAX) {
        call.begin += endpoint.launch;
        call.end += endpoint.launch;
      }
      if (!has_times_) std::tie(call.begin, call.end) = std::pair(0, 1);
      const std::pair kind(is_message(call) ? call.function : std::uint8_t{0}, call.peer);
      const auto [last, is_first] = before.try_emplace(kind, Before{call.begin, next_stream_});
      if (is_first) ++next_stream_;
      call.begin = last->second.begin = std::max(call.begin, last->second.begin);
      call.end = std::max(call.end, call.begin);
      placed.push_back({communicator, last->second.stream, call});
    }
    if (!has_times_) return;
    const auto mine = std::ranges::subrange(placed.begin() + static_cast<std::ptrdiff_t>(first), placed.end());
    std::ranges::stable_sort(mine, {}, [](const Placed& each) { return each.call.begin; });
    std::vector<std::int64_t> ends;
    for (Placed& each : mine) {
      auto lane = std::ranges::find_if(ends, [&](std::int64_t end) { return end <= each.call.begin; });
      if (lane == ends.end()) lane = ends.insert(lane, 0);
      *lane = each.call.end;
      each.stream = next_stream_ + (lane - ends.begin());
    }
    next_stream_ += static_cast<std::int64_t>(ends.size());
  }

  /// Everything has been launched at the start: nobody knows what the host has waited for.
  [[nodiscard]] RecordedCollective recorded(const Placed& placed, std::int64_t zero) const {
    const Communicator& communicator = communicators_[placed.communicator];
    const Call& call = placed.call;
    RecordedCollective all{.what = std::string(kFunctions.at(call.function).ours),
                           .group = communicator.id,
                           .bytes = call.bytes,
                           .when = {call.begin - zero, call.end - zero},
                           .stream = placed.stream,
                           .launched = 0};
    for (const auto& [rank, endpoint] : communicator.endpoints) {
      if (!is_message(call) || rank == call.peer) all.ranks.push_back(endpoints_[endpoint].rank);
    }
    return all;
  }

  std::string file_{};
  std::uint32_t line_ = 0;
  std::int64_t room_ = 0;
  std::size_t cut_ = 0;  ///< files
  std::optional<Header> header_{};
  std::map<std::pair<std::size_t, int>, std::size_t> endpoint_of_{};  ///< communicator and rank, in this file
  bool has_several_ = false;                                          ///< ranks of a communicator in this file
  std::vector<Endpoint> endpoints_{};
  std::vector<const Endpoint*> by_rank_{};
  std::vector<Communicator> communicators_{};
  std::map<std::string, std::size_t> by_id_{};
  std::vector<std::string> notes_{};
  bool has_times_ = true;
  std::size_t left_out_ = 0;
  std::uint64_t lost_ = 0;
  std::size_t of_host_ = 0;
  std::size_t own_ = 0;
  std::int64_t next_stream_ = 0;
};

}  // namespace

bool is_nccl_record(Word beginning) {
  const std::size_t first = beginning.find_first_not_of(" \t\r\n");
  if (first == Word::npos || beginning[first] != '{') return false;
  const Word line = beginning.substr(0, beginning.find('\n', first));
  return line.find("\"inspector_output_format_version\"") != Word::npos;
}

Profiles read_nccl_records(const std::vector<std::filesystem::path>& files) {
  RecordReader reader;
  constexpr std::int64_t kRoom = std::int64_t{1} << 30U;
  for (const std::filesystem::path& file : files) reader.read(file, kRoom / static_cast<std::int64_t>(files.size()));
  return reader.profiles();
}

}  // namespace twinlink::bench
