// What NCCL logs with NCCL_DEBUG=INFO: how it goes about a machine (INIT, TUNING, ENV), and the tree of the machine as
// it sees it (GRAPH). Lines of several ranks may stand between each other. Of several communicators the first counts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platforms/import/node_description.hpp"

namespace twinlink::platforms {

/// Links of a rank in the tree of a channel; -1: none.
struct LoggedTree {
  int above = -1;
  std::array<int, 3> below{-1, -1, -1};
};

struct NcclLog {
  std::string version{};  ///< "2.28.9"; empty: not told
  int ranks = 0;          ///< 0: not told, as the next two
  int nodes = 0;
  int channels = 0;                      ///< of collectives
  std::optional<int> switch_channels{};  ///< of sums by a switch
  /// "NCCL_ALGO" and others that the environment set.
  std::map<std::string, std::string> settings{};

  struct Search {
    int channels = 0;
    double gigabytes = 0;  ///< of each, within a node
    std::string level{};   ///< how far apart neighbours are within a node, "NVL"
  };
  std::optional<Search> ring{};  ///< as it was found, before channels are doubled

  using At = std::pair<int, int>;  ///< a channel and a rank
  std::map<At, int> behind{};      ///< in the ring
  std::map<At, LoggedTree> trees{};
  std::map<std::pair<int, int>, std::string> ways{};  ///< from one rank to another: "P2P", "SHM", "NET", "NET/GDR"
  /// What an operation takes for so many bytes: {"AllReduce", 16} "ring ll, 1 channel".
  std::map<std::pair<std::string, std::uint64_t>, std::string> choices{};

  std::string network{};                  ///< "IB", "Socket", or whatever a plug-in calls itself
  std::map<int, std::string> adapters{};  ///< by the number that NCCL gives them
  std::map<int, std::string> models{};    ///< of GPUs by their ranks, which nccl-tests tells above the log
  std::optional<bool> rdma{};             ///< do adapters reach device memory?

  struct Line {
    int number = 0;  ///< of the file
    std::string text{};
  };
  /// The tree of the machine of the first rank that has logged all of it.
  std::vector<Line> tree{};
  /// Have other communicators other numbers of ranks?
  bool others = false;
};

/// Has the text lines of NCCL's log?
bool is_nccl_log(std::string_view text);
NcclLog read_nccl_log(const std::string& text);

/// By the tree, which is there. An InputError that names `file` and the line for what is not understood.
NodeDescription describe_nccl_log(const NcclLog& log, const std::string& file);

}  // namespace twinlink::platforms
