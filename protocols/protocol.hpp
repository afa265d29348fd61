// Protocol: one way to move a message between two ranks, written once for every backend.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "protocols/rank.hpp"

namespace twinlink {

/// Enough for every pipeline that is known; a limit, so that a typing error does not ask for all memory.
inline constexpr int kMaxDepth = 1024;

/// What a user may set about a protocol. A protocol's defaults() say where its own values come from.
struct Settings {
  /// A message is cut into chunks of this size, which follow each other through the steps; zero: the whole message.
  Bytes chunk{};
  /// How many chunks may be under way at once, each in a staging buffer of its own. 1 to kMaxDepth.
  int depth = 1;
  /// The longest that one exchange may take before it ends as timed_out.
  Seconds timeout{30.0};
};

/// What the users of a library call a protocol's chunk and depth. A value follows each text as a plain number.
struct LibrarySettings {
  std::string_view library;     ///< "MVAPICH2"
  std::string_view chunk;       ///< "export MV2_CUDA_BLOCK_SIZE=", in bytes
  std::string_view depth = {};  ///< empty: nobody can set it, and it is `fixed_depth`
  int fixed_depth = 1;
};

/// May a protocol run on a path?
struct Support {
  enum class Kind {
    yes,
    fallback,  ///< the data will arrive, but not by the way that the protocol is named after; `reason` says why
    no
  };
  Kind kind = Kind::yes;
  std::string reason{};

  [[nodiscard]] bool usable() const { return kind != Kind::no; }
};

/// An open connection between this rank and one peer: the staging buffers, handles and states of a protocol. The peer
/// holds the other end. Lives no longer than its Rank; releases all that it holds. A peer's channel may have opened the
/// buffers that were passed in as messages: release them only when both ends are gone.
class Channel {
 public:
  virtual ~Channel() = default;

  /// Moves a window of messages both ways at once: sends `outgoing`, in order, and receives `incoming`, in order. The
  /// peer must make the opposite call with the same sizes. Views are in the protocol's message_memory().
  virtual Outcome exchange(std::span<const View> outgoing, std::span<const View> incoming) = 0;

  Outcome send(View message) { return exchange({&message, 1}, {}); }
  Outcome receive(View message) { return exchange({}, {&message, 1}); }

  /// The way that the bytes really take, for the result file: "staged through pageable host memory".
  [[nodiscard]] virtual std::string path_taken() const = 0;
};

/// A protocol. Stateless: one object serves all ranks of a simulation at once.
class Protocol {
 public:
  virtual ~Protocol() = default;

  /// The name on the command line: "gpudirect-v1".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// One line for people.
  [[nodiscard]] virtual std::string_view description() const = 0;
  /// Where the messages lie that the user passes in.
  [[nodiscard]] virtual Memory message_memory() const = 0;
  [[nodiscard]] virtual Settings defaults() const { return {}; }
  /// The libraries whose users know this protocol's settings by other names; for advice that they can paste.
  [[nodiscard]] virtual std::span<const LibrarySettings> library_settings() const { return {}; }
  /// Pure, and the same answer at both ends.
  [[nodiscard]] virtual Support supports(const Path& path) const = 0;
  /// Opens the connection to `peer`, which must do the same. May exchange messages. A UsageError for settings that
  /// make no sense; an UnavailableError where supports() says no.
  [[nodiscard]] virtual std::unique_ptr<Channel> connect(Rank& rank, RankId peer, const Settings& settings) const = 0;
};

/// What every connect() checks first: a UsageError for settings that make no sense, which says what is allowed.
void check_settings(const Protocol& protocol, const Settings& settings);
/// An UnavailableError with the reason where `protocol` does not support `path`.
void require_support(const Protocol& protocol, const Path& path);

}  // namespace twinlink
