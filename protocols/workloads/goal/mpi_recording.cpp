#include "protocols/workloads/goal/mpi_recording.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "protocols/core/errors.hpp"
#include "protocols/core/units.hpp"
#include "protocols/workloads/catalogue.hpp"
#include "protocols/workloads/goal/mpi_matching.hpp"
#include "protocols/workloads/goal/task_text.hpp"
#include "protocols/workloads/goal/trace.hpp"

namespace twinlink::workloads::goal {

using mpi::Call;
using mpi::End;
using mpi::Joined;
using mpi::Key;
using mpi::Kind;
using mpi::OwnCommunicators;
using mpi::refuse_file;
using mpi::Requests;
using mpi::What;

namespace {

bool has_root(What what) {
  return what == What::broadcast || what == What::reduce || what == What::gather || what == What::scatter ||
         what == What::gather_blocks || what == What::scatter_blocks;
}
bool has_blocks(What what) { return what >= What::gather_blocks; }

std::string time_of(std::uint64_t ns) {
  constexpr double kNanosecond = 1e-9;
  return format_seconds(Seconds(static_cast<double>(ns) * kNanosecond));
}

}  // namespace

struct MpiRecording::Findings {
  struct Other {
    std::uint64_t calls = 0;
    std::uint64_t took = 0;
  };
  mpi::Communicators communicators{};
  std::unordered_map<Key, std::array<std::uint32_t, 2>, mpi::KeyHash> messages{};  ///< sent and received
  std::map<std::string, Other> others{};
  std::vector<std::string> cut{};
  std::vector<std::uint64_t> late{};
  std::vector<std::size_t> groups{};  ///< the communicators whose collectives are GOAL's
  std::vector<std::vector<int>> members{};
  std::uint64_t calls = 0;
  std::uint64_t sent = 0;
  std::uint64_t collectives = 0;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_of_devices = 0;
  std::uint64_t foreign = 0;
  std::uint64_t alone = 0;                        ///< messages and collectives without their other ends
  std::uint64_t took = 0;                         ///< ns
  std::map<std::string, std::uint64_t> synced{};  ///< by host, from MPI_Init to MPI_Finalize

