#include "protocols/parts/meeting.hpp"

#include <array>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "protocols/core/tags.hpp"
#include "protocols/parts/shared_buffers.hpp"

namespace twinlink {
namespace {

struct MeetingLetter {
  enum class Kind : std::uint64_t { hello, welcome, beginning };
  Kind kind{};
  std::array<std::uint64_t, 2> nothing{};  ///< makes it a letter of a size that no other one has
  std::uint64_t to = 0;                    ///< the number of the end that it is for; a hello is for whoever comes
  std::uint64_t from = 0;                  ///< and of the one that tells it
};
static_assert(sizeof(MeetingLetter) == kMeetingLetter);

/// The next letter that is wanted, into `heard`; those before it are thrown away. Every hear is a step of these words.
Status hear_only(Rank& rank, RankId peer, Tag tag, std::string_view words,
                 const std::function<bool(const Message&)>& wanted, Message& heard, Seconds deadline) {
  for (;;) {
    rank.step(words);
    const Status status = wait(rank, rank.hear(peer, tag, heard), deadline);
    if (status != Status::delivered || wanted(heard)) return status;
  }
}

/// What has been told. It is waited for last: a letter may wait for room that the peer makes when it hears.
class Tells {
 public:
  Tells(Rank& rank, RankId peer) : rank_(rank), peer_(peer) {}
  /// Abandons what has not been settled: the meeting has failed.
  ~Tells() {
    try {
      for (const Op op : ops_) rank_.abandon(op);
    } catch (const Error&) {
      // The backend is in error. Whoever waits for it learns that, or has learnt it already.
    }
  }
  Tells(const Tells&) = delete;
  Tells& operator=(const Tells&) = delete;

  void tell(std::string_view words, Tag tag, const Message& message) {
    rank_.step(words);
    ops_.push_back(rank_.tell(peer_, tag, message));
  }
  Outcome settle(Seconds deadline) {
    while (!ops_.empty()) {
      const Op op = ops_.front();
      ops_.erase(ops_.begin());
      if (const Status status = wait(rank_, op, deadline); status != Status::delivered) {
        return {status, "what was told to connect was not taken"};
      }
    }
    return {};
  }

 private:
  Rank& rank_;
  RankId peer_;
  std::vector<Op> ops_;
};

/// Learns the numbers of the two ends.
Outcome introduce(Rank& rank, RankId peer, Tells& tells, MeetingNumbers& numbers, Seconds deadline) {
  Message heard;
  std::string_view words = "hear hello";
  rank.step(words);
  // No other operation of this rank ever has the number of this one, and so no other connection has it.
  Op hear = rank.hear(peer, tags::kMeeting, heard);
  numbers.mine = hear.id;
  try {
    tells.tell("tell hello", tags::kMeeting,
               Message(MeetingLetter{.kind = MeetingLetter::Kind::hello, .from = numbers.mine}));
  } catch (...) {
    rank.abandon(hear);  // it would write into what is gone then
    throw;
  }
  for (;;) {
    if (const Status status = wait(rank, hear, deadline); status != Status::delivered) {
      return did_not_connect(status, words);
    }
    const bool mark = heard.bytes().size() != kMeetingLetter;  // that nobody has heard
    const auto letter = mark ? MeetingLetter{} : heard.as<MeetingLetter>();
    const bool welcome = letter.kind == MeetingLetter::Kind::welcome && letter.to == numbers.mine;
    const bool hello = letter.kind == MeetingLetter::Kind::hello && !mark;
    // Usually the hello has been answered when the welcome comes. But an earlier connection may have taken it.
    if ((hello || welcome) && letter.from != numbers.theirs) {
      numbers.theirs = letter.from;
      tells.tell(
          "tell welcome", tags::kMeeting,
          Message(MeetingLetter{.kind = MeetingLetter::Kind::welcome, .to = numbers.theirs, .from = numbers.mine}));
      words = "hear welcome";
    }
    if (welcome) return {};
    rank.step(words);
    hear = rank.hear(peer, tags::kMeeting, heard);
  }
}

/// For the time of a meeting.
class Scratch {
 public:
  Scratch(Rank& rank, Memory memory) : rank_(rank), buffer_(rank.allocate(memory, 8_B)) {}
  ~Scratch() {
    // While an exception passes, a put may still use the memory; the rank frees it when it ends.
    if (std::uncaught_exceptions() > 0) return;
    try {
      rank_.release(buffer_);
    } catch (const Error&) {
      // A device in error releases nothing. Whoever uses it next learns that.
    }
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] Buffer buffer() const { return buffer_; }

