// The critical path of a simulated job: what waited for what, back from its end.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/trace/op_report.hpp"

namespace twinlink::model {

/// A stretch of it. They follow each other without a gap.
struct PathPart {
  RankId rank{};
  std::string what{};            ///< the words of the step; of a CPU's own work "CPU"
  std::string_view verb{};       ///< empty: its CPU's own work
  Bytes size{};                  ///< of the operation
  std::optional<int> channel{};  ///< of a step of a program's blocks
  std::optional<RankId> peer{};
  std::string_view engine{};  ///< as OpReport has it
  std::string link{};         ///< that held its bytes up; empty: none did
  /// Parts of an operation whose bytes flow: the time before they do, and the time in which they do.
  enum class Phase { whole, before_bytes, bytes };
  Phase phase = Phase::whole;
  Seconds began{};
  Seconds ended{};

  [[nodiscard]] Seconds time() const { return ended - began; }
};

using LinkOf = std::function<std::string(const std::vector<std::uint64_t>& flows)>;

/// Back from `end` on rank `last` to `begin`, in the order of time. An operation began when the one before it in its
/// stream or on its wire had ended, if that was later than it was ready; a message by rendezvous when the later of its
/// two ends had come; all else when its rank started it. Before that the rank was at work, since it last did nothing
/// but wait for an operation, and that one had ended. A program ended with a step of a block; what it followed leads
/// back through the programs of all ranks, to a launch or to a CPU. `link_of`: the name of the link that held up the
/// last of some flows that moved side by side, or nothing.
std::vector<PathPart> critical_path(const std::vector<OpReport>& reports, const std::vector<BlockStep>& blocks,
                                    const EarlierExchanges& earlier, RankId last, Seconds begin, Seconds end,
                                    const LinkOf& link_of);

}  // namespace twinlink::model
