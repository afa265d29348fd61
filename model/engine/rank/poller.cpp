#include "model/engine/rank/poller.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

namespace twinlink::model {

bool Poller::poll() {
  const auto is_free = [](const OperationPtr& ended) {
    return ended->kind == Operation::Kind::recv_control || ended->kind == Operation::Kind::host_work;
  };
  if (see(is_free)) return true;
  bool seen = false;
  for (const auto& [index, stream] : transport_.streams()) seen = poll_copies(stream) || seen;
  return seen || poll_messages();
}

/// The rank knows of the ends of all that `found` says yes to. False: of none.
template <class Found>
bool Poller::see(Found found) {
  const auto others = std::stable_partition(ended_.begin(), ended_.end(), std::not_fn(found));
  for (auto ended = others; ended != ended_.end(); ++ended) operations_.see(**ended);
  const bool any = others != ended_.end();
  ended_.erase(others, ended_.end());
  return any;
}

/// Asks for the copies of a stream, which end one after the other: for the oldest first, and where that has ended for
/// the newest, which tells for all. Others go on meanwhile. What is told by a word in memory costs nothing.
bool Poller::poll_copies(const Queue& stream) {
  const auto& failed_poll = costs_.failed_poll;
  const auto of_stream = [&](const OperationPtr& ended) { return ended->is_copy() && ended->queue == &stream; };
  const auto fail = [&](const OperationPtr& copy) {
    if (failed_poll && copy->by_event) cpu_.be_busy(failed_poll->value);
  };
  for (bool any = false;; any = true) {
    const auto oldest = std::ranges::find_if(ended_, of_stream);
    if (oldest == ended_.end()) {
      if (!stream.behind.empty()) {
        fail(stream.behind.front());
      } else if (!stream.operations.empty()) {
        fail(stream.operations.front());
      }
      return any;
    }
    const OperationPtr first = std::move(*oldest);
    ended_.erase(oldest);
    cpu_.be_busy(first->report.completion);
    operations_.see(*first);
    const auto under_way = std::ssize(stream.behind) + std::ssize(stream.operations);
    if (std::ranges::count_if(ended_, of_stream) + under_way < 2) continue;
    if (under_way > 0) {
      fail(stream.operations.empty() ? stream.behind.back() : stream.operations.back());
      continue;
    }
    cpu_.be_busy((*std::find_if(ended_.rbegin(), ended_.rend(), of_stream))->report.completion);
    return see(of_stream);
  }
}

/// The same for messages, which are all asked for at once. To take in what has come costs.
bool Poller::poll_messages() {
  Seconds time{};
  for (const OperationPtr& operation : ended_) {
    if (operation->is_message()) time += operation->report.completion;
  }
  const bool any = see(&Operation::is_message);
  cpu_.be_busy(time);
  return any;
}

}  // namespace twinlink::model
