#include "platforms/import/texts/nccl_log.hpp"

#include <cctype>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "platforms/import/texts/text_scan.hpp"

namespace twinlink::platforms {
namespace {

constexpr std::string_view kInfo = "NCCL INFO ";

/// "NVLS_TREE" as "nvlstree".
std::string lower(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c != '_') result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

/// src/graph/topo.cc, search.cc, connect.cc, init.cc, enqueue.cc and transport/ of NCCL 2.4 to 2.28 print these lines.
class LogReader {
 public:
  explicit LogReader(const std::string& text) {
    std::istringstream lines(text);
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
      const std::size_t info = line.find(kInfo);
      if (info == std::string::npos) {
        read_plain(line);
      } else {
        read_message(line.substr(0, info), line.substr(info + kInfo.size()), number);
      }
    }
  }

  NcclLog take() { return std::move(log_); }

 private:
  /// "NCCL version 2.18.3+cuda12.2", and of nccl-tests "#  Rank  0 Group  0 Pid 4227 on host device  0 [0x0f] NAME".
  void read_plain(const std::string& line) {
    TextScan scan(line);
    if (scan.pass("NCCL version ")) return take_version(scan);
    int rank = 0;
    if (!scan.pass("#") || !(scan.blanks(), scan.take("Rank")) || !scan.number(rank)) return;
    if (scan.pass(" device ") && scan.pass("] ")) log_.models.try_emplace(rank, scan.rest());
  }

  void take_version(TextScan& scan) {
    if (log_.version.empty()) log_.version = std::string(scan.until("+ "));
  }

  void read_message(const std::string& by, const std::string& text, int number) {
    if (take_tree(by, text, number)) return;
    TextScan scan(text);
    if (scan.take("Channel ")) return take_channel(scan);
    if (scan.take("Ring ")) return take_ring(scan);
    if (scan.take("Trees ")) return take_trees(scan);
    if (scan.take("Pattern 4,")) return take_search(scan);
    if (scan.take("NCCL version ")) return take_version(scan);
    if (scan.take("Using network ")) {
      if (log_.network.empty()) log_.network = scan.rest();
      return;
    }
    if (scan.take("NET/IB : Using ")) return take_adapters(scan);
    if (text.find("GPU Direct RDMA Enabled") != std::string::npos) log_.rdma = true;
    if (text.find("GPU Direct RDMA Disabled") != std::string::npos) log_.rdma = log_.rdma.value_or(false);
    take_setting(text);
    take_ranks(text);
    take_counts(text);
    take_choice(text);
  }

  /// "=== System : maxBw 48.0 totalBw 370.8 ===", lines of its tree, and a line of "=====".
  bool take_tree(const std::string& by, const std::string& text, int number) {
    if (text.starts_with("=== System :")) {
      open_[by].clear();
      return true;
    }
    const auto open = open_.find(by);
    if (open == open_.end()) return false;
    if (text.starts_with("=====")) {
      if (log_.tree.empty()) log_.tree = std::move(open->second);
      open_.erase(open);
      return true;
    }
    TextScan scan(text);
    scan.blanks();
    if (!scan.take("+ ") && !scan.take("CPU/")) return false;  // of a log that is cut
    open->second.push_back({number, text});
    return true;
  }

  /// "Channel 00/24 :    0   1   2   3", cut off where ranks are many, or "Channel 00/0 : 1[1] -> 2[2] via P2P/CUMEM",
  /// "Channel 00 : 7[ca000] -> 6[c7000] [send] via NET/IB/0(6)/GDRDMA".
  void take_channel(TextScan scan) {
    int channel = 0;
    int all = 0;
    if (!scan.number(channel)) return;
    const bool counted = scan.take("/") && scan.number(all);
    if (!scan.pass(": ")) return;
    int from = 0;
    int to = 0;
    if (!scan.number(from)) return;
    if (!scan.take("[")) {
      if (!counted || all <= channel) return;
      if (log_.channels == 0) log_.channels = all;
      const int first = from;
      int members = 1;
      for (; scan.number(to); from = to, ++members) put_behind(channel, from, to);
      if (members == log_.ranks) put_behind(channel, from, first);
      return;
    }
    // Behind the channel stands which connection: 1 is that of messages.
    if (all != 0 || !scan.pass("-> ") || !scan.number(to) || !scan.pass(" via ")) return;
    const bool direct = scan.rest().find("GDRDMA") != std::string_view::npos;
    const std::string way = std::string(scan.until("/ ")) + (direct ? "/GDR" : "");
    if (from >= 0 && to >= 0) log_.ways.try_emplace({from, to}, way);
  }

  void put_behind(int channel, int rank, int behind) {
    if (channel >= 0 && rank >= 0 && behind >= 0) log_.behind.try_emplace({channel, rank}, behind);
  }

