// HeapRoom: which parts of a symmetric heap are in use. Pure: ranks that make the same calls have the same answers.
#pragma once

#include <map>
#include <optional>

#include "protocols/core/units.hpp"

namespace twinlink {

class HeapRoom {
 public:
  explicit HeapRoom(Bytes size) : size_(size) {}

  /// The first place with room for `size` bytes at a multiple of `alignment`, a power of two. Empty: there is none.
  std::optional<Bytes> take(Bytes size, Bytes alignment);
  /// Gives back what begins there. False where nothing does.
  bool give_back(Bytes offset);

  [[nodiscard]] Bytes size() const { return size_; }
  [[nodiscard]] Bytes used() const { return used_; }
  /// The longest stretch that is free.
  [[nodiscard]] Bytes longest() const;

 private:
  /// Calls `visit(begin, end)` for each free stretch, in order, until it says that it has enough.
  template <class Visit>
  void each_gap(Visit visit) const;

  Bytes size_;
  Bytes used_{};
  std::map<Bytes, Bytes> taken_;  ///< length by offset
};

}  // namespace twinlink
