// ScriptedRank: a lonely rank whose operations end when the test says, on a clock that only waiting moves.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protocols/core/measured_rank.hpp"

namespace twinlink {

class ScriptedRank final : public MeasuredRank {
 public:
  ScriptedRank() : MeasuredRank({.id = RankId{0}, .places = kPlaces}) {}

  /// An operation that ends `duration` from now, with `status`. Without a duration it never ends.
  Op begin(std::optional<Seconds> duration, Status status = Status::delivered);

  /// Operations that were started and neither returned nor abandoned.
  [[nodiscard]] std::size_t in_flight() const { return ends_.size(); }
  [[nodiscard]] std::size_t abandoned() const { return abandoned_; }
  /// The words given to step(), in order.
  [[nodiscard]] const std::vector<std::string>& steps() const { return steps_; }

  /// The path to every peer; all refused until the test says otherwise.
  [[nodiscard]] Path& path() { return path_; }

  Seconds now() override { return now_; }
  [[nodiscard]] const Path& path_to(RankId) const override { return path_; }

  Buffer allocate(Memory kind, Bytes size, Locality) override { return {++last_buffer_, kind, size}; }
  void release(Buffer) override {}
  IpcHandle export_memory(Buffer) override { return {}; }
  Buffer open_memory(RankId, const IpcHandle& handle) override {
    return {++last_buffer_, Memory::device, Bytes{handle.size}};
  }
  void close_memory(Buffer) override {}

  void register_memory(Buffer) override {}
  void deregister_memory(Buffer) override {}

  // Every verb takes a microsecond.
  Op start_copy(View, View, std::span<const Block>, Stream, Engine) override { return begin(1.0_us); }
  Op put(View, View, Stream, Engine, std::optional<Signal>) override { return begin(1.0_us); }
  Op await_signal(RankId, Tag, std::uint64_t&) override { return begin(1.0_us); }
  Op send(RankId, Tag, View) override { return begin(1.0_us); }
  Op compute(Seconds duration, Stream) override { return begin(duration); }
  Op start_add(View, View, Stream) override { return begin(1.0_us); }
  Op receive(RankId, Tag, View) override { return begin(1.0_us); }
  Op send_control(RankId, Tag, const ControlMessage&) override { return begin(1.0_us); }
  Op recv_control(RankId, Tag, ControlMessage&) override { return begin(1.0_us); }

  std::optional<Completion> wait_any(std::span<const Op> ops, Seconds deadline) override;
  void abandon(Op op) override;
  void fill(View, Payload) override {}
  Verdict check(View, Payload) override { return {}; }
  void step(std::string_view words) override { steps_.emplace_back(words); }

 private:
  inline static const std::array<Place, 2> kPlaces{};

  struct End {
    std::optional<Seconds> when;
    Status status;
  };
  Seconds now_{};
  std::map<std::uint64_t, End> ends_;
  std::uint64_t last_op_ = 0;
  std::uint32_t last_buffer_ = 0;
  std::size_t abandoned_ = 0;
  std::vector<std::string> steps_;
  Path path_{};
};

}  // namespace twinlink
