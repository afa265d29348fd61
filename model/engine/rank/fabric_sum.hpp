// FabricSum: what ranks give to switches of the fabric, which add it up and send each of them the sum (SHARP). The
// bytes flow once all have come, up and down at once.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "model/engine/flows/flow.hpp"
#include "model/engine/memory/sim_memory.hpp"
#include "model/engine/rank/event_queue.hpp"
#include "protocols/core/rank.hpp"

namespace twinlink::model {

class SimWorld;

class FabricSum final : public FlowListener, public QueuedEvent, public std::enable_shared_from_this<FabricSum> {
 public:
  struct Member {
    RankId rank{};
    Part from{};
    Part to{};
    Seconds ready{};                      ///< when its bytes may begin to flow
    std::function<void(Status)> ended{};  ///< told once
  };

  /// `world` outlives it.
  explicit FabricSum(SimWorld& world) : world_(world) {}

  [[nodiscard]] bool has(RankId rank) const;
  [[nodiscard]] std::size_t members() const { return members_.size(); }
  /// A UsageError for another length than that of the others.
  void join(Member member);
  /// All have come.
  void begin(EventQueue& events);

  void happen() override;
  void flow_has_ended() override;

 private:
  void end(Status status);

  SimWorld& world_;
  std::vector<Member> members_;
  std::shared_ptr<FabricSum> flowing_{};  ///< itself, while it flows
};

}  // namespace twinlink::model
