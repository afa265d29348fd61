// How the MPI library carries messages between ranks of one node. The library decides; this sets its own switches
// before it begins.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "protocols/core/units.hpp"

namespace twinlink::real {

/// What `--intra-node` asks for.
enum class WithinNode {
  library,        ///< whatever the library does by itself
  shared_memory,  ///< the library's default, but for MVAPICH2 on GPUs
  loopback        ///< through the network adapter and back, or where there is none through the system's sockets
};

enum class MpiLibrary { open_mpi, mvapich2, other };
/// The one that this program was built with.
MpiLibrary mpi_library();

/// What decides which switches of a library are the right ones.
struct NodeFacts {
  bool adapter = false;  ///< InfiniBand or the like
  bool network = true;   ///< an interface other than the loopback interface is up
};
NodeFacts look_at_node();

/// Names of environment variables and their values. A UsageError for a library whose switches are not known.
std::vector<std::pair<std::string, std::string>> switches(WithinNode way, MpiLibrary library, const NodeFacts& facts);

/// Open MPI's shared memory is a file for each rank in /dev/shm, as large as `ompi_info --all` of that release says: 4
/// MiB until 4.1 (btl_vader_segment_size), 16 MiB from 5.0 on (btl_sm_segment_size). `major`: the release's first
/// number.
Bytes room_of_a_rank(int major);

/// Where there is no room Open MPI takes sockets instead, and its own message about that may get lost. Says that `free`
/// bytes there are too few for `ranks` of a node that take `each`; empty if they are enough.
std::string lack_of_room(Bytes free, int ranks, Bytes each);

/// Sets the switches for this process, before MPI_Init; what the user has set stays. Returns the facts for the
/// environment block: what was asked for, the switches as they stand, which of them the user had set, and `lacks`: what
/// lack_of_room() says of this node, where Open MPI is to use its shared memory.
nlohmann::json choose_within_node(WithinNode way);

}  // namespace twinlink::real
