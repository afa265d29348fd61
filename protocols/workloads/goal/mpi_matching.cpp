#include "protocols/workloads/goal/mpi_matching.hpp"

#include <algorithm>

#include "protocols/core/errors.hpp"

namespace twinlink::workloads::goal::mpi {

void refuse_file(const std::string& file, const std::string& what) { throw InputError(file + ": error: " + what); }

std::size_t KeyHash::operator()(const Key& key) const {
  constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15;  // of a hash by multiplication: 2^64 over the golden ratio
  std::uint64_t all = key.tag * kMix + static_cast<std::uint64_t>(key.from);
  all = (all ^ (all >> 32U)) * kMix + static_cast<std::uint64_t>(key.to);
  return static_cast<std::size_t>(all ^ (all >> 29U));
}

std::size_t Communicators::find(const std::vector<int>& own, const std::vector<int>& others, std::size_t nth) {
  // Both sides see the same two lists, in another order.
  std::vector<int> key = std::min(own, others);
  if (!others.empty()) key.push_back(-1);
  const std::vector<int>& last = std::max(own, others);
  key.insert(key.end(), last.begin(), last.end());
  std::vector<std::size_t>& known = by_ranks_[key];
  while (known.size() <= nth) {
    known.push_back(all_.size());
    all_.push_back({.ranks = own, .has_two_sides = !others.empty()});
  }
  return known[nth];
}

void OwnCommunicators::add(const Call& call) {
  std::vector<int> own;
  std::vector<int> others;
  for (const auto& [from, to] : {std::pair(&call.numbers, &own), std::pair(&call.others, &others)}) {
    for (const std::uint64_t rank : *from) {
      if (rank >= ranks_)
        refuse_file(file_, "a communicator has rank " + std::to_string(rank) + ", which is not there");
      to->push_back(static_cast<int>(rank));
    }
  }
  if (own.empty()) {
    known_.emplace_back();
    return;
  }
  std::vector<int> key = own;
  key.push_back(-1);
  key.insert(key.end(), others.begin(), others.end());
  const std::size_t nth = seen_[key]++;
  known_.push_back({all_.find(own, others, nth), others.empty() ? own : others});
}

OwnCommunicators::Known& OwnCommunicators::of(const Call& call) {
  if (call.communicator >= known_.size()) refuse_file(file_, "a call names a communicator that is not there");
  return known_[call.communicator];
}

int OwnCommunicators::rank_at(const Known& known, std::uint64_t place) const {
  if (place == 0 || place > known.peers.size()) {
    refuse_file(file_, "a call names place " + std::to_string(place) + " of a communicator of " +
                           std::to_string(known.peers.size()) + " ranks");
  }
  return known.peers[place - 1];
}

namespace {

std::uint64_t tag_of(std::size_t communicator, std::uint64_t tag) {
  constexpr unsigned kTagBits = 32;
  return (static_cast<std::uint64_t>(communicator) << kTagBits) | (tag == 0 ? 0 : (tag - 1) & UINT32_MAX);
}

}  // namespace

Key OwnCommunicators::sent(const Known& known, std::uint64_t place, std::uint64_t tag) const {
  return {rank_, rank_at(known, place), tag_of(known.number, tag)};
}

Key OwnCommunicators::received(const Known& known, std::uint64_t place, std::uint64_t tag) const {
  return {rank_at(known, place), rank_, tag_of(known.number, tag)};
}

Requests::Requests(const RankCalls& calls) {
  calls.each([&](const Call& call) {
    if (call.requested) all_.emplace_back();
    for (const Ended& each : call.ended) {
      if (each.request >= all_.size()) refuse_file(calls.file, "a call waits for a request that is not there");
      all_[each.request] = {each.how, true, static_cast<std::uint32_t>(each.peer), each.tag, each.bytes};
    }
  });
}

}  // namespace twinlink::workloads::goal::mpi
