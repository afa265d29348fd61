#include "protocols/layout/layout.hpp"

#include <algorithm>

#include "protocols/core/text.hpp"

namespace twinlink {
namespace {

/// No memory is larger, and sums of two such numbers do not overflow.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 60U;

Bytes end_of(const LayoutBlock& block) { return block.displacement + block.length; }

void check_block(const LayoutBlock& block) {
  if (block.length == Bytes{}) {
    throw UsageError("the block at " + std::to_string(block.displacement.count()) + " has no bytes");
  }
  if (block.displacement.count() > kMostBytes || block.length.count() > kMostBytes) {
    throw UsageError("a block of " + format_size(block.length) + " at " + format_size(block.displacement) +
                     " lies beyond all memory");
  }
}

/// The two sizes of "A,B" or "A+B".
LayoutBlock parse_two(std::string_view text, char separator, std::string_view form) {
  const auto parts = split(text, separator);
  if (parts.size() != 2) throw UsageError("'" + std::string(text) + "' is no " + std::string(form));
  return {parse_size(parts[0]), parse_size(parts[1])};
}

Layout parse_form(std::string_view text) {
  constexpr std::string_view kVector = "vector:";
  constexpr std::string_view kIndexed = "indexed:";
  if (text == "contiguous") return {};
  if (text.starts_with(kVector)) {
    const LayoutBlock sizes = parse_two(text.substr(kVector.size()), ',', "BLOCK,STRIDE");
    return Layout::vector(sizes.displacement, sizes.length);
  }
  if (text.starts_with(kIndexed)) {
    std::vector<LayoutBlock> list;
    for (const std::string_view block : split(text.substr(kIndexed.size()), ',')) {
      list.push_back(parse_two(block, '+', "DISPLACEMENT+LENGTH"));
      if (list.size() > kMostListed) break;  // indexed() refuses it
    }
    return Layout::indexed(std::move(list));
  }
  throw UsageError("expected contiguous, vector:BLOCK,STRIDE or indexed:DISPLACEMENT+LENGTH,...");
}

}  // namespace

Layout::Layout(std::vector<LayoutBlock> list, Bytes period) : list_(std::move(list)), period_(period) {
  for (const LayoutBlock& block : list_) in_element_ += block.length;
}

Layout Layout::vector(Bytes block, Bytes stride) {
  check_block({Bytes{}, block});
  if (stride < block) {
    throw UsageError("blocks of " + std::to_string(block.count()) + " B that begin " + std::to_string(stride.count()) +
                     " B apart overlap");
  }
  check_block({stride, block});
  return {{{Bytes{}, block}}, stride};
}

Layout Layout::indexed(std::vector<LayoutBlock> list) {
  if (list.empty()) throw UsageError("a list of no blocks");
  if (list.size() > kMostListed) throw UsageError("a list of more than " + std::to_string(kMostListed) + " blocks");
  std::ranges::for_each(list, check_block);
  std::ranges::sort(list, {}, &LayoutBlock::displacement);
  const auto overlap = [](const LayoutBlock& a, const LayoutBlock& b) { return b.displacement < end_of(a); };
  if (const auto found = std::ranges::adjacent_find(list, overlap); found != list.end()) {
    throw UsageError("the blocks at " + std::to_string(found->displacement.count()) + " and at " +
                     std::to_string((found + 1)->displacement.count()) + " overlap");
  }
  const Bytes period = end_of(list.back());
  return {std::move(list), period};
}

Bytes Layout::extent(Bytes packed) const {
  if (contiguous() || packed == Bytes{}) return packed;
  // From 1 byte to all of the last element belongs to the message.
  const std::uint64_t whole = (packed.count() - 1) / in_element_.count();
  if (whole > kMostBytes / period_.count()) {
    throw UsageError("a message of " + format_size(packed) + " in the layout " + describe(*this) +
                     " is larger than all memory");
  }
  Bytes rest = packed - in_element_ * whole;
  for (const LayoutBlock& block : list_) {
    if (rest <= block.length) return period_ * whole + block.displacement + rest;
    rest = rest - block.length;
  }
  return period_ * (whole + 1);
}

Bytes Layout::packed(Bytes extent) const {
  if (contiguous()) return extent;
  const std::uint64_t whole = extent.count() / period_.count();
  const Bytes rest = extent - period_ * whole;
  Bytes sum = in_element_ * whole;
  for (const LayoutBlock& block : list_) {
    if (block.displacement < rest) sum += std::min(block.length, rest - block.displacement);
  }
  return sum;
}

std::vector<LayoutBlock> Layout::blocks(Bytes packed) const {
  if (packed == Bytes{}) return {};
  if (contiguous()) return {{Bytes{}, packed}};
  const std::uint64_t elements = (packed.count() - 1) / in_element_.count() + 1;
  if (elements > kMostBlocks / list_.size()) {
    throw UsageError("a message of " + format_size(packed) + " in the layout " + describe(*this) + " has more than " +
                     std::to_string(kMostBlocks) + " blocks");
  }
  std::vector<LayoutBlock> result;
  result.reserve(elements * list_.size());
  Bytes rest = packed;
  for (Bytes start{}; rest > Bytes{}; start += period_) {
    for (const LayoutBlock& block : list_) {
      const Bytes length = std::min(block.length, rest);
      if (length == Bytes{}) break;
      result.push_back({start + block.displacement, length});
      rest = rest - length;
    }
  }
  return result;
}

std::string to_string(const Layout& layout) {
  if (layout.contiguous()) return "contiguous";
  const LayoutBlock& first = layout.list_.front();
  const bool is_vector = layout.list_.size() == 1 && first.displacement == Bytes{};
  if (is_vector) return "vector:" + format_size(first.length) + "," + format_size(layout.period_);
  std::string text;
  for (const LayoutBlock& block : layout.list_) {
    text += (text.empty() ? "indexed:" : ",") + format_size(block.displacement) + "+" + format_size(block.length);
  }
  return text;
}

std::string describe(const Layout& layout) {
  constexpr std::size_t kShown = 4;
  if (layout.list_.size() <= kShown) return to_string(layout);
  const auto shown = layout.list_.begin() + kShown;
  return to_string(Layout({layout.list_.begin(), shown}, layout.period_)) + ",... (" +
         std::to_string(layout.list_.size()) + " blocks)";
}

Layout parse_layout(std::string_view text) {
  try {
    return parse_form(text);
  } catch (const UsageError& error) {
    constexpr std::size_t kShown = 60;
    const std::string shown = text.size() <= kShown ? std::string(text) : std::string(text.substr(0, kShown)) + "...";
    throw UsageError("layout '" + shown + "': " + error.what());
  }
}

}  // namespace twinlink
