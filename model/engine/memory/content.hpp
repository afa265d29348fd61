// Content: what simulated memory holds. No bytes, but a tag for every byte: which pattern it came from, and which byte
// of it. A wrong, missing, shifted or torn transfer shows as it would in real memory.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "protocols/core/payload.hpp"

namespace twinlink::model {

class Content {
 public:
  /// `size` bytes that belong to no pattern.
  explicit Content(Bytes size);

  /// Bytes [at, at+length) become bytes 0 .. length-1 of `pattern`.
  void fill(Bytes at, Bytes length, Payload pattern);
  /// Bytes [at, at+length) on their own.
  [[nodiscard]] Content slice(Bytes at, Bytes length) const;
  /// Bytes [at, at+what's size) become `what`.
  void write(Bytes at, const Content& what);
  /// Elements become those of both added up, which have the same size: summable() contents that belong together, else
  /// bytes that belong to no pattern.
  void add(const Content& other);
  /// All bytes become garbage that no pattern matches: somebody wrote the source while it was read.
  void tear();

  [[nodiscard]] Verdict check(Bytes at, Bytes length, Payload pattern) const;
  [[nodiscard]] Bytes size() const;
  /// A number that equal contents share, and that different ones hardly ever share.
  [[nodiscard]] std::uint64_t digest() const;

  friend bool operator==(const Content& a, const Content& b);

 private:
  /// Bytes from `begin` to the next segment: byte `begin + i` is byte `source + i` of pattern `seed`, which begins
  /// again after `period` bytes; 0: never.
  struct Segment {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t seed = 0;
    std::uint64_t source = 0;  ///< below the period
    bool defined = false;
    std::uint64_t period = 0;

    [[nodiscard]] std::uint64_t wrapped(std::uint64_t at) const { return period == 0 ? at : at % period; }
    /// Which byte of the pattern is at a place of the content.
    [[nodiscard]] std::uint64_t source_at(std::uint64_t at) const { return wrapped(source + (at - begin)); }

    friend bool operator==(const Segment&, const Segment&) = default;
  };
  /// By their end, without gaps.
  using Segments = std::map<std::uint64_t, Segment>;
  [[nodiscard]] static Segments::const_iterator segment_at(const Segments& segments, std::uint64_t at);
  [[nodiscard]] static Segment part_of(const Segment& segment, std::uint64_t begin, std::uint64_t end);
  void replace(std::uint64_t begin, std::uint64_t end, std::span<const Segment> by);
  /// In order.
  template <class Visit>
  void for_each(Visit visit) const;

  std::uint64_t size_ = 0;
  Segment whole_{};      ///< as a rule there is one segment
  Segments segments_{};  ///< where there are several; else empty
};

}  // namespace twinlink::model
