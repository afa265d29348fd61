#include "protocols/bench/workload/recorded/kineto_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
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
using workloads::goal::RankRecording;
using workloads::goal::RecordedCollective;

constexpr const char* kParameters = "record_param_comms";  ///< what PyTorch calls before each collective

bool is_of_gpu(std::string_view category) {
  return category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset";
}
/// Of CUDA or HIP, by which the host launches and waits.
bool is_call(std::string_view category) { return category == "cuda_runtime" || category == "cuda_driver"; }

/// Of the events only those of the GPU, and what the program says of its collectives: profiles are large.
bool is_wanted(const json& event) {
  const std::string category = event.value("cat", "");
  return is_of_gpu(category) || is_call(category) || (category == "cpu_op" && event.value("name", "") == kParameters);
}

json wanted_of(std::istream& stream, const std::string& file) {
  constexpr int kDeepest = 100;
  try {
    return json::parse(stream, [&](int depth, json::parse_event_t event, const json& parsed) {
      if (depth > kDeepest) throw InputError(fmt::format("{}: error: nested too deeply", file));
      constexpr int kEvents = 2;  // within the object and the list of events
      if (event != json::parse_event_t::object_end || depth != kEvents || !parsed.contains("ph")) return true;
      return is_wanted(parsed);
    });
  } catch (const json::parse_error& error) {
    throw InputError(fmt::format("{}: error: not JSON: {}", file, bench::json_fault(error)));
  }
}

using Word = std::string_view;

/// Bytes of an element, by the names of PyTorch's types.
std::optional<std::uint64_t> bytes_of(Word type) {
  constexpr std::array<std::pair<Word, std::uint64_t>, 16> kTypes{{{"Byte", 1},
                                                                   {"Char", 1},
                                                                   {"Bool", 1},
                                                                   {"Short", 2},
                                                                   {"UInt16", 2},
                                                                   {"Half", 2},
                                                                   {"BFloat16", 2},
                                                                   {"Int", 4},
                                                                   {"UInt32", 4},
                                                                   {"Float", 4},
                                                                   {"ComplexHalf", 4},
                                                                   {"Long", 8},
                                                                   {"UInt64", 8},
                                                                   {"Double", 8},
                                                                   {"ComplexFloat", 8},
                                                                   {"ComplexDouble", 16}}};
  if (type.starts_with("Float8_")) return 1;
  const auto* const found = std::ranges::find(kTypes, type, &std::pair<Word, std::uint64_t>::first);
  if (found == kTypes.end()) return std::nullopt;
  return found->second;
}

/// What we call a collective of PyTorch's; empty: nothing that is known.
std::string catalogue_name(Word name) {
  constexpr std::array<std::pair<Word, Word>, 14> kNames{{{"allreduce", "all-reduce"},
                                                          {"all_reduce", "all-reduce"},
                                                          {"allgather", "all-gather"},
                                                          {"all_gather", "all-gather"},
                                                          {"reduce_scatter", "reduce-scatter"},
                                                          {"broadcast", "broadcast"},
                                                          {"reduce", "reduce"},
                                                          {"gather", "gather"},
                                                          {"scatter", "scatter"},
                                                          {"all_to_all", "all-to-all"},
                                                          {"alltoall", "all-to-all"},
                                                          {"barrier", "all-reduce"},  // of one element
                                                          {"send", "send"},
                                                          {"recv", "recv"}}};
  if (name.starts_with("nccl:")) name.remove_prefix(5);
  if (name.starts_with('_')) name.remove_prefix(1);
  for (const auto& [theirs, ours] : kNames) {
    if (name.starts_with(theirs)) return std::string(ours);
  }
  return {};
}

/// "ncclDevKernel_AllReduce...", or of RCCL "void rcclGenericKernel<...>".
bool is_of_library(Word kernel) {
  constexpr Word kVoid = "void ";
  if (kernel.starts_with(kVoid)) kernel.remove_prefix(kVoid.size());
  return kernel.starts_with("nccl") || kernel.starts_with("rccl");
}

/// A list as JSON, or as the text "[0, 1, 2]"; nothing where something is left out of it.
std::optional<std::vector<std::uint64_t>> list_in(const json& args, const char* name) {
  if (!args.contains(name)) return std::nullopt;
  json list = args.at(name);
  if (list.is_string()) list = json::parse(list.get<std::string>(), nullptr, false);
  if (!list.is_array()) return std::nullopt;
  std::vector<std::uint64_t> numbers;
  for (const json& number : list) {
    if (!number.is_number_unsigned()) return std::nullopt;
    numbers.push_back(number.get<std::uint64_t>());
  }
  return numbers;
}

