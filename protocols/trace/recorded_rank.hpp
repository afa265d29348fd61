// RecordedRank: a decorator that keeps what its rank does, with the times that the rank itself sees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "protocols/trace/decorated_rank.hpp"
#include "protocols/trace/op_report.hpp"

namespace twinlink {

/// An operation begins when its verb is called, and ends when wait_any() returns it; what is abandoned is not kept.
class RecordedRank final : public DecoratedRank {
 public:
  /// `inner` must outlive this rank. Of more than `most` operations the first ones are kept.
  RecordedRank(MeasuredRank& inner, std::size_t most) : DecoratedRank(inner), most_(most) {}

  /// In the order in which they ended.
  [[nodiscard]] const std::vector<OpReport>& reports() const { return reports_; }
  [[nodiscard]] std::size_t left_out() const { return left_out_; }

  Op start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) override;
  Op start_add(View to, View from, Stream stream) override;
  Op start_transform(View data, const Transform& transform, Stream stream) override;
  Op put(View to, View from, Stream stream, Engine engine, std::optional<Signal> signal) override;
  Op launch(const gpu::Work& work, Stream stream) override;
  Op await_signal(RankId peer, Tag tag, std::uint64_t& value) override;
  Op send(RankId peer, Tag tag, View from) override;
  Op send_synchronously(RankId peer, Tag tag, View from) override;
  Op compute(Seconds duration, Stream stream) override;
  Op receive(RankId peer, Tag tag, View to) override;
  Op send_control(RankId peer, Tag tag, const ControlMessage& message) override;
  Op recv_control(RankId peer, Tag tag, ControlMessage& into) override;
  Buffer open_memory(RankId owner, const IpcHandle& handle) override;
  std::optional<Completion> wait_any(std::span<const Op> ops, Seconds deadline) override;
  void abandon(Op op) override;
  void step(std::string_view words) override;

 private:
  template <class Start>
  Op record(OpReport report, Start start);
  [[nodiscard]] OpReport to_peer(std::string_view verb, RankId peer, Tag tag, Bytes size) const;
  [[nodiscard]] OpReport on_stream(std::string_view verb, Stream stream, Bytes size) const;

  std::size_t most_;
  std::string step_{};
  std::unordered_map<std::uint64_t, OpReport> in_flight_{};  ///< by op id
  std::unordered_map<std::uint32_t, RankId> owners_{};       ///< of opened memory, by buffer id
  std::vector<OpReport> reports_{};
  std::size_t left_out_ = 0;
};

}  // namespace twinlink
