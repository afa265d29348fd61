#include "protocols/core/protocol.hpp"

#include <string>

#include "protocols/core/options.hpp"

namespace twinlink {

Outcome Channel::exchange(std::span<const View> outgoing, std::span<const View> incoming) {
  if (thrown_) std::rethrow_exception(thrown_);
  if (!failure_.ok()) return failure_;
  try {
    failure_ = do_exchange(outgoing, incoming);
  } catch (...) {
    thrown_ = std::current_exception();
    throw;
  }
  return failure_;
}

Outcome Communicator::run(Collective what, View data, int times, const Portions& portions) {
  if (times < 1) throw UsageError("a collective runs once at least");
  if (thrown_) std::rethrow_exception(thrown_);
  if (!failure_.ok()) return failure_;
  try {
    failure_ = do_run(what, data, times, portions);
  } catch (...) {
    thrown_ = std::current_exception();
    throw;
  }
  return failure_;
}

bool Protocol::does(Collective what, const Settings&) const {
  return does_collectives() && what != Collective::dispatch && what != Collective::combine;
}

std::unique_ptr<Communicator> Protocol::join(Rank&, const Settings&) const {
  throw UsageError("protocol '" + std::string(name()) + "' does no collectives by itself");
}

Answer Protocol::takes_host_memory(const Settings&) const {
  if (message_memory() != Memory::device) return Answer::granted();
  return Answer::refused("its bytes go from GPU to GPU");
}

void check_settings(const Protocol& protocol, const Settings& settings) {
  const std::string who = "protocol '" + std::string(protocol.name()) + "': ";
  const int depth = settings.depth_or_one();
  if (depth < 1 || depth > kMaxDepth) {
    throw UsageError(who + "depth is " + std::to_string(depth) + ", but must lie between 1 and " +
                     std::to_string(kMaxDepth));
  }
  if (settings.chunk_or_whole().count() > kMostStaged.count() / static_cast<std::uint64_t>(depth)) {
    throw UsageError(who + std::to_string(depth) + " chunks of " + format_size(settings.chunk_or_whole()) +
                     " are more than the " + format_size(kMostStaged) + " that may be under way at once");
  }
  if (!(settings.timeout > Seconds{0})) throw UsageError(who + "the timeout must be longer than zero");
  static_cast<void>(OptionReader(protocol, settings));
}

Outcome wrong_size(std::uint64_t mine, std::uint64_t theirs) {
  return {Status::wrong_size,
          "this side has " + std::to_string(mine) + " B, the other " + std::to_string(theirs) + " B"};
}

void require_support(const Protocol& protocol, const Path& path) {
  const Support support = protocol.supports(path);
  if (!support.usable()) {
    throw UnavailableError("protocol '" + std::string(protocol.name()) + "' cannot run here: " + support.reason);
  }
}

}  // namespace twinlink
