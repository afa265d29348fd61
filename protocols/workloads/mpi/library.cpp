#include "protocols/workloads/mpi/library.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <iterator>
#include <ranges>
#include <stdexcept>
#include <vector>

#include "protocols/core/enum_table.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/core/units.hpp"
#include "protocols/workloads/mpi/tables.hpp"

namespace twinlink::workloads::mpi {
namespace {

const Table* table_of(const Library& library, std::string_view workload) {
  const auto found = std::ranges::find(library.tables, workload, &Table::workload);
  return found == library.tables.end() ? nullptr : &*found;
}

/// The word at the beginning, which is taken away with the space behind it.
std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(text.size(), word.size() + 1));
  return word;
}

/// By the row of the ranks. One that is alone sends nothing by any.
std::string_view named_by(const Table& table, const Call& call, Bytes bytes) {
  const int ranks = std::max(call.ranks, 2);
  const bool power = std::has_single_bit(static_cast<unsigned>(ranks));
  const auto row = std::ranges::find_if(std::views::reverse(table.rows), [&](const Row& each) {
    return each.ranks <= ranks && (power || !each.of_power) &&
           (call.shares_nodes.value_or(false) || !each.shares_nodes);
  });
  std::string_view left = row->choices;
  while (true) {
    const std::string_view name = take_word(left);
    if (left.empty()) return name;
    const std::string_view limit = take_word(left);
    std::uint64_t below = 0;
    std::from_chars(limit.data(), limit.data() + limit.size(), below);
    if (bytes.count() < below) return name;
  }
}

bool has(Needs needs, int ranks, Bytes size) {
  const auto n = static_cast<unsigned>(ranks);
  const std::uint64_t elements = elements_of(size);
  switch (needs) {
    case Needs::nothing:
      return true;
    case Needs::element_for_each:
      return elements >= n;
    case Needs::element_of_power:
      return elements >= std::bit_floor(n);
    case Needs::power_of_two_ranks:
      return std::has_single_bit(n);
    case Needs::even_ranks:
      return n % 2 == 0;
    case Needs::element_to_mebibyte:
      return elements > n && size <= 1_MiB * n;
  }
  return false;
}

[[noreturn]] void refuse(const std::string& why) { throw UsageError("--algorithm tuned: " + why); }

constexpr Words<Needs> kNeeds{"nothing",
                              "an element of 8 B for each rank",
                              "as many elements of 8 B as ranks in a power of two",
                              "a power of two ranks",
                              "an even number of ranks",
                              "more elements of 8 B than ranks, and at most 1 MiB for each"};

}  // namespace

std::span<const Library> all_libraries() {
  static const std::vector<Library> all = [] {
    std::vector<Library> libraries(openmpi_libraries().begin(), openmpi_libraries().end());
    libraries.insert(libraries.end(), mpich_libraries().begin(), mpich_libraries().end());
    return libraries;
  }();
  return all;
}

const Library& find_library(std::string_view said, std::string_view preset) {
  std::string_view left = said.empty() ? preset : said;
  const std::string named(left);
  const std::string_view name = take_word(left);
  for (const Library& library : all_libraries()) {
    std::string_view version = library.name;
    if (take_word(version) != name) continue;
    // 4.1.6 is one of 4.1, and 4.10 is not.
    if (left == version || (left.starts_with(version) && left[version.size()] == '.')) return library;
  }
  std::string known;
  for (const Library& library : all_libraries()) {
    if (library.name.find(' ') == std::string_view::npos) continue;
    known += (known.empty() ? "" : ", ") + std::string(library.name);
  }
  throw UsageError("--algorithm tuned: " +
                   (named.empty() ? std::string("the platform names no MPI library")
                                  : "by which rules " + named + " chooses algorithms is not known here") +
                   "; those of " + known + " are: --set software.mpi=openmpi-4.1 names one");
}

bool adds_up(const Library& library, std::string_view workload) {
  const Table* const table = table_of(library, workload);
  return table != nullptr && table->adds;
}

bool copies_gpus(const Library& library, std::string_view workload) {
  const Table* const table = table_of(library, workload);
  return table != nullptr && table->copies_gpus;
}

bool has_no_buffer(std::string_view workload) { return workload == "barrier"; }

void require_rule(const Library& library, std::string_view workload, int nodes) {
  const Table* const table = table_of(library, workload);
  const bool by_nodes = workload.empty() || (table != nullptr && table->by_nodes);
  if (nodes < 2 || !by_nodes || library.between_nodes.empty()) return;
  throw UsageError("--algorithm tuned: " + std::string(library.name) + ": " +
                   (workload.empty() ? "" : std::string(workload) + ": ") + std::string(library.between_nodes));
}

std::string rules_of(const Library& library) {
  const std::string name(library.name);
  return library.version.empty() ? name : name + ", by the rules of " + std::string(library.version);
}

Choice choose(const Library& library, std::string_view workload, const Call& call, Bytes size) {
  const Table* const table = table_of(library, workload);
  if (table == nullptr) refuse(std::string(library.name) + " has no rule for " + std::string(workload));
  if (!call.shares_nodes && std::ranges::any_of(table->rows, &Row::shares_nodes)) {
    refuse(std::string(library.name) + " asks for " + std::string(workload) +
           " whether ranks share nodes, which a recorded job does not say of its groups");
  }
  const Bytes bytes = table->for_each_rank ? Bytes{size.count() / static_cast<std::uint64_t>(call.ranks)} : size;
  std::string_view name = named_by(*table, call, bytes);
  std::string why = rules_of(library);
  // What it takes otherwise needs nothing.
  const auto ruled = std::ranges::find(table->algorithms, name, [](const auto& each) { return each.algorithm.name; });
  if (ruled != table->algorithms.end() && !has(ruled->needs, call.ranks, size)) {
    why += ": " + std::string(name) + " needs " + std::string(kNeeds[ruled->needs]);
    if (ruled->otherwise.empty()) refuse(why + ", and what the library takes otherwise is not here");
    name = ruled->otherwise;
  }
  for (const LibraryAlgorithm& each : table->algorithms) {
    if (each.algorithm.name != name) continue;
    const auto goes_by = [&](std::string_view part, std::string_view wanted) {
      return wanted.empty() || choose(library, part, call, size).algorithm->name == wanted;
    };
    if (!goes_by("reduce", each.reduce) || !goes_by("broadcast", each.broadcast)) continue;
    if (each.algorithm.schedule == nullptr) {
      refuse(why + ": " + std::string(workload) + " of this size goes by " + std::string(name) + ", " +
             std::string(each.algorithm.description));
    }
    if (each.from_host && call.on_gpus) {
      refuse(why + ": " + std::string(workload) + " by " + std::string(name) +
             " may take buffers of GPUs through the host, and how is not here; -p host has them there");
    }
    if (!each.reduce.empty()) why += ": reduce by " + std::string(each.reduce);
    if (!each.broadcast.empty()) why += ", broadcast by " + std::string(each.broadcast);
    return {&each.algorithm, why, !each.reduce.empty()};
  }
  throw std::logic_error(std::string(library.name) + " takes " + std::string(name) + " for " + std::string(workload) +
                         ", which has no schedule");
}

}  // namespace twinlink::workloads::mpi