  void look_at(const mpi::RankCalls& calls, int rank, std::size_t ranks);
  void join(const Call& call, OwnCommunicators& view);
  void settle();
};

void MpiRecording::Findings::join(const Call& call, OwnCommunicators& view) {
  OwnCommunicators::Known& known = view.of(call);
  mpi::Shared& shared = communicators.at(known.number);
  if (shared.has_two_sides) refuse_file(view.file(), "a collective of a communicator with two sides");
  const std::uint64_t place = known.collectives++;
  if (has_root(call.what)) static_cast<void>(view.rank_at(known, call.root));
  if (place == shared.joined.size()) {
    const bool other_root = has_root(call.what) && view.rank_at(known, call.root) != std::ranges::min(shared.ranks);
    shared.joined.push_back(
        {call.what, has_blocks(call.what) || call.what == What::scan || other_root, 0, call.root, call.bytes});
    ++collectives;
  }
  Joined& joined = shared.joined[place];
  ++joined.members;
  if (joined.what != call.what || joined.root != call.root || (!has_blocks(call.what) && joined.bytes != call.bytes)) {
    refuse_file(view.file(), "its " + std::to_string(place + 1) + ". collective in a communicator of " +
                                 std::to_string(shared.ranks.size()) +
                                 " ranks is another one, or of another length, than " + "that of the ranks before it");
  }
}

void MpiRecording::Findings::look_at(const mpi::RankCalls& calls_of, int rank, std::size_t ranks) {
  OwnCommunicators view(communicators, rank, ranks, calls_of.file);
  const Requests requests(calls_of);
  std::vector<std::string> names;
  std::uint64_t request = 0;
  std::uint64_t time = 0;
  bool has_ended = false;
  const auto count = [&](const Key& key, bool sends, std::uint64_t length, bool of_device) {
    ++messages[key][sends ? 0 : 1];
    if (!sends) return;
    ++sent;
    bytes += length;
    if (of_device) bytes_of_devices += length;
  };
  const std::uint64_t left = calls_of.each([&](const Call& call) {
    if (call.kind != Kind::communicator && call.kind != Kind::name) ++calls;
    if (call.thread == 0) time += call.gap + (call.kind == Kind::end ? 0 : call.took);
    const Requests::One* const one = call.requested ? &requests.at(request++) : nullptr;
    switch (call.kind) {
      case Kind::communicator:
        view.add(call);
        return;
      case Kind::name:
        names.push_back(call.name);
        return;
      case Kind::other: {
        if (call.bytes >= names.size()) refuse_file(calls_of.file, "a call has a name that is not there");
        Other& other = others[names[call.bytes]];
        ++other.calls;
        other.took += call.took;
        return;
      }
      case Kind::end:
        has_ended = true;
        synced[calls_of.host] = std::max(synced[calls_of.host], time + call.took);
        return;
      case Kind::wait:
      case Kind::poll:
        return;
      default:
        break;
    }
    const OwnCommunicators::Known& known = view.of(call);
    if (known.number == OwnCommunicators::kForeign) {
      ++foreign;
      return;
    }
    if (call.kind == Kind::collective) return join(call, view);
    const bool sends = call.kind == Kind::send || (call.kind == Kind::both && call.peer != 0);
    if (sends && (one == nullptr || one->how != End::cancelled)) {
      count(view.sent(known, call.peer, call.tag), true, call.bytes, call.of_device);
    }
    if (call.kind == Kind::both && call.received.peer != 0) {
      count(view.received(known, call.received.peer, call.received.tag), false, 0, false);
    }
    if (call.kind != Kind::receive) return;
    if (one == nullptr) {
      count(view.received(known, call.peer, call.tag), false, 0, false);
    } else if (one->is_over && one->how == End::received) {
      count(view.received(known, one->place, one->tag), false, 0, false);
    }
  });
  if (left > 0) cut.push_back(calls_of.file + " is cut: " + std::to_string(left) + " bytes at its end are left out");
  if (!has_ended) {
    cut.push_back(calls_of.file + " ends after " + time_of(time) + ", before MPI_Finalize, and the job with it");
  }
  took = std::max(took, time + late[static_cast<std::size_t>(rank)]);
}

/// What all files have been seen for.
void MpiRecording::Findings::settle() {
  for (const auto& [key, ends] : messages) alone += std::max(ends[0], ends[1]) - std::min(ends[0], ends[1]);
  // Those whose other ends are there are all that is asked for from now on.
  std::erase_if(messages, [](const auto& each) { return each.second[0] == each.second[1]; });
  for (std::size_t i = 0; i < communicators.all().size(); ++i) {
    const mpi::Shared& shared = communicators.at(i);
    bool is_group = false;
    for (const Joined& joined : shared.joined) {
      if (joined.members < shared.ranks.size()) {
        if (cut.empty()) {
          refuse_file("the job", "a collective of " + std::to_string(shared.ranks.size()) + " ranks has " +
                                     std::to_string(joined.members) + " of them. Is a file from another run?");
        }
        ++alone;
      }
      is_group = is_group || !joined.in_messages;
    }
    if (!is_group || shared.ranks.size() < 2) continue;
    groups.push_back(i);
    members.push_back(shared.ranks);
    std::ranges::sort(members.back());
  }
}

namespace {

/// A rank's text.
class MpiWriter {
 public:
  MpiWriter(OwnCommunicators view, int rank, const Requests& requests)
      : view_(std::move(view)), rank_(rank), requests_(requests) {}

  OwnCommunicators& view() { return view_; }
  Tasks& tasks() { return tasks_; }

  void begin(std::uint64_t late) { of(0).computed = late; }

  /// The time before a call.
  void pass(const Call& call) {
    Thread& thread = of(call.thread);
    const bool asks = call.kind == Kind::poll || call.kind == Kind::wait;
    if (!thread.polls || !asks || call.gap >= mpi::kPolling) thread.computed += call.gap;
    thread.polls = call.kind == Kind::poll;
    if (call.kind == Kind::other) thread.computed += call.took;
  }

