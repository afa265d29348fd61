#include "model/engine/memory/content.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

namespace twinlink::model {

Content::Content(Bytes size) : size_(size.count()), whole_{.begin = 0, .end = size_} {}

Bytes Content::size() const { return Bytes{size_}; }

bool operator==(const Content& a, const Content& b) {
  return a.size_ == b.size_ && a.segments_ == b.segments_ && (!a.segments_.empty() || a.whole_ == b.whole_);
}

template <class Visit>
void Content::for_each(Visit visit) const {
  if (size_ == 0) return;
  if (segments_.empty()) return visit(whole_);
  for (const auto& [end, segment] : segments_) visit(segment);
}

/// The first segment that ends behind byte `at`.
Content::Segments::const_iterator Content::segment_at(const Segments& segments, std::uint64_t at) {
  return segments.upper_bound(at);
}

/// What of a segment lies in [begin, end).
Content::Segment Content::part_of(const Segment& segment, std::uint64_t begin, std::uint64_t end) {
  Segment part = segment;
  part.begin = std::max(segment.begin, begin);
  part.source = segment.source_at(part.begin);
  part.end = std::min(segment.end, end);
  return part;
}

/// Touches the segments at [begin, end) and their two neighbours only: messages in a million blocks are written block
/// by block.
void Content::replace(std::uint64_t begin, std::uint64_t end, std::span<const Segment> by) {
  if (begin == end) return;
  if (begin == 0 && end == size_ && by.size() == 1) {  // as a rule: all of one buffer
    whole_ = by.front();
    segments_.clear();
    return;
  }
  if (segments_.empty()) segments_.emplace(size_, whole_);
  std::vector<Segment> merged;
  merged.reserve(by.size() + 4);
  const auto append = [&](const Segment& segment) {
    if (segment.begin == segment.end) return;
    if (!merged.empty()) {
      Segment& last = merged.back();
      const bool continues = last.defined == segment.defined && last.seed == segment.seed &&
                             last.period == segment.period &&
                             (!last.defined || last.source_at(last.end) == segment.source);
      if (continues) {
        last.end = segment.end;
        return;
      }
    }
    merged.push_back(segment);
  };
  // From the segment that holds the byte before `begin` to the one that holds byte `end`: they may merge with `by`.
  const auto first = segment_at(segments_, begin == 0 ? 0 : begin - 1);
  const auto last = segment_at(segments_, end);
  if (first->second.begin < begin) append(part_of(first->second, 0, begin));
  for (const Segment& segment : by) append(segment);
  if (last != segments_.end()) append(part_of(last->second, end, size_));
  const auto behind = last == segments_.end() ? last : std::next(last);
  segments_.erase(first, behind);
  for (const Segment& segment : merged) segments_.emplace_hint(behind, segment.end, segment);
  if (segments_.size() > 1) return;
  whole_ = segments_.begin()->second;
  segments_.clear();
}

void Content::fill(Bytes at, Bytes length, Payload pattern) {
  const std::uint64_t begin = at.count();
  const std::uint64_t end = begin + length.count();
  const Segment filled{.begin = begin,
                       .end = end,
                       .seed = pattern.seed,
                       .source = 0,
                       .defined = true,
                       .period = pattern.period * sizeof(std::uint64_t)};
  replace(begin, end, {&filled, 1});
}

Content Content::slice(Bytes at, Bytes length) const {
  Content part{length};
  const std::uint64_t begin = at.count();
  const std::uint64_t end = begin + part.size_;
  if (begin == end) return part;
  const auto moved = [&](const Segment& segment) {
    Segment there = part_of(segment, begin, end);
    there.begin -= begin;
    there.end -= begin;
    return there;
  };
  if (segments_.empty()) {
    part.whole_ = moved(whole_);
    return part;
  }
  const auto first = segment_at(segments_, begin);
  if (first->second.end >= end) {
    part.whole_ = moved(first->second);
    return part;
  }
  for (auto next = first; next != segments_.end() && next->second.begin < end; ++next) {
    const Segment segment = moved(next->second);
    part.segments_.emplace_hint(part.segments_.end(), segment.end, segment);
  }
  return part;
}

void Content::write(Bytes at, const Content& what) {
  const auto there = [&](Segment segment) {
    segment.begin += at.count();
    segment.end += at.count();
    return segment;
  };
  if (what.segments_.empty()) {
    const Segment whole = there(what.whole_);
    // Rounds repeat themselves: what is there already needs no segment of its own.
    if (whole.begin == whole.end) return;
    const Segment& old = segments_.empty() ? whole_ : segment_at(segments_, whole.begin)->second;
    if (old.end >= whole.end && part_of(old, whole.begin, whole.end) == whole) return;
    return replace(at.count(), at.count() + what.size_, {&whole, 1});
  }
  std::vector<Segment> moved;
  moved.reserve(what.segments_.size());
  for (const auto& [end, segment] : what.segments_) moved.push_back(there(segment));
  replace(at.count(), at.count() + what.size_, moved);
}

void Content::add(const Content& other) {
  std::vector<Segment> mine;
  std::vector<Segment> theirs;
  for_each([&](const Segment& segment) { mine.push_back(segment); });
  other.for_each([&](const Segment& segment) { theirs.push_back(segment); });
  std::vector<Segment> sums;
  auto a = mine.begin();
  auto b = theirs.begin();
  for (std::uint64_t begin = 0; begin < size_;) {
    const std::uint64_t end = std::min(a->end, b->end);
    const std::uint64_t source = a->source_at(begin);
    Segment sum{.begin = begin, .end = end};
    const bool whole_elements = source % sizeof(std::uint64_t) == 0;
    if (a->defined && b->defined && is_summable({a->seed}) && is_summable({b->seed}) && whole_elements &&
        a->period == b->period && source == b->source_at(begin)) {
      sum.seed = summable(a->seed + b->seed).seed;
      sum.source = source;
      sum.period = a->period;
      sum.defined = true;
    }
    sums.push_back(sum);
    begin = end;
    if (a->end == end) ++a;
    if (b->end == end) ++b;
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
  for_each([&](const Segment& segment) {
    mix(segment.end);
    mix(segment.defined ? 1 : 0);
    mix(segment.seed);
    mix(segment.source);
  });
  return digest;
}

Verdict Content::check(Bytes at, Bytes length, Payload pattern) const {
  Verdict verdict;
  slice(at, length).for_each([&](const Segment& segment) {
    if (!verdict.intact()) return;
    const bool same = segment.seed == pattern.seed && segment.period == pattern.period * sizeof(std::uint64_t);
    if (segment.defined && same && segment.source == segment.wrapped(segment.begin)) return;
    const bool untouched = segment.defined && segment.seed == kSentinel.seed;
    verdict = {untouched ? Verdict::Kind::dropped : Verdict::Kind::scrambled, Bytes{segment.begin}};
  });
  return verdict;
}

}  // namespace twinlink::model