 private:
  Rank& rank_;
  Buffer buffer_;
};

/// The signal with which those to the end of that number begin. It has room for 46 bits, and numbers may differ in the
/// upper ones only, where backends count, or in the lower ones. The multiple of the golden ratio spreads both, so that
/// numbers that are counted have other signals as long as nobody counts to 2^44.
Signal beginning_signal(Tag tag, std::uint64_t number) {
  constexpr int kBits = 46;
  static_assert(kBeginningSignal + (std::uint64_t{1} << kBits) - 1 == kMostSignal);
  return {tag, kBeginningSignal | (number * 0x9e3779b97f4a7c15U) >> (64 - kBits)};
}

}  // namespace

Outcome did_not_connect(Status status, std::string_view words) {
  return {status, "step '" + std::string(words) + "': the peer did not connect"};
}

Outcome meet(Rank& rank, RankId peer, std::span<const Tag> tags, Seconds deadline, MeetingNumbers& numbers) {
  Tells tells(rank, peer);
  if (Outcome outcome = introduce(rank, peer, tells, numbers, deadline); !outcome.ok()) return outcome;
  const MeetingLetter beginning{.kind = MeetingLetter::Kind::beginning, .to = numbers.theirs, .from = numbers.mine};
  for (const Tag tag : tags) tells.tell("tell beginning", tag, Message(beginning));
  const auto is_mine = [&](const Message& message) {
    if (message.bytes().size() != kMeetingLetter) return false;
    const auto letter = message.as<MeetingLetter>();
    return letter.kind == MeetingLetter::Kind::beginning && letter.to == numbers.mine;
  };
  for (const Tag tag : tags) {
    Message heard;
    const Status status = hear_only(rank, peer, tag, "hear beginning", is_mine, heard, deadline);
    if (status != Status::delivered) return did_not_connect(status, "hear beginning");
  }
  return tells.settle(deadline);
}

Outcome raise_beginning(Rank& rank, View there, View nothing, Stream stream, Tag tag, const MeetingNumbers& numbers,
                        Seconds deadline) {
  rank.step("raise beginning");
  const Op put = rank.put(there, nothing, stream, Engine::dma, beginning_signal(tag, numbers.theirs));
  const Status status = wait(rank, put, deadline);
  return status == Status::delivered ? Outcome{} : Outcome{status, "step 'raise beginning'"};
}

Outcome await_beginning(Rank& rank, RankId peer, Tag tag, const MeetingNumbers& numbers, Seconds deadline) {
  const std::uint64_t wanted = beginning_signal(tag, numbers.mine).value;
  for (;;) {
    std::uint64_t value = 0;
    rank.step("await beginning");
    const Status status = wait(rank, rank.await_signal(peer, tag, value), deadline);
    if (status != Status::delivered) return did_not_connect(status, "await beginning");
    if (value == wanted) return {};
  }
}

Outcome meet_signals(Rank& rank, RankId peer, Tag tag, Stream stream, const MeetingNumbers& numbers, Seconds deadline) {
  // A signal is raised by a put, which needs memory of the peer: such as its owner may release while it is open. That
  // is host memory, where the copy engine writes, whoever else raises signals: puts of one stream stay in order.
  const Scratch mark(rank, Memory::shared_pinned);
  const Scratch source(rank, Memory::device);
  SharedBuffers shared(rank, peer);
  Tells tells(rank, peer);
  const IpcHandle mine = rank.export_memory(mark.buffer());
  tells.tell("tell mark", tags::kMeeting, Message(mine));

  Message heard;
  const auto is_mark = [](const Message& message) { return message.bytes().size() == sizeof(IpcHandle); };
  const Status status = hear_only(rank, peer, tags::kMeeting, "hear mark", is_mark, heard, deadline);
  if (status != Status::delivered) return did_not_connect(status, "hear mark");

  View there;
  try {
    there = View(shared.open({.number = numbers.theirs, .handle = heard.as<IpcHandle>()}), Bytes{}, Bytes{});
  } catch (const Error& error) {
    // A forged or stale handle is the peer's fault, and a refusal of the driver nobody's.
    return {Status::peer_failed,
            std::string("step 'raise beginning': the peer's memory cannot be opened: ") + error.what()};
  }
  const View nothing(source.buffer(), Bytes{}, Bytes{});
  Outcome outcome = raise_beginning(rank, there, nothing, stream, tag, numbers, deadline);
  if (outcome.ok()) outcome = await_beginning(rank, peer, tag, numbers, deadline);
  return outcome.ok() ? tells.settle(deadline) : outcome;
}

}  // namespace twinlink