  /// What the call's thread has done so far, as tasks.
  const Labels& host(std::uint64_t number) {
    Thread& thread = of(number);
    if (thread.computed > 0) {
      thread.host = {tasks_.calc(std::exchange(thread.computed, 0), number, thread.host)};
    }
    thread.host = tasks_.join(thread.host);
    return thread.host;
  }
  void host_is(std::uint64_t thread, Labels labels) { of(thread).host = std::move(labels); }

  /// Of a request: what it has begun, and behind what.
  void begun(std::uint64_t request, Labels labels, std::uint64_t thread) {
    under_way_[request] = {std::move(labels), of(thread).host};
  }
  void wait(const Call& call) {
    const auto ended = [&](const mpi::Ended& each) { return under_way_.contains(each.request); };
    if (std::ranges::none_of(call.ended, ended)) return;
    const Labels after = of(call.thread).computed > 0 ? host(call.thread) : of(call.thread).host;
    Labels all;
    bool follows = after.empty();
    for (const mpi::Ended& each : call.ended) {
      const auto found = under_way_.find(each.request);
      if (found == under_way_.end()) continue;
      all.insert(all.end(), found->second.labels.begin(), found->second.labels.end());
      follows = follows || found->second.after == after;
      under_way_.erase(found);
    }
    if (!follows) all.insert(all.begin(), after.begin(), after.end());
    of(call.thread).host = std::move(all);
  }

  Labels message(bool sends, std::uint64_t bytes, const Key& key, const Labels& after) {
    return {tasks_.message(sends, bytes, sends ? key.to : key.from, key.tag, after)};
  }

  /// The rank's part of a collective that GOAL does not have, or not with this root.
  Labels in_messages(const Call& call, const OwnCommunicators::Known& known, const Labels& after);

 private:
  struct Thread {
    Labels host{};
    std::uint64_t computed = 0;
    bool polls = false;
  };
  struct UnderWay {
    Labels labels{};
    Labels after{};
  };
  Thread& of(std::uint64_t number) { return threads_[number]; }

