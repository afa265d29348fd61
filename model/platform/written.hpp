// Who wrote host memory last. What a CPU has just written lies in its cache, where a copy engine has to fetch it from;
// what a device has just written lies in no CPU's cache, and what a driver's CPU has copied out of a device may have
// gone past all caches. Each can take longer than to read memory that is at rest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

#include "model/platform/platform.hpp"
#include "protocols/core/units.hpp"

namespace twinlink::model {

enum class Writer {
  cpu,     ///< of any rank: a received message, a copy within host memory, the rank's own code
  device,  ///< a copy engine, a kernel, an adapter
  driver,  ///< a CPU that copies from a device to pageable memory, for the driver
};
inline constexpr std::array kWriters{Writer::cpu, Writer::device, Writer::driver};

/// One of each for every writer.
template <class T>
class ByWriter {
 public:
  [[nodiscard]] T& operator[](Writer writer) { return all_[static_cast<std::size_t>(writer)]; }
  [[nodiscard]] const T& operator[](Writer writer) const { return all_[static_cast<std::size_t>(writer)]; }

 private:
  std::array<T, kWriters.size()> all_{};
};

/// As it stands in platform files, before "_written".
[[nodiscard]] std::string_view to_string(Writer writer);

/// How much longer reading takes by who wrote the bytes last; null: no longer. Owned by the platform.
using WrittenCosts = ByWriter<const Piecewise*>;
WrittenCosts written_costs(const Cost& cost);
WrittenCosts written_costs(const NetworkCosts& network);

/// Which bytes of an allocation were written and not read since, and by whom.
class WrittenBytes {
 public:
  void write(Bytes at, Bytes length, Writer writer);

  class Amount : public ByWriter<Bytes> {
   public:
    Amount& operator+=(const Amount& other);
  };
  /// Of the bytes [at, at+length), those that were just written. From now on they are at rest, whoever it is that reads
  /// them: reading the same bytes again takes no longer.
  Amount read(Bytes at, Bytes length);

 private:
  struct Stretch {
    std::uint64_t end = 0;
    Writer writer = Writer::cpu;
  };
  /// No stretch lies on both sides of `at` any more.
  void cut(std::uint64_t at);

  std::map<std::uint64_t, Stretch> stretches_;  ///< by their begin; none overlap
};

/// What reading that many bytes takes beside what it takes from memory at rest. No bytes take nothing.
Seconds time_to_read(const WrittenBytes::Amount& amount, const WrittenCosts& costs);

}  // namespace twinlink::model
