// MeasuredRank: a rank with what measuring and proving need beyond the verbs of protocols. Backends and decorators are
// MeasuredRanks; a protocol is given a Rank.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "protocols/core/payload.hpp"
#include "protocols/core/rank.hpp"
#include "protocols/core/standing.hpp"
#include "protocols/core/transform.hpp"

namespace twinlink {

class MeasuredRank : public Rank {
 public:
  using Rank::Rank;

  /// The ranks that run, of which each other one does what one does: all of them, but in a simulation of ranks that are
  /// alike.
  [[nodiscard]] virtual Standing standing() const { return {}; }
  /// How many these are.
  [[nodiscard]] int running() const { return ranks() / standing().each(); }
  /// How long this rank's CPU has been busy so far with what it started, took in and copied. Waiting does not count in
  /// a simulation; it does on a real machine, where a rank that waits asks again and again. Empty: the backend does not
  /// measure it.
  [[nodiscard]] virtual std::optional<Seconds> cpu_time() const { return std::nullopt; }
  /// For how long `peer` has shown no sign of life to this rank, which keeps asking while it waits for it. Zero where
  /// the backend cannot tell, and in a simulation, where nobody stops.
  [[nodiscard]] virtual Seconds silence_of(RankId peer) { return static_cast<void>(peer), Seconds{}; }

  /// Adds each element of `from` to that of `to`: unsigned numbers of 64 bits. Both are device memory of this rank's
  /// own, which a kernel adds up, or both are host memory, which the calling CPU adds up before this returns. Of one
  /// length, which is a multiple of 8 B, as their places are; else a UsageError. In its turn of the stream.
  Op add(View to, View from, Stream stream);
  virtual Op start_add(View to, View from, Stream stream) = 0;
  /// Transforms numbers of this rank's own device memory in place, by a library on its GPU, in their turn of the
  /// stream. A UsageError for what require_transform() refuses and for other memory; an UnavailableError where
  /// transforms() says no.
  Op transform(View data, const Transform& transform, Stream stream);
  virtual Op start_transform(View data, const Transform& transform, Stream stream);
  /// May transform() be called?
  [[nodiscard]] virtual Answer transforms() const { return Answer::refused("nothing here transforms numbers"); }
  /// Computes on the rank's GPU for `duration`, behind what is in the stream: a kernel that does nothing else. kOnHost:
  /// at once, beside all others, and without a launch.
  virtual Op compute(Seconds duration, Stream stream) = 0;

  /// A meeting of all ranks: ends once all of them have called it, on all at the same moment. Real ranks have no common
  /// moment and return nothing; the caller then tells the others by control messages (bench::meet_all()).
  [[nodiscard]] virtual std::optional<Op> meet() { return std::nullopt; }

  // ---- proof of delivery, outside of any timing --------------------------------------------------------------------

  /// Fills a view with a pattern.
  virtual void fill(View view, Payload pattern) = 0;
  /// Compares a view with a pattern.
  virtual Verdict check(View view, Payload pattern) = 0;
  /// Does memory have bytes, so that they can be written and read? Simulated memory has none.
  [[nodiscard]] virtual bool has_bytes() const { return false; }
  /// Copies bytes into a view, or out of it, of the same length. A UsageError where memory has none.
  virtual void write(View to, std::span<const std::byte> bytes);
  virtual void read(View from, std::span<std::byte> bytes);
};

// What every backend checks.
/// A UsageError for a negative duration, or a stream that there is not. kOnHost is one.
void require_compute(Seconds duration, Stream stream);

}  // namespace twinlink