  OwnCommunicators view_;
  int rank_;
  const Requests& requests_;
  Tasks tasks_{};
  std::map<std::uint64_t, Thread> threads_{};
  std::unordered_map<std::uint64_t, UnderWay> under_way_{};
};

/// Messages of collectives have a tag for each communicator, which no message of the program has.
constexpr std::uint64_t kOfCollectives = std::uint64_t{1} << 62U;

Labels MpiWriter::in_messages(const Call& call, const OwnCommunicators::Known& known, const Labels& after) {
  const std::vector<int>& ranks = known.peers;
  const std::size_t count = ranks.size();
  const auto self = static_cast<std::size_t>(std::ranges::find(ranks, rank_) - ranks.begin());
  const std::uint64_t tag = kOfCollectives | known.number;
  Labels last = after;
  Labels all;
  const auto put = [&](bool sends, std::uint64_t bytes, std::size_t peer) {
    if (bytes == 0 || peer == self) return;
    all.push_back(tasks_.message(sends, bytes, ranks[peer], tag, last));
  };
  const std::size_t root = call.root == 0 ? 0 : call.root - 1;
  const std::size_t behind = (self + count - root) % count;
  switch (call.what) {
    case What::broadcast:
    case What::reduce: {
      // A binomial tree: who is 2^k behind the root has those of less than 2^k behind itself below.
      const bool down = call.what == What::broadcast;
      const std::size_t reach = behind == 0 ? std::bit_ceil(count) : behind & (~behind + 1);
      const std::size_t parent = (behind - (behind == 0 ? 0 : reach) + root) % count;
      const auto to_children = [&] {
        for (std::size_t step = reach / 2; step > 0; step /= 2) {
          if (behind + step < count) put(down, call.bytes, (behind + step + root) % count);
        }
      };
      if (!down) {
        to_children();
        if (!all.empty()) last = tasks_.join(std::exchange(all, {}));
      }
      if (behind != 0) put(!down, call.bytes, parent);
      if (down) {
        if (!all.empty()) last = std::exchange(all, {});
        to_children();
      }
      break;
    }
    case What::scan:
      if (self > 0) put(false, call.bytes, self - 1);
      if (!all.empty()) last = std::exchange(all, {});
      if (self + 1 < count) put(true, call.bytes, self + 1);
      break;
    case What::gather:
    case What::scatter:
    case What::gather_blocks:
    case What::scatter_blocks: {
      const bool out = call.what == What::scatter || call.what == What::scatter_blocks;
      if (behind != 0) {
        put(!out, call.bytes, root);
      } else {
        for (std::size_t i = 0; i < count; ++i) put(out, call.numbers.empty() ? call.bytes : call.numbers.at(i), i);
      }
      break;
    }
    default:
      for (std::size_t i = 0; i < count; ++i) {
        put(true, call.numbers.at(i), i);
        put(false, call.numbers.at(count + i), i);
      }
  }
  return all.empty() ? last : all;
}

/// The catalogue's size of a collective that is GOAL's.
std::uint64_t size_of(const Joined& joined, std::size_t ranks) {
  if (joined.what == What::barrier) return kElement.count();
  return joined.what == What::gather || joined.what == What::scatter ? joined.bytes * ranks : joined.bytes;
}

}  // namespace

MpiRecording::MpiRecording(std::vector<mpi::RankCalls> ranks)
    : ranks_(std::move(ranks)), found_(std::make_unique<Findings>()) {
  std::map<std::string, std::uint64_t> first;
  for (const mpi::RankCalls& rank : ranks_) {
    const auto [place, is_new] = first.try_emplace(rank.host, rank.begins);
    if (!is_new) place->second = std::min(place->second, rank.begins);
  }
  for (const mpi::RankCalls& rank : ranks_) found_->late.push_back(rank.begins - first.at(rank.host));
  for (std::size_t r = 0; r < ranks_.size(); ++r) found_->look_at(ranks_[r], static_cast<int>(r), ranks_.size());
  found_->settle();
}

MpiRecording::~MpiRecording() = default;

std::uint64_t MpiRecording::calls() const { return found_->calls; }

std::vector<std::string> MpiRecording::notes() const {
  const Findings& found = *found_;
  std::vector<std::string> notes{std::to_string(ranks_.size()) + " ranks, " + std::to_string(found.calls) +
                                 " calls of MPI with " + std::to_string(found.sent) + " messages and " +
                                 std::to_string(found.collectives) + " collectives, recorded in " +
                                 time_of(found.took)};
  if (found.bytes_of_devices > 0) {
    notes.push_back("of " + std::to_string(found.bytes) + " bytes of messages " +
                    std::to_string(found.bytes_of_devices) + " are sent from memory of GPUs");
  }
  for (const auto& [name, other] : found.others) {
    notes.push_back(name + " is not played, and its time counts as computing: " + std::to_string(other.calls) +
                    " calls, " + time_of(other.took));
  }
  if (found.foreign > 0) {
    notes.push_back(std::to_string(found.foreign) + " calls are with processes of another job, and are not played");
  }
  notes.insert(notes.end(), found.cut.begin(), found.cut.end());
  if (found.alone > 0) {
    notes.push_back(std::to_string(found.alone) + " messages and collectives have no other end, and are left out");
  }
  if (found.synced.size() > 1) {
    const auto by_time = [](const auto& one, const auto& other) { return one.second < other.second; };
    const auto [least, most] = std::ranges::minmax_element(found.synced, by_time);
    notes.push_back("clocks of " + std::to_string(found.synced.size()) + " hosts: " +
                    time_of(most->second - least->second) + " apart at the end, which is taken for nothing");
  }
  return notes;
}

void MpiRecording::write(const std::vector<std::string>& heading,
                         const std::function<void(std::string_view)>& to) const {
  Findings& found = *found_;
  std::string text;
  for (const std::string& line : heading) text += "// " + line + "\n";
  to(text + opening_of(ranks_.size(), found.members));
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const auto rank = static_cast<int>(r);
    const mpi::RankCalls& calls = ranks_[r];
    const Requests requests(calls);
    MpiWriter writer(OwnCommunicators(found.communicators, rank, ranks_.size(), calls.file), rank, requests);
    std::array<std::unordered_map<Key, std::uint32_t, mpi::KeyHash>, 2> seen;  // of those without another end
    const auto message = [&](bool sends, std::uint64_t bytes, const Key& key, const Labels& after) {
      const auto limit = found.messages.find(key);
      if (limit != found.messages.end()) {
        if (seen[sends ? 0 : 1][key]++ >= std::min(limit->second[0], limit->second[1])) return Labels();
      }
      return writer.message(sends, bytes, key, after);
    };
    writer.begin(found.late[r]);
    to("\nrank " + std::to_string(r) + " {\n");
    std::uint64_t request = 0;
    calls.each([&](const Call& call) {
      constexpr std::size_t kPart = std::size_t{1} << 20U;
      if (writer.tasks().text().size() > kPart) {
        to(writer.tasks().text());
        writer.tasks().forget();
      }
      writer.pass(call);
      const std::uint64_t number = request;
      if (call.requested) ++request;
      if (call.kind == Kind::communicator) return writer.view().add(call);
      if (call.kind == Kind::wait) return writer.wait(call);
      if (call.kind == Kind::end) return static_cast<void>(writer.host(call.thread));
      if (call.kind == Kind::name || call.kind == Kind::other || call.kind == Kind::poll) return;
      OwnCommunicators::Known& known = writer.view().of(call);
      if (known.number == OwnCommunicators::kForeign) return;
      Labels labels;
      if (call.kind == Kind::collective) {
        const mpi::Shared& shared = found.communicators.at(known.number);
        const Joined& joined = shared.joined[known.collectives++];
        const bool is_empty = joined.bytes == 0 && joined.what != What::barrier && !has_blocks(joined.what);
        if (joined.members < shared.ranks.size() || shared.ranks.size() < 2 || is_empty) return;
        const Labels after = writer.host(call.thread);
        if (joined.in_messages) {
          const bool all_ways = call.what == What::all_to_all_blocks;
          if (has_blocks(call.what) && (all_ways || !call.numbers.empty()) &&
              call.numbers.size() != shared.ranks.size() * (all_ways ? 2 : 1)) {
            refuse_file(calls.file, "a collective has another number of blocks than ranks");
          }
          labels = writer.in_messages(call, known, after);
        } else {
          const auto group = std::ranges::lower_bound(found.groups, known.number) - found.groups.begin();
          labels = {writer.tasks().collective(kCollectives.at(static_cast<std::size_t>(joined.what)),
                                              size_of(joined, shared.ranks.size()), static_cast<std::uint64_t>(group),
                                              after)};
        }
      } else {
        const Labels after = writer.host(call.thread);
        const auto add = [&](const Labels& more) { labels.insert(labels.end(), more.begin(), more.end()); };
        const Requests::One* const one = call.requested ? &requests.at(number) : nullptr;
        if (call.kind == Kind::send || (call.kind == Kind::both && call.peer != 0)) {
          if (one != nullptr && one->how == End::cancelled) return;
          add(message(true, call.bytes, writer.view().sent(known, call.peer, call.tag), after));
        }
        if (call.kind == Kind::both && call.received.peer != 0) {
          add(message(false, call.received.bytes, writer.view().received(known, call.received.peer, call.received.tag),
                      after));
        }
        if (call.kind == Kind::receive && one == nullptr) {
          add(message(false, call.bytes, writer.view().received(known, call.peer, call.tag), after));
        } else if (call.kind == Kind::receive && one->is_over && one->how == End::received) {
          add(message(false, one->bytes, writer.view().received(known, one->place, one->tag), after));
        }
      }
      if (labels.empty()) return;
      if (call.requested) {
        writer.begun(number, std::move(labels), call.thread);
      } else {
        writer.host_is(call.thread, std::move(labels));
      }
    });
    to(writer.tasks().text() + "}\n");
  }
}

}  // namespace twinlink::workloads::goal
