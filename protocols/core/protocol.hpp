// Protocol: one way to move a message between two ranks, written once for every backend.
//
// Who measures uses it so, on both ranks at once:
//
//   const Protocol& protocol = find_protocol("gpudirect-v1");               // registry.hpp
//   Settings settings = protocol.defaults();
//   set_option(protocol, settings, "credits", "2");                         // options.hpp
//   const auto channel = protocol.connect(rank, peer, settings);            // waits for the peer, which does the same
//   const Outcome outcome = channel->send(View(buffer));                    // there: channel->receive(View(buffer))
//   if (!outcome.ok()) report(outcome.reason);
//
// Settings, options and presets are what users may set; Channel and Communicator are what is open; Protocol joins them.
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocols/core/rank.hpp"

namespace twinlink {

/// Enough for every pipeline that is known; a limit, so that a typing error does not ask for all memory.
inline constexpr int kMaxDepth = 1024;

/// Chunks times depth: what staging buffers may hold. Beyond any memory; a limit, so that no product overflows.
inline constexpr Bytes kMostStaged = 1_TiB;

/// What a user may set about a protocol. A protocol's defaults() say where its own values come from.
struct Settings {
  /// A message is cut into chunks of this size, which follow each other through the steps; zero: the whole message.
  /// Empty: not set. Messages go whole then, but a protocol that delegates() leaves the chunk to the way that it takes.
  std::optional<Bytes> chunk{};
  /// How many chunks may be under way at once, each in a staging buffer of its own. 1 to kMaxDepth. Empty: not set;
  /// one, but for a protocol that delegates(), likewise.
  std::optional<int> depth{};
  /// The longest that one exchange may take before it ends as timed_out.
  Seconds timeout{30.0};
  /// Where the peer's messages lie, where that is not message_memory(): a library learns it from a message's header, as
  /// it detects by the pointer where its own lie. Only for protocols that take messages in host memory.
  std::optional<Memory> peer_memory{};
  /// What this protocol alone has, by name; Protocol::options() lists them. One that is absent has its default. Fill it
  /// with set_option() of options.hpp, which checks names and values.
  std::map<std::string, std::string> options{};

  [[nodiscard]] Bytes chunk_or_whole() const { return chunk.value_or(Bytes{}); }
  [[nodiscard]] int depth_or_one() const { return depth.value_or(1); }
};

/// Something that a user may set about one protocol, by `--option NAME=VALUE`. All texts live as long as the program.
struct Option {
  std::string_view name;           ///< "engine"
  std::string_view values;         ///< "SIZE" (4K), "COUNT" (0, 1, ...), or Choices::names(): "copy-engine|kernel-push"
  std::string_view default_value;  ///< as a user would write it
  std::string_view description;    ///< one line
};

/// Another name of something that a user may set: the name that an MPI library gives to it.
struct Alias {
  std::string_view name;    ///< "MV2_CUDA_BLOCK_SIZE"
  std::string_view target;  ///< "chunk", "depth" or the name of an option
  /// "mvapich2": whose name it is; the library's presets begin with this. Empty: of no preset's library.
  std::string_view library = {};
  /// Header of a chunk: the part of the library's value that carries no data.
  Bytes header{};
};

/// Settings that belong together: those of a library that people run. Chosen by `--preset NAME`.
struct Preset {
  std::string_view name;         ///< "mvapich2"
  std::string_view description;  ///< one line, with the source of the numbers
  Settings settings{};
};

/// Something that a channel has counted. Printed behind the rows, and kept in the result file.
struct Counter {
  std::string name{};  ///< "cache hits"
  std::uint64_t value = 0;
};

/// May a protocol run on a path? The answer of Protocol::supports(). A fallback runs, and its reason becomes a note.
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
  /// For a sender `delivered` may mean that the bytes are on their way and its buffer is free; a receiver has them.
  /// An exchange that fails, by its Outcome or an exception, leaves the two ends out of step: what was under way might
  /// be taken for a later message. So every later one fails in the same way and moves nothing; open another channel.
  Outcome exchange(std::span<const View> outgoing, std::span<const View> incoming);

  /// An exchange in one direction; the peer calls the other one of the two.
  Outcome send(View message) { return exchange({&message, 1}, {}); }
  Outcome receive(View message) { return exchange({}, {&message, 1}); }

  /// The way that the bytes really take, for the result file: "staged through pageable host memory".
  [[nodiscard]] virtual std::string path_taken() const = 0;
  /// What made the last message go so, where a rule chose by facts: "by nccl-2.28", "channels: two, for ...".
  [[nodiscard]] virtual std::vector<std::string> reasons() const { return {}; }
  /// What this end has counted since it was opened, for the result file; always the same names in the same order. Of a
  /// protocol that delegates(): those of the ways that it has opened so far.
  [[nodiscard]] virtual std::vector<Counter> counters() const { return {}; }
  /// Is this end still finding out which way its messages may go, so that later ones may take another one? Of what it
  /// sets up by the verbs of its rank nothing need be said.
  [[nodiscard]] virtual bool connecting() const { return false; }

 protected:
  /// How the connection was made, for a constructor that meets the peer: if it was not, every exchange() says so.
  void connected(Outcome outcome) { failure_ = std::move(outcome); }

 private:
  /// exchange(), on a channel that has not failed yet.
  virtual Outcome do_exchange(std::span<const View> outgoing, std::span<const View> incoming) = 0;

  Outcome failure_{};  ///< of the connection or an earlier exchange
  std::exception_ptr thrown_{};
};

/// What all ranks do together in one call. The last two bring tokens of a language model to the experts of all ranks,
/// and their results back.
enum class Collective { all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, dispatch, combine };

