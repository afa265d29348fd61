#include "model/content.hpp"

#include <algorithm>

namespace twinlink::model {

Content::Content(Bytes size) : size_(size.count()) {
  if (size_ > 0) segments_.push_back({.begin = 0, .end = size_});
}

Bytes Content::size() const { return Bytes{size_}; }

void Content::replace(std::uint64_t begin, std::uint64_t end, const std::vector<Segment>& by) {
  if (begin == end) return;
  std::vector<Segment> merged;
  merged.reserve(segments_.size() + by.size() + 1);
  const auto append = [&](Segment segment) {
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
  bool inserted = false;
  for (const Segment& old : segments_) {
    if (old.begin < begin) {
      Segment head = old;
      head.end = std::min(old.end, begin);
      append(head);
    }
    if (old.end > begin && !inserted) {
      for (const Segment& segment : by) append(segment);
      inserted = true;
    }
    if (old.end > end) {
      Segment tail = old;
      if (tail.begin < end) {
        tail.source += end - tail.begin;
        tail.begin = end;
      }
      append(tail);
    }
  }
  segments_ = std::move(merged);
}

void Content::fill(Bytes at, Bytes length, Pattern pattern) {
  const std::uint64_t begin = at.count();
  const std::uint64_t end = begin + length.count();
  replace(begin, end, {{.begin = begin, .end = end, .seed = pattern.seed, .source = 0, .defined = true}});
}

Content Content::slice(Bytes at, Bytes length) const {
  Content part{Bytes{}};
  part.size_ = length.count();
  const std::uint64_t begin = at.count();
  const std::uint64_t end = begin + part.size_;
  for (Segment segment : segments_) {
    if (segment.end <= begin || segment.begin >= end || begin == end) continue;
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

Verdict Content::check(Bytes at, Bytes length, Pattern pattern) const {
  for (const Segment& segment : slice(at, length).segments_) {
    if (segment.defined && segment.seed == pattern.seed && segment.source == segment.begin) continue;
    const bool untouched = segment.defined && segment.seed == kSentinel.seed;
    return {untouched ? Verdict::Kind::dropped : Verdict::Kind::scrambled, Bytes{segment.begin}};
  }
  return {};
}

}  // namespace twinlink::model
