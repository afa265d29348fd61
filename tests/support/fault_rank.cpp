#include "tests/support/fault_rank.hpp"

namespace twinlink {
namespace {

View nothing_of(const View& view) { return view.slice({}, {}); }

}  // namespace

Buffer FaultRank::open_memory(RankId owner, const IpcHandle& handle) {
  const Buffer opened = inner().open_memory(owner, handle);
  if (opened.memory != Memory::device) return opened;
  if (fault_ == Fault::refused_opening) {
    inner().close_memory(opened);  // what lies behind a handle, not every world tells beforehand
    ++refusals_;
    throw EnvironmentError("open", "this driver opens nothing");
  }
  of_peers_.insert(opened.id);
  return opened;
}

bool FaultRank::lost(const View& to, const View& from) const {
  return fault_ == Fault::lost_peer_copies && (of_peers_.contains(to.buffer.id) || of_peers_.contains(from.buffer.id));
}

Op FaultRank::start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) {
  if (lost(to, from)) return inner().copy(nothing_of(to), nothing_of(from), stream, engine);
  return inner().start_copy(to, from, blocks, stream, engine);
}

Op FaultRank::put(View to, View from, Stream stream, Engine engine, std::optional<Signal> signal) {
  if (lost(to, from)) return inner().put(nothing_of(to), nothing_of(from), stream, engine, signal);
  return inner().put(to, from, stream, engine, signal);
}

}  // namespace twinlink
