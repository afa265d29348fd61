// Bottleneck: what can come to a link at the most, by the tighter links that its flows have crossed before it or will
// cross behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace twinlink::model {

struct SharedLink;

/// One side of a link. Its flows, each by the tightest link of its way on that side: all flows of one such link bring
/// no more than that one lets through.
class Bottleneck {
 public:
  /// A place of no flow.
  static constexpr std::uint32_t kNone = 0xffffffff;

  /// A flow of no more than `most`, by `tightest`; null: nothing on this side limits it. Where it stands here.
  std::uint32_t add(const SharedLink* tightest, double most);
  void change(std::uint32_t place, double by);
  void remove(std::uint32_t place, double most);

  /// Bytes per second that come to `link` at the most, by all of its flows. Those that have one tightest link on
  /// this side bring no more than the rate of that one, if it is less than the rate of `link`; of two equal rates the
  /// link with the smaller number counts as the tighter one. Else two links could each seem to spare the other.
  [[nodiscard]] double most_for(const SharedLink& link) const;

 private:
  struct Part {
    const SharedLink* tightest = nullptr;
    int flows = 0;
    double most = 0;  ///< of these together
  };
  /// With more, one after the other would take too long to look at; those beyond count with all that they can have.
  static constexpr std::size_t kMostParts = 64;

  std::vector<Part> parts_;
};

}  // namespace twinlink::model
