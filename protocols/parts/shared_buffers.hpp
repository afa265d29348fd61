// SharedBuffers: what two ranks of a node know of each other's memory, for as long as a connection lasts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "protocols/core/rank.hpp"

namespace twinlink {

/// Memory of this rank that the peer knows, and memory of the peer that is open here. Closes that when it ends. For
/// gpudirect-v2: a rank tells the name in a control message, and its peer opens it:
///
///   const SharedBuffers::Name name = shared.name_of(message.buffer);   // here
///   const Buffer theirs = shared.open(name);                           // there
class SharedBuffers {
 public:
  /// `rank` must outlive this.
  SharedBuffers(Rank& rank, RankId peer) : rank_(rank), peer_(peer) {}
  ~SharedBuffers();
  SharedBuffers(const SharedBuffers&) = delete;
  SharedBuffers& operator=(const SharedBuffers&) = delete;

  /// What tells the peer which buffer is meant. Numbers mean the same in every connection of a rank: a control message
  /// of another connection, if it were taken for one of this, names the memory that it always named, or nothing that is
  /// known here.
  struct Name {
    std::uint64_t number = 0;           ///< the buffer's own, which no other buffer of the rank ever has
    std::optional<IpcHandle> handle{};  ///< at its first use only: the peer has it then
  };
  /// Exported at its first use. Errors are those of Rank::export_memory().
  Name name_of(const Buffer& buffer);

  /// The peer's buffer with that name, opened at its first use. Errors are those of Rank::open_memory(), and a
  /// UsageError for a number that comes without its handle first, or with another one later.
  Buffer open(const Name& name);

 private:
  struct Theirs {
    std::uint64_t number = 0;
    IpcHandle handle{};
    Buffer buffer{};
  };
  Rank& rank_;
  RankId peer_;
  std::vector<Buffer> exported_;
  std::vector<Theirs> opened_;
};

}  // namespace twinlink
