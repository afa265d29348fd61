// MPI libraries whose rules of choice are known: which algorithm a collective of so many ranks and bytes goes by.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "protocols/workloads/catalogue.hpp"
#include "protocols/workloads/schedule.hpp"

namespace twinlink::workloads::mpi {

/// What an algorithm needs of a call; where that is lacking the library takes another one, or one that is not here.
enum class Needs {
  nothing,
  element_for_each,    ///< as many elements as ranks
  element_of_power,    ///< as many elements as the largest power of two among the ranks
  power_of_two_ranks,  ///< of which others are refused by the algorithm
  even_ranks,
  element_to_mebibyte,  ///< more elements than ranks, and at most 1 MiB for each
};

/// By the library's own name, with its own order of messages.
struct LibraryAlgorithm {
  Algorithm algorithm;
  Needs needs = Needs::nothing;
  std::string_view otherwise{};  ///< what it takes then; empty: that is not here
  // Of one that is made of two other collectives of the library: what these go by. Empty: any.
  std::string_view reduce{};
  std::string_view broadcast{};
  bool from_host = false;  ///< its messages may be of buffers of the host where those of the call are GPUs'
};

/// From so many ranks on: "NAME BYTES NAME BYTES ... NAME", where each goes for sizes below what stands behind it. Of
/// rows that fit a call the last one counts.
struct Row {
  int ranks;
  std::string_view choices;
  bool of_power = false;      ///< of a power of two ranks alone
  bool shares_nodes = false;  ///< where some of the ranks are on one node
};

struct Table {
  std::string_view workload;
  bool for_each_rank = false;  ///< sizes are those of one rank's part, and not of all
  bool adds = false;           ///< by the CPU
  bool copies_gpus = false;    ///< GPUs' buffers come to the host for it
  bool by_nodes = false;       ///< a library that has rules of its own between nodes goes by those
  std::span<const Row> rows{};
  std::span<const LibraryAlgorithm> algorithms{};
};

struct Library {
  std::string_view name;  ///< "openmpi 4.1"; without a version: nobody says which
  std::span<const Table> tables;
  std::string_view between_nodes;  ///< why its rules for several nodes are not here; empty: they are these
  std::string_view version{};      ///< whose tables these are, where nobody says which runs
};

std::span<const Library> all_libraries();

/// The one that a machine runs: `said` has its name and version ("openmpi 4.1.6"), or is empty, and then `preset` is
/// its name without one ("openmpi"), or empty. A UsageError with the reason for any other: its rules are not known.
const Library& find_library(std::string_view said, std::string_view preset);

/// Does it add up, by the CPU? False where it has no rule.
bool adds_up(const Library& library, std::string_view workload);
/// Does it copy GPUs' buffers to the host for that, and the result back?
bool copies_gpus(const Library& library, std::string_view workload);
/// Are its messages without bytes? Then they are the host's, wherever buffers of other calls are.
bool has_no_buffer(std::string_view workload);
/// A UsageError where it goes by other rules on so many nodes; a workload without a name is all that a job may have.
void require_rule(const Library& library, std::string_view workload, int nodes);

/// Whose rules they are: "openmpi 4.1", or "openmpi, by the rules of 4.1".
std::string rules_of(const Library& library);

/// Who takes part, and what a rule may ask of it.
struct Call {
  int ranks = 2;
  std::optional<bool> shares_nodes{};  ///< are some of the ranks on one node? Nothing: nobody has said
  bool on_gpus = false;                ///< has buffers there
};

struct Choice {
  const Algorithm* algorithm;
  std::string why;       ///< "openmpi 4.1: neighbor needs an even number of ranks"
  bool reduces = false;  ///< by a reduce of the library, which goes by its own rule
};
/// What the library takes for `size` of a collective, as catalogue.hpp counts it. A UsageError for a workload of which
/// it has no rule, for a rule that asks what nobody has said, and for an algorithm that is not here.
Choice choose(const Library& library, std::string_view workload, const Call& call, Bytes size);

}  // namespace twinlink::workloads::mpi