class Reader {
 public:
  Reader(std::istream& stream, std::string file) : file_(std::move(file)), profile_(wanted_of(stream, file_)) {
    if (!profile_.is_object() || !profile_.contains("traceEvents") || !profile_.at("traceEvents").is_array()) {
      refuse("no profile of PyTorch: it has no list 'traceEvents'");
    }
    recording_.file = file_;
  }

  /// The rank that the file says it is of.
  [[nodiscard]] std::uint64_t rank() const {
    const json::json_pointer where("/distributedInfo/rank");
    if (!profile_.contains(where) || !profile_.at(where).is_number_unsigned()) {
      refuse("it does not say whose it is: 'distributedInfo' has no 'rank'");
    }
    return profile_.at(where).get<std::uint64_t>();
  }

  RankRecording take() {
    note_groups();
    const json& events = profile_.at("traceEvents");
    for (const json& event : events) {
      if (!event.is_object() || !event.contains("args") || event.value("cat", "") != "cpu_op") continue;
      const json& args = event.at("args");
      if (args.contains("External id")) said_before_[args.at("External id").dump()] = &args;
    }
    double first = INFINITY;
    std::vector<const json*> calls;
    for (const json& event : events) {
      if (!is_timed(event)) continue;
      first = std::min(first, number(event, "ts"));
      if (const auto key = correlation_of(event); key && !is_call(event.value("cat", ""))) launches_.insert(*key);
      if (is_call(event.value("cat", ""))) calls.push_back(&event);
    }
    std::ranges::stable_sort(calls, {}, [this](const json* call) { return number(*call, "ts"); });
    for (const json* call : calls) note_call(*call);
    for (const json& event : events) {
      if (is_timed(event)) is_call(event.value("cat", "")) ? note_wait(event, first) : add(event, first);
    }
    if (recording_.collectives.empty()) refuse("it has no collective of NCCL or RCCL");
    return std::move(recording_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw InputError(fmt::format("{}: error: {}", file_, what));
  }
  static bool is_timed(const json& event) {
    return event.is_object() && event.value("ph", "") == "X" && event.value("cat", "") != "cpu_op";
  }
  /// What a call and that which it launched have in common.
  static std::optional<std::int64_t> correlation_of(const json& event) {
    const json::json_pointer where("/args/correlation");
    if (!event.contains(where) || !event.at(where).is_number_integer()) return std::nullopt;
    return event.at(where).get<std::int64_t>();
  }
  [[nodiscard]] double number(const json& event, const char* name) const {
    if (!event.contains(name) || !event.at(name).is_number() || !std::isfinite(event.at(name).get<double>())) {
      refuse(fmt::format("an event '{}' has no number '{}'", event.value("name", ""), name));
    }
    return event.at(name).get<double>();
  }

  /// Which ranks a group has: long lists are cut short at the collectives.
  void note_groups() {
    const json::json_pointer where("/distributedInfo/pg_config");
    if (!profile_.contains(where) || !profile_.at(where).is_array()) return;
    for (const json& group : profile_.at(where)) {
      if (!group.is_object()) continue;
      if (const auto ranks = list_in(group, "ranks")) groups_[group.value("pg_name", "")] = *ranks;
    }
  }

  [[nodiscard]] workloads::goal::Span span_of(const json& event, double first) const {
    constexpr double kMostTime = 1e12;
    const double begin = number(event, "ts") - first;
    const double duration = number(event, "dur");
    if (begin > kMostTime || duration < 0 || duration > kMostTime) {
      refuse(fmt::format("the event '{}' is of a time out of range", event.value("name", "")));
    }
    const auto ns = [](double us) { return static_cast<std::int64_t>(std::llround(us * 1e3)); };
    return {ns(begin), ns(begin + duration)};
  }

  /// Each thread has the waits of its next launch.
  void note_call(const json& call) {
    int& waits = event_waits_[thread_of(call)];
    if (call.value("name", "").ends_with("StreamWaitEvent")) ++waits;
    const auto key = correlation_of(call);
    if (!key || !launches_.contains(*key)) return;
    launching_.emplace_back(number(call, "ts"), thread_of(call));
    calls_.emplace(*key, Call{&call, std::exchange(waits, 0)});
  }

  static std::string thread_of(const json& call) { return call.contains("tid") ? call.at("tid").dump() : ""; }

  /// cudaDeviceSynchronize, cudaStreamSynchronize, hipEventSynchronize. While another thread launches, the host does
  /// not wait for this one.
  void note_wait(const json& event, double first) {
    if (!event.value("name", "").ends_with("Synchronize")) return;
    const double begin = number(event, "ts");
    const double end = begin + number(event, "dur");
    const auto within = std::ranges::upper_bound(launching_, begin, {}, &std::pair<double, std::string>::first);
    for (auto each = within; each != launching_.end() && each->first < end; ++each) {
      if (each->second != thread_of(event)) return;
    }
    recording_.waits.push_back(span_of(event, first));
  }

  void add(const json& event, double first) {
    const workloads::goal::Span when = span_of(event, first);
    std::optional<std::int64_t> launched;
    int event_waits = 0;
    if (const auto key = correlation_of(event); key && calls_.contains(*key)) {
      const Call& call = calls_.at(*key);
      launched = span_of(*call.event, first).begin;
      event_waits = call.event_waits;
    }
    // A clock of the GPU that is not the host's: nothing begins before it was launched.
    if (launched && *launched > when.begin) launched = when.begin;
    const std::string name = event.value("name", "");
    const json nothing = json::object();
    const json& own = event.contains("args") && event.at("args").is_object() ? event.at("args") : nothing;
    const std::int64_t stream =
        own.contains("stream") && own.at("stream").is_number_integer() ? own.at("stream").get<std::int64_t>() : 0;
    if (!is_of_library(name)) {
      recording_.kernels.push_back({when, stream, launched, event_waits});
    } else if (auto collective = collective_of(name, arguments_of(own))) {
      collective->when = when;
      collective->stream = stream;
      collective->launched = launched;
      recording_.collectives.push_back(std::move(*collective));
    }
  }

  /// A kernel says what it is, or else the call that has launched it.
  [[nodiscard]] const json& arguments_of(const json& own) const {
    if (own.contains("Collective name") || !own.contains("External id")) return own;
    const auto found = said_before_.find(own.at("External id").dump());
    return found == said_before_.end() ? own : *found->second;
  }

  /// Nothing for a group of one.
  [[nodiscard]] std::optional<RecordedCollective> collective_of(const std::string& kernel, const json& args) const {
    const std::string theirs = text(args, "Collective name");
    if (theirs.empty()) refuse(fmt::format("the kernel '{}' has no 'Collective name'", kernel));
    RecordedCollective all{.what = catalogue_name(theirs), .group = text(args, "Process Group Name")};
    if (theirs == "coalesced") {
      refuse(
          "'coalesced' is a batch of messages (batch_isend_irecv), and the profile tells neither their ranks nor their "
          "sizes. Profile with isend and irecv outside of a batch, or write these messages into the file by hand");
    }
    if (all.what.empty()) refuse(fmt::format("'{}' is no collective that is known here", theirs));
    const std::vector<std::uint64_t> ranks = ranks_of(all, args);
    if (ranks.size() == 1) return std::nullopt;
    const std::optional<std::uint64_t> element = bytes_of(text(args, "dtype"));
    const bool barrier = theirs.find("barrier") != std::string::npos;
    if (!element && !barrier) refuse(fmt::format("'{}' of '{}' is no type that is known", text(args, "dtype"), theirs));
    const std::uint64_t in = count(args, "In msg nelems", theirs) * element.value_or(1);
    const std::uint64_t out = count(args, "Out msg nelems", theirs) * element.value_or(1);
    all.bytes = in;
    if (all.what == "all-gather" || all.what == "gather") all.bytes = in * ranks.size();
    if (all.what == "reduce-scatter" || all.what == "scatter") all.bytes = out * ranks.size();
    if (all.what == "recv") all.bytes = std::max(in, out);
    if (barrier) all.bytes = workloads::kElement.count();
    if (all.what == "send" || all.what == "recv") {
      const char* const key = all.what == "send" ? "Dst Rank" : "Src Rank";
      const std::uint64_t peer = count(args, key, theirs);
      if (peer >= workloads::goal::kMostRanks)
        refuse(fmt::format("'{}' of '{}': there are no so many ranks", key, theirs));
      all.ranks = {static_cast<int>(peer)};
      return all;
    }
    for (const std::uint64_t rank : ranks) all.ranks.push_back(static_cast<int>(rank));
    if (all.what == "all-to-all") add_blocks(all, args, in, out, *element, theirs);
    return all;
  }

  /// Blocks that are not equal have their numbers of rows; a row is as long as all.
  void add_blocks(RecordedCollective& all, const json& args, std::uint64_t in, std::uint64_t out, std::uint64_t element,
                  const std::string& theirs) const {
    const auto to = list_in(args, "In split size").value_or(std::vector<std::uint64_t>{});
    const auto from = list_in(args, "Out split size").value_or(std::vector<std::uint64_t>{});
    const bool cut = text(args, "In split size").find("...") != std::string::npos;
    if (to.empty() && from.empty() && !cut) return;
    if (cut || to.size() != all.ranks.size() || from.size() != all.ranks.size()) {
      refuse(fmt::format("'{}' does not say all of its blocks", theirs));
    }
    const auto rows = [](const std::vector<std::uint64_t>& blocks) {
      std::uint64_t sum = 0;
      for (const std::uint64_t block : blocks) sum += block;
      return sum;
    };
    const auto lengths = [&](const std::vector<std::uint64_t>& blocks, std::uint64_t bytes) {
      const std::uint64_t sum = rows(blocks);
      if (bytes / element % std::max<std::uint64_t>(sum, 1) != 0 || (sum == 0 && bytes > 0)) {
        refuse(fmt::format("'{}' has blocks that do not make up its {} elements", theirs, bytes / element));
      }
      std::vector<std::uint64_t> all_bytes;
      for (const std::uint64_t block : blocks) all_bytes.push_back(sum == 0 ? 0 : bytes / sum * block);
      return all_bytes;
    };
    all.to = lengths(to, in);
    all.from = lengths(from, out);
  }

  [[nodiscard]] std::vector<std::uint64_t> ranks_of(const RecordedCollective& all, const json& args) const {
    std::vector<std::uint64_t> ranks;
    if (const auto said = list_in(args, "Process Group Ranks")) ranks = *said;
    const std::uint64_t size = args.contains("Group size") ? count(args, "Group size", all.what) : ranks.size();
    if (ranks.size() == size && size > 0) return checked(ranks);
    const auto known = groups_.find(all.group);
    if (known != groups_.end() && known->second.size() == size) return checked(known->second);
    refuse(fmt::format("which {} ranks are of the process group '{}' is said nowhere", size, all.group));
  }
  [[nodiscard]] std::vector<std::uint64_t> checked(std::vector<std::uint64_t> ranks) const {
    const std::set<std::uint64_t> different(ranks.begin(), ranks.end());
    if (different.size() == ranks.size() && *different.rbegin() < workloads::goal::kMostRanks) return ranks;
    refuse("a process group has a rank twice, or one out of range");
  }
  static std::string text(const json& args, const char* name) {
    return args.contains(name) && args.at(name).is_string() ? args.at(name).get<std::string>() : "";
  }
  [[nodiscard]] std::uint64_t count(const json& args, const char* name, const std::string& what) const {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 40U;
    if (args.contains(name) && args.at(name).is_number_unsigned() && args.at(name).get<std::uint64_t>() <= kMost) {
      return args.at(name).get<std::uint64_t>();
    }
    refuse(fmt::format("'{}' has no '{}' that is a number", what, name));
  }

  std::string file_;
  json profile_;
  RankRecording recording_{};
  std::map<std::string, std::vector<std::uint64_t>> groups_{};
  std::map<std::string, const json*> said_before_{};  ///< by external id
  struct Call {
    const json* event = nullptr;
    int event_waits = 0;  ///< of the same thread, since its launch before
  };
  std::unordered_map<std::int64_t, Call> calls_{};           ///< that have launched something, by correlation
  std::unordered_set<std::int64_t> launches_{};              ///< correlations of what the GPU did
  std::vector<std::pair<double, std::string>> launching_{};  ///< when, and by which thread
  std::map<std::string, int> event_waits_{};                 ///< by thread
};

}  // namespace

