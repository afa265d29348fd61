#include <cstdint>
#include <optional>
#include <vector>

#include "real/record/arguments.hpp"
#include "real/record/hooks.hpp"
#include "real/record/recorder.hpp"

namespace twinlink::record {
namespace {

using mpi::Kind;
using mpi::What;

struct Collective {
  What what = What::barrier;
  std::size_t comm = 0;  ///< the place of the communicator, which is the last argument but for a request
  std::size_t buffer = 0;
  int root = -1;
  std::uint64_t bytes = 0;
  std::vector<std::uint64_t> blocks{};
};

int collective(Call& call, int result, const Collective& all) {
  if (result != MPI_SUCCESS) return result;
  const bool goes_on = call.arguments > all.comm + 1;
  const Word handle = goes_on ? to_word(request_at(call, all.comm + 1)) : 0;
  const bool has_buffer = all.what != What::barrier;
  const std::uint8_t device = has_buffer && is_of_device(call.as<const void*>(all.buffer)) ? mpi::kOfDevice : 0;
  Entry entry;
  const std::uint64_t number = entry.number_of(call.comm(all.comm));
  entry.call(Kind::collective, call, device | (goes_on ? mpi::kRequested : 0)).put(number);
  entry.put(static_cast<std::uint64_t>(all.what)).put_place(all.root).put(all.bytes).put(all.blocks.size());
  for (const std::uint64_t block : all.blocks) entry.put(block);
  if (goes_on) entry.add(handle, {.communicator = number});
  return result;
}

/// Between two groups arguments mean other things, or nothing: it is made, counted and not looked at. Nothing: there is
/// one group.
std::optional<int> between_groups(Call& call, std::size_t comm) {
  int has_two_sides = 0;
  PMPI_Comm_test_inter(call.comm(comm), &has_two_sides);
  if (has_two_sides == 0) return std::nullopt;
  const int result = call.run();
  Entry entry;
  const std::uint64_t name = entry.number_of_name(call.name);
  entry.call(Kind::other, call).put(name);
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
void add_blocks(const Call& call, std::size_t counts, std::uint64_t size, std::size_t comm,
                std::vector<std::uint64_t>& blocks) {
  const std::uint64_t ranks = ranks_of(call, comm);
  for (std::uint64_t i = 0; i < ranks; ++i) {
    blocks.push_back(static_cast<std::uint64_t>(int_at(call, counts, static_cast<int>(i))) * size);
  }
}

std::uint64_t sum_of_blocks(const Call& call, std::size_t counts, std::size_t type, std::size_t comm) {
  std::vector<std::uint64_t> blocks;
  add_blocks(call, counts, size_of(call.as<MPI_Datatype>(type)), comm, blocks);
  std::uint64_t sum = 0;
  for (const std::uint64_t block : blocks) sum += block;
  return sum;
}

}  // namespace

int barrier(Call& call) {
  if (const auto result = between_groups(call, 0)) return *result;
  return collective(call, call.run(), {.what = What::barrier});
}

int broadcast(Call& call) {
  if (const auto result = between_groups(call, 4)) return *result;

  return collective(call, call.run(),
                    {.what = What::broadcast, .comm = 4, .root = call.as<int>(3), .bytes = bytes_of(call, 1, 2)});
}

int reduce(Call& call) {
  if (const auto result = between_groups(call, 6)) return *result;

  return collective(call, call.run(),
                    {.what = What::reduce, .comm = 6, .root = call.as<int>(5), .bytes = bytes_of(call, 2, 3)});
}

int all_reduce(Call& call) {
  if (const auto result = between_groups(call, 5)) return *result;

  return collective(call, call.run(),
                    {.what = What::all_reduce, .comm = 5, .buffer = 1, .bytes = bytes_of(call, 2, 3)});
}

int scan(Call& call) {
  return collective(call, call.run(), {.what = What::scan, .comm = 5, .buffer = 1, .bytes = bytes_of(call, 2, 3)});
}

int reduce_scatter(Call& call) {
  if (const auto result = between_groups(call, 5)) return *result;

  return collective(call, call.run(),
                    {.what = What::reduce_scatter, .comm = 5, .buffer = 1, .bytes = sum_of_blocks(call, 2, 3, 5)});
}

int reduce_scatter_block(Call& call) {
  if (const auto result = between_groups(call, 5)) return *result;

  return collective(
      call, call.run(),
      {.what = What::reduce_scatter, .comm = 5, .buffer = 1, .bytes = bytes_of(call, 2, 3) * ranks_of(call, 5)});
}

int gather(Call& call) {
  if (const auto result = between_groups(call, 7)) return *result;

  const bool receives = is_root(call, 6, 7);
  return collective(call, call.run(),
                    {.what = What::gather,
                     .comm = 7,
                     .buffer = receives ? 3U : 0U,
                     .root = call.as<int>(6),
                     .bytes = receives ? bytes_of(call, 4, 5) : bytes_of(call, 1, 2)});
}

int gather_blocks(Call& call) {
  if (const auto result = between_groups(call, 8)) return *result;

  const bool receives = is_root(call, 7, 8);
  Collective all{.what = What::gather_blocks, .comm = 8, .buffer = receives ? 3U : 0U, .root = call.as<int>(7)};
  if (receives) {
    add_blocks(call, 4, size_of(call.as<MPI_Datatype>(6)), 8, all.blocks);
  } else {
    all.bytes = bytes_of(call, 1, 2);
  }
  return collective(call, call.run(), all);
}

int scatter(Call& call) {
  if (const auto result = between_groups(call, 7)) return *result;

  const bool sends = is_root(call, 6, 7);
  return collective(call, call.run(),
                    {.what = What::scatter,
                     .comm = 7,
                     .buffer = sends ? 0U : 3U,
                     .root = call.as<int>(6),
                     .bytes = sends ? bytes_of(call, 1, 2) : bytes_of(call, 4, 5)});
}

int scatter_blocks(Call& call) {
  if (const auto result = between_groups(call, 8)) return *result;

  const bool sends = is_root(call, 7, 8);
  Collective all{.what = What::scatter_blocks, .comm = 8, .buffer = sends ? 0U : 4U, .root = call.as<int>(7)};
  if (sends) {
    add_blocks(call, 1, size_of(call.as<MPI_Datatype>(3)), 8, all.blocks);
  } else {
    all.bytes = bytes_of(call, 5, 6);
  }
  return collective(call, call.run(), all);
}

int all_gather(Call& call) {
  if (const auto result = between_groups(call, 6)) return *result;

  return collective(
      call, call.run(),
      {.what = What::all_gather, .comm = 6, .buffer = 3, .bytes = bytes_of(call, 4, 5) * ranks_of(call, 6)});
}

int all_gather_blocks(Call& call) {
  if (const auto result = between_groups(call, 7)) return *result;

  return collective(call, call.run(),
                    {.what = What::all_gather, .comm = 7, .buffer = 3, .bytes = sum_of_blocks(call, 4, 6, 7)});
}

int all_to_all(Call& call) {
  if (const auto result = between_groups(call, 6)) return *result;

  return collective(
      call, call.run(),
      {.what = What::all_to_all, .comm = 6, .buffer = 3, .bytes = bytes_of(call, 4, 5) * ranks_of(call, 6)});
}

int all_to_all_blocks(Call& call) {
  if (const auto result = between_groups(call, 8)) return *result;

  Collective all{.what = What::all_to_all_blocks, .comm = 8, .buffer = 4};
  // In place each sends as much as it receives.
  const bool in_place = is_in_place(call, 0);
  add_blocks(call, in_place ? 5 : 1, size_of(call.as<MPI_Datatype>(in_place ? 7 : 3)), 8, all.blocks);
  add_blocks(call, 5, size_of(call.as<MPI_Datatype>(7)), 8, all.blocks);
  return collective(call, call.run(), all);
}

int all_to_all_types(Call& call) {
  if (const auto result = between_groups(call, 8)) return *result;

  Collective all{.what = What::all_to_all_blocks, .comm = 8, .buffer = 4};
  const std::uint64_t ranks = ranks_of(call, 8);
  for (const std::size_t counts : {is_in_place(call, 0) ? std::size_t{5} : std::size_t{1}, std::size_t{5}}) {
    for (int i = 0; static_cast<std::uint64_t>(i) < ranks; ++i) {
      all.blocks.push_back(static_cast<std::uint64_t>(int_at(call, counts, i)) * size_of(type_at(call, counts + 2, i)));
    }
  }
  return collective(call, call.run(), all);
}

}  // namespace twinlink::record
