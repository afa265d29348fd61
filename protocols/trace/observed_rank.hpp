// ObservedRank: a decorator that is told what a rank does: of every verb when it begins, what it was applied to, and
// when the operation that it has started was found to have ended.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "protocols/trace/decorated_rank.hpp"

namespace twinlink {

class ObservedRank : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;

  Answer check_peer_access(RankId peer) final;

  Buffer allocate_beside(RankId peer, Bytes size) final;
  Buffer allocate(Memory kind, Bytes size, Locality locality) final;
  void release(Buffer buffer) final;
  IpcHandle export_memory(Buffer buffer) final;
  Buffer open_memory(RankId owner, const IpcHandle& handle) final;
  void close_memory(Buffer buffer) final;
  void register_memory(Buffer buffer) final;
  void deregister_memory(Buffer buffer) final;

  Op start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) final;
  Op put(View to, View from, Stream stream, Engine engine, std::optional<Signal> signal) final;
  Op launch(const gpu::Work& work, Stream stream) final;
  Op await_slot(const gpu::FifoSlot& slot) final;
  void raise_slot(const gpu::FifoSlot& slot) final;
  Op await_signal(RankId peer, Tag tag, std::uint64_t& value) final;
  Op send(RankId peer, Tag tag, View from) final;
  Op send_synchronously(RankId peer, Tag tag, View from) final;
  Op compute(Seconds duration, Stream stream) final;
  Op start_add(View to, View from, Stream stream) final;
  Op start_transform(View data, const Transform& transform, Stream stream) final;
  Op receive(RankId peer, Tag tag, View to) final;
  Op add_up(std::span<const RankId> members, Tag tag, View to, View from) final;
  Op send_control(RankId peer, Tag tag, const ControlMessage& message) final;
  Op recv_control(RankId peer, Tag tag, ControlMessage& into) final;
  std::optional<Completion> wait_any(std::span<const Op> ops, Seconds deadline) final;
  void abandon(Op op) final;
  void step(std::string_view words) final;
  void state(std::string_view words) final;

 protected:
  /// "copy device[0+4] -> device[0+4] stream 0": made only for those who ask.
  using Words = std::function<std::string()>;

  /// A verb is about to be called; a rank calls one at a time. One of the three below follows.
  virtual void verb_begins(std::string_view verb) = 0;
  /// It has returned, and that was all.
  virtual void call_ended(const Words& words) = 0;
  /// It has started an operation.
  virtual void operation_began(Op op, const Words& words) = 0;
  virtual void verb_threw() = 0;
  /// wait_any() has returned the operation, or, where it is not `finished`, it was abandoned.
  virtual void operation_ended(Op op, bool finished) = 0;

  /// Words of the last step(); empty before the first.
  [[nodiscard]] const std::string& step_words() const { return step_; }

 private:
  /// Calls `verb` between the announcements; `words` are given what it returns.
  template <class Call, class WordsOf>
  auto call(std::string_view verb, Call call, WordsOf words);
  template <class Start>
  Op start(std::string_view verb, Start start, const Words& words);

  std::string step_;
};

}  // namespace twinlink