Profile read_profile(std::istream& stream, const std::string& file) {
  try {
    Reader reader(stream, file);
    const std::uint64_t rank = reader.rank();
    return {rank, reader.take()};
  } catch (const json::exception& error) {
    throw InputError(fmt::format("{}: error: no profile of PyTorch: {}", file, bench::json_fault(error)));
  }
}

Profiles read_profiles(const std::vector<std::filesystem::path>& files) {
  std::map<std::uint64_t, RankRecording> by_rank;
  for (const std::filesystem::path& file : files) {
    Profile profile = read_profile(*open_to_read(file), file.string());
    const auto [place, is_new] = by_rank.try_emplace(profile.rank, std::move(profile.recording));
    if (is_new) continue;
    throw InputError(
        fmt::format("{}: error: it is of rank {}, and so is {}", file.string(), profile.rank, place->second.file));
  }
  Profiles profiles;
  std::size_t computes = 0;
  std::size_t collectives = 0;
  for (auto& [rank, recording] : by_rank) {
    if (rank != profiles.ranks.size()) {
      throw InputError(fmt::format("{}: error: it is of rank {}, and rank {} has no file", recording.file, rank,
                                   profiles.ranks.size()));
    }
    computes += recording.kernels.size();
    collectives += recording.collectives.size();
    profiles.ranks.push_back(std::move(recording));
  }
  profiles.notes.push_back(fmt::format("{} ranks, {} collectives and messages, {} kernels and copies beside them",
                                       profiles.ranks.size(), collectives, computes));
  return profiles;
}

}  // namespace twinlink::bench
