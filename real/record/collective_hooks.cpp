#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "real/record/arguments.hpp"
#include "real/record/hooks.hpp"
#include "real/record/recorder.hpp"

namespace twinlink::record {
namespace {

using mpi::Kind;
using mpi::What;

struct Collective {
  std::size_t buffer = 0;
  int root = -1;
  std::uint64_t bytes = 0;
  std::vector<std::uint64_t> blocks{};
};

/// Makes the call, whose communicator stands at `comm`, the last place but for a request. `look` says what it moves.
/// Between two groups arguments mean other things, or nothing: such a call is counted, and not looked at.
int collective(Call& call, What what, std::size_t comm, const std::function<void(Collective&)>& look) {
  int has_two_sides = 0;
  PMPI_Comm_test_inter(call.comm(comm), &has_two_sides);
  if (has_two_sides != 0) return count(call);
  Collective all;
  look(all);
  const int result = call.run();
  if (result != MPI_SUCCESS) return result;
  const bool goes_on = call.arguments > comm + 1;
  const Word handle = goes_on ? to_word(request_at(call, comm + 1)) : 0;
  const bool has_buffer = what != What::barrier;
  const std::uint8_t device = has_buffer && is_of_device(call.as<const void*>(all.buffer)) ? mpi::kOfDevice : 0;
  Entry entry;
  const std::uint64_t number = entry.number_of(call.comm(comm));
  entry.call(Kind::collective, call, device | (goes_on ? mpi::kRequested : 0)).put(number);
  entry.put(static_cast<std::uint64_t>(what)).put_place(all.root).put(all.bytes).put(all.blocks.size());
  for (const std::uint64_t block : all.blocks) entry.put(block);
  if (goes_on) entry.add(handle, {.communicator = number});
  return result;
}

std::uint64_t ranks_of(const Call& call, std::size_t place) {
  int size = 0;
  PMPI_Comm_size(call.comm(place), &size);
  return static_cast<std::uint64_t>(size);
}

bool is_root(const Call& call, std::size_t root, std::size_t comm) {
  int rank = 0;
  PMPI_Comm_rank(call.comm(comm), &rank);
  return rank == call.as<int>(root);
}

/// So many bytes to each, or from each.
std::vector<std::uint64_t> blocks_of(const Call& call, std::size_t counts, std::uint64_t size, std::size_t comm) {
  std::vector<std::uint64_t> blocks(ranks_of(call, comm));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i] = static_cast<std::uint64_t>(int_at(call, counts, static_cast<int>(i))) * size;
  }
  return blocks;
}

std::uint64_t sum_of_blocks(const Call& call, std::size_t counts, std::size_t type, std::size_t comm) {
  const auto blocks = blocks_of(call, counts, size_of(call.as<MPI_Datatype>(type)), comm);
  return std::accumulate(blocks.begin(), blocks.end(), std::uint64_t{0});
}

/// Every rank has the sum, or its part of a running one.
int sum(Call& call, What what) {
  return collective(call, what, 5, [&](Collective& all) {
    all.buffer = 1;
    all.bytes = bytes_of(call, 2, 3);
  });
}

/// Every rank receives an equal block of each.
int equal_blocks_to_all(Call& call, What what) {
  return collective(call, what, 6, [&](Collective& all) {
    all.buffer = 3;
    all.bytes = bytes_of(call, 4, 5) * ranks_of(call, 6);
  });
}

/// A buffer and its count and type at the root, and the same at each rank.
struct Side {
  std::size_t buffer;
  std::size_t count;
  std::size_t type;
};

/// Between the root and all others, in equal blocks.
int equal_blocks_of_root(Call& call, What what, Side of_root, Side of_each) {
  return collective(call, what, 7, [&](Collective& all) {
    const Side& own = is_root(call, 6, 7) ? of_root : of_each;
    all.buffer = own.buffer;
    all.root = call.as<int>(6);
    all.bytes = bytes_of(call, own.count, own.type);
  });
}

