// RangeRank: shows a profiler what a rank does, by the words of the protocol's steps.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "protocols/decorated_rank.hpp"

namespace twinlink::real {

/// Takes named ranges of time, which may overlap.
class RangeSink {
 public:
  virtual ~RangeSink() = default;
  /// A range begins now. Returns what end() is to be given.
  virtual std::uint64_t begin(const std::string& name) = 0;
  virtual void end(std::uint64_t range) = 0;
};

/// An operation is a range from its start until wait_any() has returned it, or it was abandoned: so it shows what the
/// protocol waits for, and not only what the device does. A call that takes long (opening, exporting, registering,
/// allocating memory) is a range too. A range is called "STEP: VERB", or only "VERB" before the first step.
class RangeRank final : public DecoratedRank {
 public:
  /// `inner` and `sink` must outlive this rank.
  RangeRank(Rank& inner, RangeSink& sink) : DecoratedRank(inner), sink_(sink) {}

  Buffer allocate(Memory kind, Bytes size, Locality locality) override;
  void release(Buffer buffer) override;
  IpcHandle export_memory(Buffer buffer) override;
  Buffer open_memory(RankId owner, const IpcHandle& handle) override;
  void close_memory(Buffer buffer) override;
  void register_memory(Buffer buffer) override;
  void deregister_memory(Buffer buffer) override;

  Op copy(View to, View from, Stream stream, Engine engine) override;
  Op copy_blocks(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) override;
  Op put(View to, View from, Stream stream, Engine engine, std::optional<Signal> signal) override;
  Op await_signal(RankId peer, Tag tag, std::uint64_t& value) override;
  Op send(RankId peer, Tag tag, View from) override;
  Op receive(RankId peer, Tag tag, View to) override;
  Op tell(RankId peer, Tag tag, const Message& message) override;
  Op hear(RankId peer, Tag tag, Message& into) override;
  std::optional<Completion> wait_any(std::span<const Op> ops, Seconds deadline) override;
  void abandon(Op op) override;
  void step(std::string_view words) override;

 private:
  class Call;
  [[nodiscard]] std::string name_of(const char* verb) const;
  /// Starts an operation in a range of its own.
  template <class Start>
  Op track(const char* verb, Start start);
  void finish(Op op);

  RangeSink& sink_;
  std::string step_;
  std::unordered_map<std::uint64_t, std::uint64_t> ranges_;  ///< by operation, those in flight
};

}  // namespace twinlink::real
