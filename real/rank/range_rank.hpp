// RangeRank: shows a profiler what a rank does, by the words of the protocol's steps. For `--nvtx`, around the
// RealRank.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "protocols/trace/observed_rank.hpp"

namespace twinlink::real {

/// Takes named ranges of time, which may overlap.
class RangeSink {
 public:
  virtual ~RangeSink() = default;
  /// A range begins now. Returns what end() is to be given.
  virtual std::uint64_t begin(const std::string& name) = 0;
  virtual void end(std::uint64_t range) = 0;
};

/// Ranges of the NVTX domain "twinlink", which NVIDIA's profilers show on the timeline of the process. Without a
/// profiler they cost a few nanoseconds. An UnavailableError if this program was built without the NVTX headers of the
/// CUDA Toolkit.
std::unique_ptr<RangeSink> make_nvtx_ranges();

/// An operation is a range from its start until wait_any() has returned it, or it was abandoned: so it shows what the
/// protocol waits for, and not only what the device does. A call that takes long (opening, exporting, registering,
/// allocating memory) is a range too. A range is called "STEP: VERB", or only "VERB" before the first step.
class RangeRank final : public ObservedRank {
 public:
  /// `inner` and `sink` must outlive this rank.
  RangeRank(MeasuredRank& inner, RangeSink& sink) : ObservedRank(inner), sink_(sink) {}

 private:
  void verb_begins(std::string_view verb) override;
  void call_ended(const Words&) override { sink_.end(range_); }
  void operation_began(Op op, const Words&) override { ranges_.emplace(op.id, range_); }
  void verb_threw() override { sink_.end(range_); }
  void operation_ended(Op op, bool finished) override;

  RangeSink& sink_;
  std::uint64_t range_ = 0;                                  ///< of the verb that is being called
  std::unordered_map<std::uint64_t, std::uint64_t> ranges_;  ///< by operation, those in flight
};

}  // namespace twinlink::real
