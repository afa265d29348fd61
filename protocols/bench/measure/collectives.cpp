#include "protocols/bench/measure/collectives.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "protocols/bench/measure/check_error.hpp"
#include "protocols/core/tags.hpp"

namespace twinlink::bench {
namespace {

constexpr Tag kBenchTag = tags::kFirstFree;

/// How often somebody who waits looks whether the other side still lives.
constexpr Seconds kLook{0.25};

/// A rank that works without waiting shows no sign of life: one that page-locks memory, or takes it from a device.
constexpr Seconds kAtWork{5.0};

/// Nothing: the other side shows no sign of life.
std::optional<Status> status_of(MeasuredRank& rank, RankId peer, Op op, Patience patience) {
  const Seconds deadline = rank.now() + patience.longest;
  bool silent = false;
  try {
    for (Seconds look; !silent && look < deadline;) {
      look = std::min(deadline, rank.now() + kLook);
      if (const auto ended = rank.wait_any({&op, 1}, look)) return ended->status;
      silent = rank.silence_of(peer) > patience.silence;
    }
  } catch (...) {
    rank.abandon(op);  // what it writes may be gone when the exception has passed on
    throw;
  }
  rank.abandon(op);
  return silent ? std::nullopt : std::optional(Status::timed_out);
}

/// False: it has not ended in time.
bool await(MeasuredRank& rank, Op op, Seconds longest) {
  try {
    if (rank.wait_any({&op, 1}, rank.now() + longest)) return true;
  } catch (...) {
    rank.abandon(op);
    throw;
  }
  rank.abandon(op);
  return false;
}

void finish(MeasuredRank& rank, RankId peer, Op op, std::string_view what, Patience patience) {
  const std::optional<Status> status = status_of(rank, peer, op, patience);
  if (status == Status::delivered) return;
  if (!status) {
    throw CheckError(fmt::format("rank {}: rank {} has shown no sign of life for {}: it is stopped, or stuck in a call",
                                 rank.id().value, peer.value, format_seconds(patience.silence)));
  }
  throw NotDelivered(fmt::format("rank {}: {} rank {}: {}", rank.id().value, what, peer.value, to_string(*status)));
}

void send_text(MeasuredRank& rank, RankId peer, std::string_view text, Patience patience) {
  send_control_now(rank, peer, ControlMessage(std::uint64_t{text.size()}), patience);
  for (; !text.empty(); text.remove_prefix(std::min(text.size(), ControlMessage::kCapacity))) {
    ControlMessage message;
    message.assign(std::as_bytes(std::span(text.substr(0, ControlMessage::kCapacity))));
    send_control_now(rank, peer, message, patience);
  }
}

std::string recv_text(MeasuredRank& rank, RankId peer, Patience patience) {
  const auto size = recv_control_now(rank, peer, patience).as<std::uint64_t>();
  std::string text;
  while (text.size() < size) {
    const ControlMessage message = recv_control_now(rank, peer, patience);
    for (const std::byte byte : message.bytes()) text += std::to_integer<char>(byte);
  }
  return text;
}

}  // namespace

Patience Patience::of_peer(Seconds timeout) {
  constexpr Seconds kFilledAndCompared{60};
  return {.longest = std::max(timeout, kFilledAndCompared), .silence = timeout + kAtWork};
}

Patience Patience::of_turn(Seconds timeout) {
  constexpr Seconds kTurn{3600};
  return {.longest = std::max(timeout, kTurn), .silence = timeout + kAtWork};
}

void send_control_now(MeasuredRank& rank, RankId peer, const ControlMessage& message, Patience patience) {
  finish(rank, peer, rank.send_control(peer, kBenchTag, message), "a control message to", patience);
}

ControlMessage recv_control_now(MeasuredRank& rank, RankId peer, Patience patience) {
  ControlMessage message;
  finish(rank, peer, rank.recv_control(peer, kBenchTag, message), "a control message from", patience);
  return message;
}

void synchronize(MeasuredRank& rank, RankId peer, Patience patience) {
  send_control_now(rank, peer, ControlMessage(), patience);
  recv_control_now(rank, peer, patience);
}

void answer(MeasuredRank& rank, RankId peer, bool leading, Patience patience) {
  if (leading) {
    recv_control_now(rank, peer, patience);
  } else {
    send_control_now(rank, peer, ControlMessage(), patience);
  }
}

/// In round k everyone tells who is 2^k further on: all are through at about the same time.
void meet_all(MeasuredRank& rank, Patience patience) {
  if (const std::optional<Op> met = rank.meet()) {
    if (await(rank, *met, patience.longest)) return;
    throw NotDelivered(fmt::format("rank {}: some rank has not come to where all meet", rank.id().value));
  }
  const int ranks = rank.ranks();
  const int self = rank.id().value;
  for (int distance = 1; distance < ranks; distance *= 2) {
    send_control_now(rank, RankId{(self + distance) % ranks}, ControlMessage(), patience);
    recv_control_now(rank, RankId{(self + ranks - distance) % ranks}, patience);
  }
}

int least_of_all(MeasuredRank& rank, int mine, Patience patience) {
  const int ranks = rank.running();
  const Standing standing = rank.standing();
  const int self = standing.place_of(rank.id().value);
  const auto at = [&](int place) { return RankId{standing.at(place % ranks)}; };
  for (int distance = 1; distance < ranks; distance *= 2) {
    send_control_now(rank, at(self + distance), ControlMessage(mine), patience);
    mine = std::min(mine, recv_control_now(rank, at(self + ranks - distance), patience).as<int>());
  }
  return mine;
}

/// The upper half of the bits first; then the lower one of those who have the most of it.
std::uint64_t most_of_all(MeasuredRank& rank, std::uint64_t mine, Patience patience) {
  constexpr unsigned kHalf = 30;
  const auto upper = static_cast<int>(mine >> kHalf);
  const int most_upper = -least_of_all(rank, -upper, patience);
  const int lower = upper == most_upper ? static_cast<int>(mine & ((std::uint64_t{1} << kHalf) - 1)) : 0;
  const int most_lower = -least_of_all(rank, -lower, patience);
  return static_cast<std::uint64_t>(most_upper) << kHalf | static_cast<std::uint64_t>(most_lower);
}

void meet_in(MeasuredRank& rank, std::span<const RankId> group, Patience patience) {
  agree_in(rank, group, 0, patience);
}

std::array<RankId, 2> leader_first(RankId self, RankId peer, bool leading) {
  return {leading ? self : peer, leading ? peer : self};
}

int agree_in(MeasuredRank& rank, std::span<const RankId> group, int mine, Patience patience) {
  const RankId host = group.front();
  if (rank.id() != host) {
    send_control_now(rank, host, ControlMessage(mine), patience);
    return recv_control_now(rank, host, patience).as<int>();
  }
  const auto guests = group.subspan(1);
  for (const RankId guest : guests) mine = std::min(mine, recv_control_now(rank, guest, patience).as<int>());
  for (const RankId guest : guests) send_control_now(rank, guest, ControlMessage(mine), patience);
  return mine;
}

int agree(MeasuredRank& rank, RankId peer, bool leading, int mine, Patience patience) {
  if (!leading) return recv_control_now(rank, peer, patience).as<int>();
  send_control_now(rank, peer, ControlMessage(mine), patience);
  return mine;
}

std::string text_of_peer(MeasuredRank& rank, RankId peer, bool leading, std::string_view mine, Patience patience) {
  if (leading) return recv_text(rank, peer, patience);
  send_text(rank, peer, mine, patience);
  return {};
}

Listener::Listener(MeasuredRank& rank, const std::vector<RankId>& peers) : rank_(rank), messages_(peers.size()) {
  for (std::size_t i = 0; i < peers.size(); ++i)
    awaited_.push_back(rank.recv_control(peers[i], kBenchTag, messages_[i]));
}

Listener::~Listener() {
  // What is left was given up with an exception, and must not write into the messages any more.
  for (const Op op : awaited_) {
    try {
      rank_.abandon(op);
    } catch (const Error&) {
      return;  // the rank is broken, and the exception that is passing says how
    }
  }
}

bool Listener::received_all() {
  while (!awaited_.empty()) {
    const auto completion = rank_.wait_any(awaited_, rank_.now());
    if (!completion) return false;
    if (completion->status != Status::delivered) {
      throw CheckError(fmt::format("rank {}: a control message from another pair: {}", rank_.id().value,
                                   to_string(completion->status)));
    }
    awaited_.erase(awaited_.begin() + static_cast<std::ptrdiff_t>(completion->index));
  }
  return true;
}

std::vector<std::string> gather(MeasuredRank& rank, std::string_view mine, Patience patience) {
  if (rank.id() != RankId{0}) {
    send_text(rank, RankId{0}, mine, patience);
    return {};
  }
  std::vector<std::string> texts{std::string(mine)};
  const Standing standing = rank.standing();
  for (int guest = 1; guest < rank.running(); ++guest) {
    texts.push_back(recv_text(rank, RankId{standing.at(guest)}, patience));
  }
  return texts;
}

std::string scatter(MeasuredRank& rank, const std::vector<std::string>& texts, Patience patience) {
  if (rank.id() != RankId{0}) return recv_text(rank, RankId{0}, patience);
  const Standing standing = rank.standing();
  for (int place = 1; place < rank.running(); ++place) {
    const int guest = standing.at(place);
    send_text(rank, RankId{guest}, texts[static_cast<std::size_t>(guest)], patience);
  }
  return texts.front();
}

}  // namespace twinlink::bench
