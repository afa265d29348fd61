// What an operation was, and what the operations of a job have to do with each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "protocols/core/rank.hpp"

namespace twinlink {

/// Complete when the operation has ended. A simulated one tells what it cost; of a real one that is not known, and the
/// times are those of its rank, from when it started it to when it learnt of its end.
struct OpReport {
  RankId rank{};
  std::string step{};       ///< the protocol's words
  std::string_view verb{};  ///< "copy", "send", "send_control"
  Bytes size{};
  std::string cost{};   ///< the entry of the platform's cost table
  std::string route{};  ///< "gpu0 -> ioh0 -> numa0"
  Seconds started{};
  Seconds overhead{};    ///< the CPU was busy starting it
  Seconds latency{};     ///< nothing moved yet; what hides behind the operation before it in the stream included
  Seconds flow{};        ///< the bytes moved
  Seconds ready{};       ///< its bytes would have moved, but for those before it in its queue
  Seconds ended{};       ///< the last byte was there
  Seconds completion{};  ///< from then on: the CPU is busy learning of it, once its rank waits for it
  std::optional<RankId> peer{};   ///< of a message, a control message or a signal
  Tag tag{};                      ///< of these; what comes from one peer with one tag stays in order
  std::optional<int> stream{};    ///< of a copy, a put, or a kernel
  std::string_view engine{};      ///< what moves the bytes of these: "copy engine", "kernel", "CPU"; empty: the adapter
  bool woke = false;              ///< its rank did nothing but wait for it, and for others, when it ended
  bool awaited_receiver = false;  ///< of a send by rendezvous: it went on when the receiver had come
  std::vector<std::uint64_t> flows{};  ///< that carried its bytes: the numbers of their records
  std::uint64_t launch = 0;            ///< of a simulated program: its number, from 1 on
  std::uint64_t blocks = 0;  ///< of a program, or a wait for a slot: the BlockStep that it ended with; 0: not known
};
using OpObserver = std::function<void(const OpReport&)>;

/// What a thread block of a simulated program did, or what came to it. Each follows one other without a gap, back to
/// where a program began or a CPU told one something.
struct BlockStep {
  std::uint64_t number = 0;  ///< from 1 on, in the order of their ends
  std::uint64_t before = 0;  ///< the one that it follows; 0: it is the first
  std::uint64_t launch = 0;  ///< of a first one: with which program it began; 0: the CPU of `rank` told something
  RankId rank{};
  std::int32_t channel = 0;
  std::string_view what{};  ///< "slot", "hop"
  Bytes size{};             ///< that moved
  Seconds began{};
  Seconds ended{};
  std::vector<std::uint64_t> flows{};  ///< as OpReport has them
};
using BlockObserver = std::function<void(const BlockStep&)>;

/// The words of its step, unless the program that runs the protocols talks to itself: "program: send".
std::string words_of(const OpReport& report);

/// It takes a control message or a signal, unlike a message.
bool takes_control(const OpReport& report);

/// A message, a control message or a signal, and who took it: places in a list of reports.
struct Exchange {
  std::size_t sent = 0;
  std::size_t taken = 0;
};
/// What goes from one rank to another with one tag stays in order; messages apart from control messages and signals.
/// What has come before them and is not among them: of such messages so many were sent, and so many taken.
class EarlierExchanges {
 public:
  /// The operation has ended, and will not be in the list.
  void count(const OpReport& report);

 private:
  friend std::vector<Exchange> exchanges_of(const std::vector<OpReport>& reports, const EarlierExchanges& earlier);
  struct Counts {
    std::size_t sent = 0;
    std::size_t taken = 0;
  };
  using Kind = std::tuple<RankId, RankId, Tag, bool>;  ///< from, to, tag, is it a message?
  static std::optional<std::pair<Kind, bool>> kind_of(const OpReport& report);

  std::map<Kind, Counts> counts_{};
};
std::vector<Exchange> exchanges_of(const std::vector<OpReport>& reports, const EarlierExchanges& earlier = {});

}  // namespace twinlink
