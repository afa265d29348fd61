#include "model/engine/content.hpp"

#include <algorithm>
#include <iterator>

namespace twinlink::model {

Content::Content(Bytes size) : size_(size.count()) {
  if (size_ > 0) segments_.emplace(size_, Segment{.begin = 0, .end = size_});
}

Bytes Content::size() const { return Bytes{size_}; }

/// The first segment that ends behind byte `at`.
Content::Segments::const_iterator Content::segment_at(std::uint64_t at) const { return segments_.upper_bound(at); }

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
  const auto first = segment_at(begin == 0 ? 0 : begin - 1);
  const auto last = segment_at(end);
  if (first->second.begin < begin) {
    Segment head = first->second;
    head.end = begin;
    append(head);
  }
  for (const Segment& segment : by) append(segment);
  if (last != segments_.end()) {
    Segment tail = last->second;
    if (tail.begin < end) {
      tail.source += end - tail.begin;
      tail.begin = end;
    }
    append(tail);
  }
  const auto behind = last == segments_.end() ? last : std::next(last);
  if (merged.size() == 1 && first->first == merged.front().end) {  // as a rule: all of one buffer
    segments_.find(first->first)->second = merged.front();
    segments_.erase(std::next(first), behind);
    return;
  }
  segments_.erase(first, behind);
  for (const Segment& segment : merged) segments_.emplace_hint(behind, segment.end, segment);
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
  for (auto next = segment_at(begin); next != segments_.end() && next->second.begin < end; ++next) {
    Segment segment = next->second;
    if (segment.begin < begin) {
      segment.source += begin - segment.begin;
      segment.begin = begin;
    }
    segment.end = std::min(segment.end, end);
    segment.begin -= begin;
    segment.end -= begin;
    part.segments_.emplace_hint(part.segments_.end(), segment.end, segment);
  }
  return part;
}

void Content::write(Bytes at, const Content& what) {
  std::vector<Segment> moved;
  moved.reserve(what.segments_.size());
  for (const auto& [end, segment] : what.segments_) {
    moved.push_back(segment);
    moved.back().begin += at.count();
    moved.back().end += at.count();
  }
  replace(at.count(), at.count() + what.size_, moved);
}

void Content::add(const Content& other) {
  std::vector<Segment> sums;
  auto mine = segments_.begin();
  auto theirs = other.segments_.begin();
  for (std::uint64_t begin = 0; begin < size_;) {
    const Segment& a = mine->second;
    const Segment& b = theirs->second;
    const std::uint64_t end = std::min(a.end, b.end);
    const std::uint64_t source = a.source + (begin - a.begin);
    Segment sum{.begin = begin, .end = end};
    const bool whole_elements = source % sizeof(std::uint64_t) == 0;
    if (a.defined && b.defined && is_summable({a.seed}) && is_summable({b.seed}) && whole_elements &&
        source == b.source + (begin - b.begin)) {
      sum.seed = summable(a.seed + b.seed).seed;
      sum.source = source;
      sum.defined = true;
    }
    sums.push_back(sum);
    begin = end;
    if (a.end == end) ++mine;
    if (b.end == end) ++theirs;
  }
  replace(0, size_, sums);
}

void Content::tear() { *this = Content{Bytes{size_}}; }

std::uint64_t Content::digest() const {
  std::uint64_t digest = size_;
  const auto mix = [&](std::uint64_t number) {
    digest = (digest ^ number) * 0x9E3779B97F4A7C15U;
    digest ^= digest >> 32U;
  };
  for (const auto& [end, segment] : segments_) {
    mix(segment.end);
    mix(segment.defined ? 1 : 0);
    mix(segment.seed);
    mix(segment.source);
  }
  return digest;
}

Verdict Content::check(Bytes at, Bytes length, Payload pattern) const {
  for (const auto& [end, segment] : slice(at, length).segments_) {
    if (segment.defined && segment.seed == pattern.seed && segment.source == segment.begin) continue;
    const bool untouched = segment.defined && segment.seed == kSentinel.seed;
    return {untouched ? Verdict::Kind::dropped : Verdict::Kind::scrambled, Bytes{segment.begin}};
  }
  return {};
}

}  // namespace twinlink::model