/// The same in blocks that may differ: the root's counts are a list.
int blocks_of_root(Call& call, What what, Side of_root, Side of_each) {
  return collective(call, what, 8, [&](Collective& all) {
    const bool is_at_root = is_root(call, 7, 8);
    all.buffer = (is_at_root ? of_root : of_each).buffer;
    all.root = call.as<int>(7);
    if (is_at_root) {
      all.blocks = blocks_of(call, of_root.count, size_of(call.as<MPI_Datatype>(of_root.type)), 8);
    } else {
      all.bytes = bytes_of(call, of_each.count, of_each.type);
    }
  });
}

}  // namespace

int barrier(Call& call) {
  return collective(call, What::barrier, 0, [](Collective&) {});
}

int broadcast(Call& call) {
  return collective(call, What::broadcast, 4, [&](Collective& all) {
    all.root = call.as<int>(3);
    all.bytes = bytes_of(call, 1, 2);
  });
}

int reduce(Call& call) {
  return collective(call, What::reduce, 6, [&](Collective& all) {
    all.root = call.as<int>(5);
    all.bytes = bytes_of(call, 2, 3);
  });
}

int all_reduce(Call& call) { return sum(call, What::all_reduce); }
int scan(Call& call) { return sum(call, What::scan); }

int reduce_scatter(Call& call) {
  return collective(call, What::reduce_scatter, 5, [&](Collective& all) {
    all.buffer = 1;
    all.bytes = sum_of_blocks(call, 2, 3, 5);
  });
}

int reduce_scatter_block(Call& call) {
  return collective(call, What::reduce_scatter, 5, [&](Collective& all) {
    all.buffer = 1;
    all.bytes = bytes_of(call, 2, 3) * ranks_of(call, 5);
  });
}

int gather(Call& call) { return equal_blocks_of_root(call, What::gather, {3, 4, 5}, {0, 1, 2}); }
int gather_blocks(Call& call) { return blocks_of_root(call, What::gather_blocks, {3, 4, 6}, {0, 1, 2}); }
int scatter(Call& call) { return equal_blocks_of_root(call, What::scatter, {0, 1, 2}, {3, 4, 5}); }
int scatter_blocks(Call& call) { return blocks_of_root(call, What::scatter_blocks, {0, 1, 3}, {4, 5, 6}); }

int all_gather(Call& call) { return equal_blocks_to_all(call, What::all_gather); }
int all_to_all(Call& call) { return equal_blocks_to_all(call, What::all_to_all); }

int all_gather_blocks(Call& call) {
  return collective(call, What::all_gather, 7, [&](Collective& all) {
    all.buffer = 3;
    all.bytes = sum_of_blocks(call, 4, 6, 7);
  });
}

namespace {

/// What an all-to-all sends and then receives; in place each sends as much as it receives. `blocks`: by the place of
/// their counts, two behind which their types stand.
int blocks_to_all(Call& call, const std::function<std::vector<std::uint64_t>(std::size_t counts)>& blocks) {
  return collective(call, What::all_to_all_blocks, 8, [&](Collective& all) {
    constexpr std::size_t kReceived = 5;
    all.buffer = 4;
    all.blocks = blocks(is_in_place(call, 0) ? kReceived : 1);
    const std::vector<std::uint64_t> received = blocks(kReceived);
    all.blocks.insert(all.blocks.end(), received.begin(), received.end());
  });
}

}  // namespace

int all_to_all_blocks(Call& call) {
  return blocks_to_all(
      call, [&](std::size_t counts) { return blocks_of(call, counts, size_of(call.as<MPI_Datatype>(counts + 2)), 8); });
}

int all_to_all_types(Call& call) {
  return blocks_to_all(call, [&](std::size_t counts) {
    std::vector<std::uint64_t> blocks = blocks_of(call, counts, 1, 8);
    for (std::size_t i = 0; i < blocks.size(); ++i)
      blocks[i] *= size_of(type_at(call, counts + 2, static_cast<int>(i)));
    return blocks;
  });
}

}  // namespace twinlink::record
