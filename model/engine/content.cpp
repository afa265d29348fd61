#include "model/engine/content.hpp"

#include <algorithm>

namespace twinlink::model {

Content::Content(Bytes size) : size_(size.count()) {
  if (size_ > 0) segments_.push_back({.begin = 0, .end = size_});
}

Bytes Content::size() const { return Bytes{size_}; }

/// The first segment that ends behind byte `at`.
std::vector<Content::Segment>::const_iterator Content::segment_at(std::uint64_t at) const {
  return std::ranges::upper_bound(segments_, at, {}, &Segment::end);
}

/// Touches the segments at [begin, end) and their two neighbours only: messages in a million blocks are written block
/// by block.
void Content::replace(std::uint64_t begin, std::uint64_t end, const std::vector<Segment>& by) {
  if (begin == end) return;
  std::vector<Segment> merged;
  merged.reserve(by.size() + 4);
  const auto append = [&](const Segment& segment) {
    if (segment.begin == segment.end) return;
    if (!merged.empty()) {
      Segment& last = merged.back();
      const bool continues = last.defined == segment.defined && last.seed == segment.seed &&
                             (!last.defined || last.source + (last.end - last.begin) == segment.source);
      if (continues) {
        last.end = segment.end;
        return;
      }
    }
    merged.push_back(segment);
  };
  // From the segment that holds the byte before `begin` to the one that holds byte `end`: they may merge with `by`.
  const auto first = segments_.begin() + (segment_at(begin == 0 ? 0 : begin - 1) - segments_.cbegin());
  const auto last = std::find_if(first, segments_.end(), [&](const Segment& s) { return s.end > end; });
  if (first->begin < begin) {
    Segment head = *first;
    head.end = begin;
    append(head);
  }
  for (const Segment& segment : by) append(segment);
  if (last != segments_.end()) {
    Segment tail = *last;
    if (tail.begin < end) {
      tail.source += end - tail.begin;
      tail.begin = end;
    }
    append(tail);
  }
  // In place as far as it goes: as a rule the number of segments does not change.
  const auto old_end = last == segments_.end() ? last : last + 1;
  const std::size_t common = std::min(merged.size(), static_cast<std::size_t>(old_end - first));
  const auto merged_rest = merged.begin() + static_cast<std::ptrdiff_t>(common);
  const auto rest = std::copy(merged.begin(), merged_rest, first);
  if (rest != old_end) {
    segments_.erase(rest, old_end);
  } else {
    segments_.insert(rest, merged_rest, merged.end());
  }
}

void Content::fill(Bytes at, Bytes length, Payload pattern) {
  const std::uint64_t begin = at.count();
  const std::uint64_t end = begin + length.count();
  replace(begin, end, {{.begin = begin, .end = end, .seed = pattern.seed, .source = 0, .defined = true}});
}

Content Content::slice(Bytes at, Bytes length) const {
  Content part{Bytes{}};
  part.size_ = length.count();
  const std::uint64_t begin = at.count();
  const std::uint64_t end = begin + part.size_;
  if (begin == end) return part;
  for (auto next = segment_at(begin); next != segments_.end() && next->begin < end; ++next) {
    Segment segment = *next;
    if (segment.begin < begin) {
      segment.source += begin - segment.begin;
      segment.begin = begin;
    }
    segment.end = std::min(segment.end, end);
    segment.begin -= begin;
    segment.end -= begin;
    part.segments_.push_back(segment);
  }
  return part;
}

void Content::write(Bytes at, const Content& what) {
  std::vector<Segment> moved = what.segments_;
  for (Segment& segment : moved) {
    segment.begin += at.count();
    segment.end += at.count();
  }
  replace(at.count(), at.count() + what.size_, moved);
}

void Content::tear() { *this = Content{Bytes{size_}}; }

std::uint64_t Content::digest() const {
  std::uint64_t digest = size_;
  const auto mix = [&](std::uint64_t number) {
    digest = (digest ^ number) * 0x9E3779B97F4A7C15U;
    digest ^= digest >> 32U;
  };
  for (const Segment& segment : segments_) {
    mix(segment.end);
    mix(segment.defined ? 1 : 0);
    mix(segment.seed);
    mix(segment.source);
  }
  return digest;
}

Verdict Content::check(Bytes at, Bytes length, Payload pattern) const {
  for (const Segment& segment : slice(at, length).segments_) {
    if (segment.defined && segment.seed == pattern.seed && segment.source == segment.begin) continue;
    const bool untouched = segment.defined && segment.seed == kSentinel.seed;
    return {untouched ? Verdict::Kind::dropped : Verdict::Kind::scrambled, Bytes{segment.begin}};
  }
  return {};
}

}  // namespace twinlink::model
