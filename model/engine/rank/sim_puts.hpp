// What adapters put for the blocks of a program, which ring their bells and go on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "model/engine/rank/sim_program.hpp"
#include "model/engine/rank/sim_world.hpp"

namespace twinlink::model {

/// Those of one link and channel, one after the other, as the requests of a queue pair are; then it tells the peer.
class SimProgram::Puts final : public FlowListener {
 public:
  Puts(SimProgram& program, const Link& link) : program_(program), link_(link) {}

  struct Put {
    std::uint64_t bytes = 0;
    Content content{Bytes{}};
    Bytes at{};            ///< of the peer's memory
    RaisedNumber* tail{};  ///< null: nobody is told
    std::uint64_t value = 0;
    Cause by{};
  };
  void add(Put put) {
    ++program_.running_;
    puts_.push_back(std::move(put));
    if (puts_.size() == 1) begin();
  }
  /// Behind what has been added.
  void tell(RaisedNumber& tail, std::uint64_t value, const Cause& by) {
    if (puts_.empty()) return tail.raise(seen(), value, by);
    puts_.back().tail = &tail;
    puts_.back().value = value;
    puts_.back().by = by;
  }
  void flow_has_ended() override {
    if (--flowing_ > 0) return;
    const Put put = std::move(puts_.front());
    puts_.pop_front();
    link_.theirs.allocation->content.write(put.at, put.content);
    if (put.tail != nullptr) put.tail->raise(seen() + turn_, put.value, put.by);
    if (!puts_.empty()) begin();
    program_.block_ended(put.by);
  }
  void give_up() {
    for (const FlowId& flow : flows_) program_.world_.loop.network().drop(flow);
    const std::size_t left = puts_.size();
    flowing_ = 0;
    puts_.clear();
    for (std::size_t i = 0; i < left; ++i) program_.block_ended(program_.last_);
  }

 private:
  void begin() {
    SimWorld& world = program_.world_;
    turn_ = world.take_adapter_turns(world.place(program_.rank_).node, link_.adapters);
    flows_.clear();
    flowing_ = link_.out.size();
    for (const FlowRoute& route : link_.out) {
      const auto part = static_cast<std::uint64_t>(static_cast<double>(puts_.front().bytes) * route.share);
      flows_.push_back(world.loop.network().start(route, Bytes{std::max<std::uint64_t>(part, 1)}, *this));
    }
  }
  /// A block asks for it behind a fence of its own, and sees what has come as that of a peer nearby.
  [[nodiscard]] Seconds seen() const { return program_.world_.now() + program_.costs_.simple.value + link_.way_out; }

  SimProgram& program_;
  const Link& link_;
  std::deque<Put> puts_;
  std::vector<FlowId> flows_;
  std::size_t flowing_ = 0;
  Seconds turn_{};
};

}  // namespace twinlink::model
