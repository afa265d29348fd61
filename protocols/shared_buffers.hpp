// SharedBuffers: what two ranks of a node know of each other's memory, for as long as a connection lasts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "protocols/rank.hpp"

namespace twinlink {

/// Memory of this rank that the peer knows, and memory of the peer that is open here. Closes that when it ends.
class SharedBuffers {
 public:
  /// `rank` must outlive this.
  SharedBuffers(Rank& rank, RankId peer) : rank_(rank), peer_(peer) {}
  ~SharedBuffers();
  SharedBuffers(const SharedBuffers&) = delete;
  SharedBuffers& operator=(const SharedBuffers&) = delete;

  /// What tells the peer which buffer is meant.
  struct Name {
    std::uint64_t number = 0;           ///< among this rank's buffers, in the order of their first use
    std::optional<IpcHandle> handle{};  ///< at its first use only: the peer has it then
  };
  /// Exported at its first use. Errors are those of Rank::export_memory().
  Name name_of(const Buffer& buffer);

  /// Takes in the handle of the peer's buffer `number`. One that it had before is that of an earlier connection, which
  /// ended before anybody heard it; what is open by it is closed, with the errors of Rank::close_memory().
  void learn(std::uint64_t number, const IpcHandle& handle);
  /// The peer's buffer `number`, opened at its first use. Errors are those of Rank::open_memory(), and a UsageError for
  /// a number whose handle has not been learnt.
  Buffer open(std::uint64_t number);

 private:
  struct Theirs {
    std::uint64_t number = 0;
    IpcHandle handle{};
    std::optional<Buffer> buffer{};  ///< once it is open
  };
  Rank& rank_;
  RankId peer_;
  std::vector<Buffer> exported_;
  std::vector<Theirs> theirs_;
};

}  // namespace twinlink
