#include "protocols/bench/probe/probed.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "protocols/gpu/work.hpp"

namespace twinlink::bench {
namespace {

using enum Probed::What;
using How = Probed::How;
using Peer = Probed::Peer;

/// "shared pinned" -> "shared-pinned": one word of a name.
std::string hyphenated(Memory memory) {
  std::string text(to_string(memory));
  std::ranges::replace(text, ' ', '-');
  return text;
}

std::string copy_words(const Probed& copy) {
  const bool between_gpus = copy.engine == Engine::dma && copy.peer != Peer::none;
  return fmt::format("{}copy {}", between_gpus ? "peer " : "", way_of(copy));
}

std::string message_words(const Probed& message, std::string_view where) {
  switch (message.how) {
    case How::start:
      return fmt::format("start message {}", where);
    case How::queued:
      return fmt::format("queued message {}", where);
    case How::queued_both_ways:
      return fmt::format("queued message {} both-ways", where);
    case How::alone:
    case How::both_ways:
      break;
  }
  return fmt::format("message {} {}{}", hyphenated(message.from), where,
                     message.how == How::both_ways ? " both-ways" : "");
}

std::string_view prefix(How how) { return how == How::start ? "start " : how == How::queued ? "queued " : ""; }

}  // namespace

std::string way_of(const Probed& copy) {
  if (copy.engine == Engine::resident) return "resident-push";
  if (copy.engine == Engine::kernel) {
    if (copy.peer != Peer::none) return copy.peer == Peer::write ? "kernel-push" : "kernel-pull";
    if (copy.from == copy.to) return "kernel-local";
    return copy.from == Memory::device ? "kernel-to-pinned" : "kernel-from-pinned";
  }
  if (copy.peer != Peer::none) {
    return fmt::format("{} {}", copy.peer == Peer::write ? "write" : "read", copy.direct ? "direct" : "staged");
  }
  const std::string_view where = copy.far ? "far" : "near";
  if (copy.how == How::both_ways) return fmt::format("{} {} both-ways", hyphenated(copy.from), where);
  if (copy.from != Memory::device && copy.to != Memory::device) return "host-to-host";
  if (copy.from == copy.to) return "device-to-device";
  return fmt::format("{}-to-{} {}", hyphenated(copy.from), hyphenated(copy.to), where);
}

std::string to_string(const Probed& probed) {
  const std::string_view where = probed.same_node ? "same-node" : "other-node";
  switch (probed.what) {
    case copy:
      return fmt::format("{}{}{}{}", prefix(probed.how), copy_words(probed), probed.cpu_written ? " cpu-written" : "",
                         probed.gpus > 1 ? fmt::format(" of {} GPUs", probed.gpus) : "");
    case block:
      return fmt::format("{}-block {}-to-{} of {} B", probed.engine == Engine::dma ? "engine" : "kernel",
                         hyphenated(probed.from), hyphenated(probed.to), probed.block_bytes);
    case put_and_signal:
      return fmt::format("{}put and signal{} same-node", prefix(probed.how),
                         probed.engine == Engine::dma      ? ""
                         : probed.engine == Engine::kernel ? " by kernel"
                                                           : " by resident kernel");
    case message:
      return message_words(probed, where);
    case receive:
      return fmt::format("start receive {}", where);
    case control:
      return probed.how == How::queued_both_ways ? fmt::format("queued bare control message {} both-ways", where)
                                                 : fmt::format("control message {}", where);
    case program:
      return fmt::format("{}{}", prefix(probed.how),
                         probed.programs == 1 ? "program" : fmt::format("graph of {} programs", probed.programs));
    case hop:
      return fmt::format("hop {} {}", gpu::to_string(probed.format), probed.direct ? "direct" : "by-host");
    case pass:
      return fmt::format("pass {} on", gpu::to_string(probed.format));
    case blocks:
      return fmt::format("{} by {} blocks", gpu::to_string(probed.format), probed.blocks);
    case ring:
      return fmt::format("{}ring {} of {} GPUs", prefix(probed.how), gpu::to_string(probed.format), probed.gpus);
    case finish:
      return "finish ended copy";
    case look:
      return "look copy";
    case allocate:
      return "allocate " + hyphenated(probed.from);
    case release:
      return "release " + hyphenated(probed.from);
    case register_device:
      return "register device";
    case deregister_device:
      return "deregister device";
    case handle_export:
      return "handle export";
    case handle_open:
      return "handle open";
    case handle_close:
      return "handle close";
  }
  return {};
}

namespace {

constexpr std::array kOfHost{Memory::pinned, Memory::pageable, Memory::shared_pinned};
constexpr std::array kMemories{Memory::device, Memory::pinned, Memory::pageable, Memory::shared_pinned};
constexpr std::uint64_t kMostGpus = 1024;
constexpr std::uint64_t kLargestBlock = 1U << 20U;
constexpr std::uint64_t kMostPrograms = 1024;
constexpr std::uint64_t kMostBlocks = 64;

/// Every value that has a name, once.
class AllProbed {
 public:
  AllProbed() {
    for (const Memory host : kOfHost) {
      for (const bool far : {false, true}) {
        add_copies({.from = host, .to = Memory::device, .far = far});
        add_copies({.from = Memory::device, .to = host, .far = far});
        add_with_gpus({.how = How::both_ways, .from = host, .to = Memory::device, .far = far});
      }
    }
    add_copies({});
    add_copies({.from = Memory::pageable, .to = Memory::pageable});
    for (const Peer peer : {Peer::write, Peer::read}) {
      for (const bool direct : {true, false}) add_copies({.peer = peer, .direct = direct});
      add_copies({.engine = Engine::kernel, .peer = peer});
    }
    add_copies({.engine = Engine::kernel});
    add_copies({.engine = Engine::kernel, .to = Memory::pinned});
    add_copies({.engine = Engine::kernel, .from = Memory::pinned});
    add_copies({.engine = Engine::resident, .peer = Peer::write});
    add_blocks();
    for (const Engine engine : {Engine::dma, Engine::kernel, Engine::resident}) {
      for (const How how : {How::alone, How::queued}) add({.what = put_and_signal, .how = how, .engine = engine});
    }
    add_programs();
    for (const bool same_node : {true, false}) add_messages(same_node);
    for (const Memory memory : kMemories) {
      for (const Probed::What what : {allocate, release}) add({.what = what, .from = memory});
    }
    for (const Probed::What what :
         {finish, look, register_device, deregister_device, handle_export, handle_open, handle_close}) {
      add({.what = what});
    }
  }