  /// "Ring 00 : 7 -> 0 -> 1".
  void take_ring(TextScan scan) {
    std::array<int, 3> ranks{};
    int channel = 0;
    if (!scan.number(channel) || !scan.pass(": ") || !scan.number(ranks[0]) || !scan.take(" -> ") ||
        !scan.number(ranks[1]) || !scan.take(" -> ") || !scan.number(ranks[2])) {
      return;
    }
    put_behind(channel, ranks[0], ranks[1]);
    put_behind(channel, ranks[1], ranks[2]);
  }

  /// "Trees [0] 1/-1/-1->0->-1 [1] ...": below, the rank, above.
  void take_trees(TextScan scan) {
    int channel = 0;
    while (scan.pass("[") && scan.number(channel)) {
      LoggedTree tree;
      int rank = 0;
      if (!scan.take("] ") || !scan.number(tree.below[0]) || !scan.take("/") || !scan.number(tree.below[1]) ||
          !scan.take("/") || !scan.number(tree.below[2]) || !scan.take("->") || !scan.number(rank) ||
          !scan.take("->") || !scan.number(tree.above)) {
        return;
      }
      if (channel >= 0 && rank >= 0) log_.trees.try_emplace({channel, rank}, tree);
    }
  }

  /// " crossNic 0, nChannels 12, bw 20.000000/20.000000, type NVL/PIX, sameChannels 1": pattern 4 is the ring's.
  void take_search(TextScan scan) {
    NcclLog::Search found;
    const bool both = scan.pass("nChannels ") && scan.number(found.channels) &&
                      (scan.take(", bw ") || scan.take(", speed ")) && scan.number(found.gigabytes);
    if (!both || !scan.pass("type ")) return;
    found.level = std::string(scan.until("/,"));
    if (!log_.ring) log_.ring = found;
  }

  /// "[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB ib0:...".
  void take_adapters(TextScan scan) {
    int number = 0;
    while (scan.pass("[") && scan.number(number) && scan.take("]")) {
      log_.adapters.try_emplace(number, scan.until(":/ "));
    }
  }

  /// "NCCL_ALGO set by environment to Ring."
  void take_setting(const std::string& text) {
    constexpr std::string_view kSet = " set by environment to ";
    const std::size_t set = text.find(kSet);
    if (!text.starts_with("NCCL_") || set == std::string::npos) return;
    std::string value = text.substr(set + kSet.size());
    if (value.ends_with('.')) value.pop_back();
    log_.settings.try_emplace(text.substr(0, set), value);
  }

  /// "comm 0x55d9 rank 6 nRanks 16 nNodes 2 localRanks 8 localRank 6 MNNVL 0"; others say nranks.
  void take_ranks(const std::string& text) {
    int ranks = 0;
    TextScan scan(text);
    if (!scan.pass("comm 0x") || (!scan.pass(" nRanks ") && !scan.pass(" nranks ")) || !scan.number(ranks) || ranks < 1)
      return;
    if (log_.ranks == 0) log_.ranks = ranks;
    log_.others = log_.others || ranks != log_.ranks;
    if (ranks == log_.ranks && log_.nodes == 0 && scan.take(" nNodes ")) scan.number(log_.nodes);
  }

  /// "24 coll channels, 24 collnet channels, 16 nvls channels, 32 p2p channels, 32 p2p channels per peer".
  void take_counts(const std::string& text) {
    TextScan scan(text);
    int count = 0;
    if (!scan.number(count) || !scan.take(" coll channels")) return;
    if (log_.channels == 0) log_.channels = count;
    const std::size_t nvls = text.find(" nvls channels");
    if (nvls == std::string::npos || log_.switch_channels) return;
    TextScan before(std::string_view(text).substr(text.rfind(' ', nvls - 1)));
    if (before.number(count)) log_.switch_channels = count;
  }

  /// "AllReduce:    65536 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..3}".
  void take_choice(const std::string& text) {
    TextScan scan(text);
    const std::string operation(scan.until(": "));
    std::uint64_t bytes = 0;
    if (!scan.take(":") || !scan.number(bytes) || !scan.take(" Bytes -> Algo ")) return;
    const std::string algorithm = lower(scan.until(" "));
    if (!(scan.blanks(), scan.take("proto "))) return;
    std::string choice = algorithm + " " + lower(scan.until(" "));
    if (algorithm.find_first_not_of("0123456789") == std::string::npos) return;  // older ones log numbers, of no names
    int first = 0;
    int last = 0;
    if (scan.pass("={") && scan.number(first) && scan.take("..") && scan.number(last) && first >= 0 && last >= first) {
      choice += fmt::format(", {} channel{}", last - first + 1, last == first ? "" : "s");
    }
    log_.choices.try_emplace({operation, bytes}, choice);
  }

  NcclLog log_{};
  std::map<std::string, std::vector<NcclLog::Line>> open_{};  ///< trees that are not whole yet, by who logs
};

}  // namespace

bool is_nccl_log(std::string_view text) { return text.find(kInfo) != std::string_view::npos; }

NcclLog read_nccl_log(const std::string& text) { return LogReader(text).take(); }

}  // namespace twinlink::platforms
