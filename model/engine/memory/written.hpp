// Which host memory a CPU wrote last. It lies in that CPU's cache, where a copy engine has to fetch it from, which can
// take longer than to read memory that is at rest.
#pragma once

#include <cstdint>
#include <map>

#include "protocols/core/units.hpp"

namespace twinlink::model {

/// Which bytes of an allocation a CPU wrote, and nobody has read or written since.
class WrittenBytes {
 public:
  void write(Bytes at, Bytes length);
  /// How many of the bytes [at, at+length) a CPU has just written. From now on they are at rest, whoever it is that
  /// reads or writes them: reading the same bytes again takes no longer.
  Bytes take(Bytes at, Bytes length);

 private:
  /// No stretch lies on both sides of `at` any more.
  void cut(std::uint64_t at);

  std::map<std::uint64_t, std::uint64_t> ends_;  ///< of stretches, by their begin; none overlap
};

}  // namespace twinlink::model
