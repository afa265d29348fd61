// DecoratedRank: passes every verb on to another rank. Decorators override the verbs that they care about.
#pragma once

#include "protocols/core/measured_rank.hpp"

namespace twinlink {

class DecoratedRank : public MeasuredRank {
 public:
  /// `inner` must outlive this rank.
  explicit DecoratedRank(MeasuredRank& inner) : MeasuredRank(inner.position()), inner_(inner) {}

  Seconds now() override { return inner_.now(); }
  [[nodiscard]] Standing standing() const override { return inner_.standing(); }
  [[nodiscard]] std::optional<Seconds> cpu_time() const override { return inner_.cpu_time(); }
  [[nodiscard]] Seconds silence_of(RankId peer) override { return inner_.silence_of(peer); }
  [[nodiscard]] const Path& path_to(RankId peer) const override { return inner_.path_to(peer); }
  Answer check_peer_access(RankId peer) override { return inner_.check_peer_access(peer); }
  void look_up_pointer(RankId peer) override { inner_.look_up_pointer(peer); }

  Buffer allocate_beside(RankId peer, Bytes size) override { return inner_.allocate_beside(peer, size); }
  Buffer allocate(Memory kind, Bytes size, Locality locality) override { return inner_.allocate(kind, size, locality); }
  void release(Buffer buffer) override { inner_.release(buffer); }
  IpcHandle export_memory(Buffer buffer) override { return inner_.export_memory(buffer); }
  Buffer open_memory(RankId owner, const IpcHandle& handle) override { return inner_.open_memory(owner, handle); }
  void close_memory(Buffer buffer) override { inner_.close_memory(buffer); }
  void register_memory(Buffer buffer) override { inner_.register_memory(buffer); }
  void deregister_memory(Buffer buffer) override { inner_.deregister_memory(buffer); }

  Op start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) override {
    return inner_.start_copy(to, from, blocks, stream, engine);
  }
  Op start_add(View to, View from, Stream stream) override { return inner_.start_add(to, from, stream); }
  Op start_transform(View data, const Transform& transform, Stream stream) override {
    return inner_.start_transform(data, transform, stream);
  }
  [[nodiscard]] Answer transforms() const override { return inner_.transforms(); }
  Op put(View to, View from, Stream stream, Engine engine, std::optional<Signal> signal) override {
    return inner_.put(to, from, stream, engine, signal);
  }
  Op launch(const gpu::Work& work, Stream stream) override { return inner_.launch(work, stream); }
  Op await_slot(const gpu::FifoSlot& slot) override { return inner_.await_slot(slot); }
  void raise_slot(const gpu::FifoSlot& slot) override { inner_.raise_slot(slot); }
  Op await_signal(RankId peer, Tag tag, std::uint64_t& value) override { return inner_.await_signal(peer, tag, value); }
  Op send(RankId peer, Tag tag, View from) override { return inner_.send(peer, tag, from); }
  Op send_synchronously(RankId peer, Tag tag, View from) override { return inner_.send_synchronously(peer, tag, from); }
  bool take_adapters(AdapterTurn turn) override { return inner_.take_adapters(turn); }
  Op compute(Seconds duration, Stream stream) override { return inner_.compute(duration, stream); }
  [[nodiscard]] std::optional<Op> meet() override { return inner_.meet(); }
  Op receive(RankId peer, Tag tag, View to) override { return inner_.receive(peer, tag, to); }
  Op add_up(std::span<const RankId> members, Tag tag, View to, View from) override {
    return inner_.add_up(members, tag, to, from);
  }
  Op send_control(RankId peer, Tag tag, const ControlMessage& message) override {
    return inner_.send_control(peer, tag, message);
  }
  Op recv_control(RankId peer, Tag tag, ControlMessage& into) override { return inner_.recv_control(peer, tag, into); }
  std::optional<Completion> wait_any(std::span<const Op> ops, Seconds deadline) override {
    return inner_.wait_any(ops, deadline);
  }
  void abandon(Op op) override { inner_.abandon(op); }

  void fill(View view, Payload pattern) override { inner_.fill(view, pattern); }
  Verdict check(View view, Payload pattern) override { return inner_.check(view, pattern); }
  [[nodiscard]] bool has_bytes() const override { return inner_.has_bytes(); }
  void write(View to, std::span<const std::byte> bytes) override { inner_.write(to, bytes); }
  void read(View from, std::span<std::byte> bytes) override { inner_.read(from, bytes); }
  void step(std::string_view words) override { inner_.step(words); }
  void state(std::string_view words) override { inner_.state(words); }

 protected:
  /// For a decorator that gives ranks other numbers.
  DecoratedRank(MeasuredRank& inner, const Position& position) : MeasuredRank(position), inner_(inner) {}
  [[nodiscard]] MeasuredRank& inner() { return inner_; }

 private:
  MeasuredRank& inner_;
};

}  // namespace twinlink
