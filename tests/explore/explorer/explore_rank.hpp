// ExploreRank: the Rank of an explored job. It runs on a fiber; wait_any() hands over to the explorer, which decides
// what has ended meanwhile.
#pragma once

#include <optional>
#include <string>

#include "protocols/core/measured_rank.hpp"
#include "tests/explore/explorer/fiber.hpp"
#include "tests/explore/explorer/machine.hpp"

namespace twinlink::explore {

class ExploreRank final : public MeasuredRank, public Witness {
 public:
  /// `machine` must outlive the rank, and so must `fiber`, which runs its body.
  ExploreRank(Machine& machine, int id, Fiber& fiber)
      : MeasuredRank({.id = RankId{id}, .places = machine.places(), .numa_domains = machine.scenario().numa_domains}),
        machine_(machine),
        id_(id),
        fiber_(fiber) {}

  /// What wait_any() returns when the fiber goes on.
  std::optional<Completion> answer{};
  /// The words of the step that the rank is in, if keep_words.
  std::string words{};
  bool keep_words = false;

  /// Buffers that were neither released nor closed.
  [[nodiscard]] std::size_t live_buffers() const { return machine_.live_buffers(id_); }

  Seconds now() override { return machine_.world.ranks[static_cast<std::size_t>(id_)].now; }
  [[nodiscard]] const Path& path_to(RankId peer) const override;

  Buffer allocate(Memory kind, Bytes size, Locality locality) override;
  Buffer allocate_beside(RankId peer, Bytes size) override;
  void release(Buffer buffer) override;
  IpcHandle export_memory(Buffer buffer) override;
  Buffer open_memory(RankId owner, const IpcHandle& handle) override;
  void close_memory(Buffer buffer) override;
  void register_memory(Buffer buffer) override;
  void deregister_memory(Buffer buffer) override;

  Op start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) override;
  Op put(View to, View from, Stream stream, Engine engine, std::optional<Signal> signal) override;
  Op await_signal(RankId peer, Tag tag, std::uint64_t& value) override;
  Op send(RankId peer, Tag tag, View from) override;
  Op send_synchronously(RankId peer, Tag tag, View from) override;
  /// Ends at any later time, as a copy of nothing does; by a clock at its time.
  Op compute(Seconds duration, Stream stream) override;
  Op start_add(View to, View from, Stream stream) override;
  Op receive(RankId peer, Tag tag, View to) override;
  Op send_control(RankId peer, Tag tag, const ControlMessage& message) override;
  Op recv_control(RankId peer, Tag tag, ControlMessage& into) override;
  std::optional<Completion> wait_any(std::span<const Op> ops, Seconds deadline) override;
  void abandon(Op op) override;

  void fill(View view, Payload pattern) override;
  Verdict check(View view, Payload pattern) override;
  void step(std::string_view words_of_step) override;

  void ending(std::string_view how) override;
  void require(bool holds, std::string_view what) override;
  void watch(const std::function<std::uint64_t()>& digest) override;
  void unwatch() override;

 private:
  Machine& machine_;
  int id_;
  Fiber& fiber_;
};

}  // namespace twinlink::explore