/// Blocks of unequal lengths, of a dispatch or a combine: one for each expert and rank. Lists go by how many places
/// behind this rank, or before it, the other one is, and there by expert: those of the rank that has them.
struct Portions {
  int experts = 0;                   ///< of a rank, as many as any has
  Bytes longest{};                   ///< of all blocks of all ranks, which say the same
  Bytes sent{};                      ///< so much of the data is what goes; behind it lies what comes
  std::span<const Bytes> lengths{};  ///< of what goes
  std::span<const Bytes> from{};     ///< where it begins
  /// Where what comes begins. How long it is nobody knows before it comes, and so of a dispatch only the first places
  /// count, where the own block of each expert goes: those of other ranks follow it, the nearest one before first.
  std::span<const Bytes> to{};
};

/// An open connection of this rank with all others, for protocols that do collectives by themselves: those whose GPUs
/// pass on, and add up, what they receive. Like a channel otherwise.
class Communicator {
 public:
  virtual ~Communicator() = default;

  /// All ranks make the same call, in the same order. `data` is device memory, in elements of 64 bits: of an all-gather
  /// and a reduce-scatter rank r's part is the r-th, of a broadcast all is rank 0's, and of a reduce the sum; an
  /// all-to-all sends the first half, a block for each rank, and receives the second. `times` of them follow each other
  /// as one graph, which costs the host one launch. After a failure every later call fails in the same way.
  Outcome run(Collective what, View data, int times = 1) { return run(what, data, times, {}); }
  /// A dispatch, or a combine: what goes lies before what comes.
  Outcome run(Collective what, View data, int times, const Portions& portions);
  /// What a rule has chosen, of what such a collective may be: "tree ll128". Empty: there is one form alone.
  [[nodiscard]] virtual std::string form(Collective what, View data) const {
    return static_cast<void>(what), static_cast<void>(data), std::string();
  }
  /// What the bytes really take: "4 channels; peer memory".
  [[nodiscard]] virtual std::string path_taken(Collective what, View data) const = 0;
  /// The time that the rule expects which has chosen the way: NCCL's rule predicts one. Empty: no rule has chosen.
  [[nodiscard]] virtual std::optional<Seconds> predicted(Collective what, View data) const {
    return static_cast<void>(what), static_cast<void>(data), std::nullopt;
  }

 private:
  virtual Outcome do_run(Collective what, View data, int times, const Portions& portions) = 0;

  Outcome failure_{};
  std::exception_ptr thrown_{};
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
  /// May the messages of an end lie in host memory instead, whatever the other's do? No, with the reason, where the
  /// bytes go from GPU to GPU.
  [[nodiscard]] virtual Answer takes_host_memory(const Settings& settings) const;
  /// What a connection has where the user sets nothing.
  [[nodiscard]] virtual Settings defaults() const { return {}; }
  /// What this protocol alone lets a user set, in the order in which people shall read it.
  [[nodiscard]] virtual std::span<const Option> options() const { return {}; }
  /// The names that libraries give to chunk, depth and these options; a user may set them by either name.
  [[nodiscard]] virtual std::span<const Alias> aliases() const { return {}; }
  /// The settings of libraries that run this protocol; a user's own settings win over them.
  [[nodiscard]] virtual std::span<const Preset> presets() const { return {}; }
  /// Are messages cut into pieces of the chunk? Not where a message goes whole, and the chunk is what its fallback
  /// moves at a time.
  [[nodiscard]] virtual bool cuts_messages(const Settings& settings) const {
    static_cast<void>(settings);
    return true;
  }
  /// Must a message lie at the same place of both ends' memory, as on a symmetric heap?
  [[nodiscard]] virtual bool wants_same_places() const { return false; }
  /// Do the numbers of the two ranks decide what happens between them, such as whose request is dropped? Then others
  /// between which all is alike may take another time.
  [[nodiscard]] virtual bool goes_by_numbers(const Settings& settings) const {
    static_cast<void>(settings);
    return false;
  }
  /// Does no message between nodes, however long, leave from host memory?
  [[nodiscard]] virtual bool sends_device_memory_alone(const Settings& settings) const {
    static_cast<void>(settings);
    return false;
  }
  /// Does it only choose among the other protocols, message by message?
  [[nodiscard]] virtual bool delegates() const { return false; }
  /// Does it do collectives by itself? Then join() gives a Communicator, and elsewhere it throws.
  [[nodiscard]] virtual bool does_collectives() const { return false; }
  /// This one, with such settings? Of a protocol that wants_same_places() it is on a symmetric heap.
  [[nodiscard]] virtual bool does(Collective what, const Settings& settings) const;
  /// Opens the connection with all other ranks, which must do the same. Errors are those of connect().
  [[nodiscard]] virtual std::unique_ptr<Communicator> join(Rank& rank, const Settings& settings) const;
  /// Pure, and the same answer at both ends.
  [[nodiscard]] virtual Support supports(const Path& path) const = 0;
  /// Opens the connection to `peer`, which must do the same: waits for it up to the timeout, so no rings. If it does
  /// not come, every exchange says so. A UsageError for settings that make no sense; an UnavailableError where
  /// supports() says no.
  [[nodiscard]] virtual std::unique_ptr<Channel> connect(Rank& rank, RankId peer, const Settings& settings) const = 0;
};

/// What every connect() checks first: a UsageError for settings that make no sense, which says what is allowed.
void check_settings(const Protocol& protocol, const Settings& settings);
/// What both ends of a transfer report when they have messages of different lengths, in bytes.
Outcome wrong_size(std::uint64_t mine, std::uint64_t theirs);
/// An UnavailableError with the reason where `protocol` does not support `path`.
void require_support(const Protocol& protocol, const Path& path);

}  // namespace twinlink
