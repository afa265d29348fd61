// PinnedMemory: the host memory that an emulated device reaches. As strict as CUDA is with what it has registered.
#pragma once

#include <cstddef>
#include <map>

#include "protocols/core/units.hpp"

namespace twinlink::real {

struct Flag;

/// HostRuntime asks it before each copy by a kernel and each flag. Addresses are this process's own.
class PinnedMemory {
 public:
  /// An EnvironmentError for no bytes, and for memory of which some is page-locked already.
  void pin(const std::byte* memory, Bytes size);
  /// `memory` as pin() was given it; an EnvironmentError for other memory.
  void unpin(const std::byte* memory);
  /// Are all of these bytes within what one pin() has page-locked?
  [[nodiscard]] bool reaches(const std::byte* memory, std::size_t size) const;
  /// An EnvironmentError for a flag that the device could not raise.
  void require(const Flag& flag) const;

 private:
  std::map<const std::byte*, std::size_t> sizes_;  ///< by start
};

}  // namespace twinlink::real
