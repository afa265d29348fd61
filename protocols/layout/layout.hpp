// Layout: which bytes of a stretch of memory belong to a message whose bytes lie apart.
//
//   vector:8,16         ########--------########--------########       blocks of 8 B that begin 16 B apart
//   indexed:2+4,10+6    --####----######--####----######               the list is repeated where its last block ends
//
// The terms are MPI's. A vector is MPI_Type_vector in bytes, and its count follows from the size of the message. A list
// is MPI_Type_indexed, sent as often as the size asks for. What is left over at the end cuts the last block short.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/core/units.hpp"

namespace twinlink {

/// Bytes that follow each other, `displacement` bytes after the start of the message's memory.
struct LayoutBlock {
  Bytes displacement{};
  Bytes length{};

  friend bool operator==(const LayoutBlock&, const LayoutBlock&) = default;
};

/// The most blocks that a message may have, and the most that a list may have: a typing error must not ask for all
/// memory.
inline constexpr std::size_t kMostBlocks = std::size_t{1} << 20U;
inline constexpr std::size_t kMostListed = std::size_t{1} << 16U;

/// `packed` below is the size of a message without its gaps: what travels.
class Layout {
 public:
  /// Contiguous: every byte belongs to the message.
  Layout() = default;
  /// A UsageError for an empty block and for blocks that overlap.
  static Layout vector(Bytes block, Bytes stride);
  /// In any order: both ends pack in the order of the displacements. A UsageError for no blocks, an empty one, and
  /// blocks that overlap.
  static Layout indexed(std::vector<LayoutBlock> list);

  [[nodiscard]] bool contiguous() const { return list_.empty(); }
  /// The memory that a message spans, from displacement 0 to the end of its last block. A UsageError where that is
  /// more than any memory has.
  [[nodiscard]] Bytes extent(Bytes packed) const;
  /// How much of `extent` bytes of memory belongs to the message: the other way round.
  [[nodiscard]] Bytes packed(Bytes extent) const;
  /// The blocks of a message, ascending. A UsageError for more than kMostBlocks.
  [[nodiscard]] std::vector<LayoutBlock> blocks(Bytes packed) const;

  /// "contiguous", "vector:8,16", "indexed:2+4,10+6": what parse_layout() reads.
  friend std::string to_string(const Layout& layout);
  /// For people: as to_string(), but a long list is cut short.
  friend std::string describe(const Layout& layout);
  friend bool operator==(const Layout&, const Layout&) = default;

 private:
  Layout(std::vector<LayoutBlock> list, Bytes period);

  std::vector<LayoutBlock> list_;  ///< ascending; one element of the datatype
  Bytes period_{};                 ///< elements begin this far apart
  Bytes in_element_{};             ///< the bytes of one element that belong to the message
};

/// Reads a layout as the command lines take it. A UsageError quotes the text and says what is allowed.
Layout parse_layout(std::string_view text);

}  // namespace twinlink