  [[nodiscard]] std::optional<Probed> find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  void add(const Probed& probed) { by_name_.emplace(to_string(probed), probed); }

  void add_with_gpus(Probed probed) {
    for (std::uint64_t gpus = 1; gpus <= kMostGpus; gpus *= 2) {
      probed.gpus = gpus;
      add(probed);
    }
  }

  void add_copies(Probed probed) {
    add_with_gpus(probed);
    for (const How how : {How::start, How::queued}) {
      probed.how = how;
      add(probed);
    }
    probed.how = How::alone;
    if (probed.from == Memory::device) return;
    probed.cpu_written = true;
    add(probed);
  }

  void add_blocks() {
    for (const Engine engine : {Engine::dma, Engine::kernel}) {
      for (const Memory from : kMemories) {
        for (const Memory to : kMemories) {
          for (std::uint64_t bytes = 1; bytes <= kLargestBlock; bytes *= 2) {
            add({.what = block, .engine = engine, .from = from, .to = to, .block_bytes = bytes});
          }
        }
      }
    }
  }

  void add_programs() {
    for (const How how : {How::alone, How::start}) {
      for (std::uint64_t programs = 1; programs <= kMostPrograms; programs *= 2) {
        add({.what = program, .how = how, .programs = programs});
      }
    }
    for (const gpu::LineFormat format : {gpu::LineFormat::simple, gpu::LineFormat::ll, gpu::LineFormat::ll128}) {
      for (const bool direct : {true, false}) add({.what = hop, .direct = direct, .format = format});
      add({.what = pass, .format = format});
      for (const How how : {How::alone, How::queued}) {
        for (std::uint64_t gpus = 2; gpus <= kMostOfARing; ++gpus) {
          add({.what = ring, .how = how, .gpus = gpus, .format = format});
        }
      }
      for (std::uint64_t many = 1; many <= kMostBlocks; many *= 2) {
        add({.what = blocks, .format = format, .blocks = many});
      }
    }
  }

  void add_messages(bool same_node) {
    const auto with = [&](Probed::What what, How how, Memory memory = Memory::pageable) {
      add({.what = what, .how = how, .from = memory, .to = memory, .same_node = same_node});
    };
    for (const Memory memory : {Memory::pinned, Memory::pageable}) {
      for (const How how : {How::alone, How::both_ways}) with(message, how, memory);
    }
    for (const How how : {How::start, How::queued, How::queued_both_ways}) with(message, how);
    with(receive, How::start);
    for (const How how : {How::alone, How::queued_both_ways}) with(control, how);
  }

  std::map<std::string, Probed, std::less<>> by_name_{};
};

}  // namespace

std::optional<Probed> probed_by(std::string_view name) {
  static const AllProbed all;
  return all.find(name);
}

}  // namespace twinlink::bench
