#include "real/rank/within_node.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <mpi.h>
#include <net/if.h>
#include <sys/statvfs.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "protocols/core/enum_table.hpp"
#include "protocols/core/errors.hpp"
#include "real/system/launch.hpp"
#include "real/system/system_error.hpp"

namespace twinlink::real {

MpiLibrary mpi_library() {
#if defined(OPEN_MPI)
  return MpiLibrary::open_mpi;
#elif defined(MVAPICH2_VERSION)
  return MpiLibrary::mvapich2;
#else
  return MpiLibrary::other;
#endif
}

NodeFacts look_at_node() {
  NodeFacts facts{.network = false};
  std::error_code none;
  for (const auto& adapter : std::filesystem::directory_iterator("/sys/class/infiniband", none)) {
    facts.adapter = facts.adapter || !adapter.path().empty();
  }
  ifaddrs* interfaces = nullptr;
  if (::getifaddrs(&interfaces) != 0) throw_errno("getifaddrs");
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(interfaces, ::freeifaddrs);
  for (const ifaddrs* at = interfaces; at != nullptr; at = at->ifa_next) {
    const bool has_address = at->ifa_addr != nullptr && at->ifa_addr->sa_family == AF_INET;
    if (has_address && (at->ifa_flags & IFF_UP) != 0 && (at->ifa_flags & IFF_LOOPBACK) == 0) facts.network = true;
  }
  return facts;
}

std::vector<std::pair<std::string, std::string>> switches(WithinNode way, MpiLibrary library, const NodeFacts& facts) {
  if (way == WithinNode::library) return {};
  const bool loopback = way == WithinNode::loopback;
  switch (library) {
    case MpiLibrary::mvapich2:
      return {{"MV2_USE_SHARED_MEM", loopback ? "0" : "1"}};
    case MpiLibrary::open_mpi:
      if (!loopback) return {};
      // With an adapter there are two ways to it, Open MPI's own and UCX, and each has a shared memory to leave out.
      if (facts.adapter) return {{"OMPI_MCA_btl", "^vader,sm,smcuda"}, {"UCX_TLS", "^sm"}};
      // Open MPI 5.0.7 finds no way from an interface to itself where it has an IPv6 address as well.
      if (facts.network) {
        return {{"OMPI_MCA_pml", "ob1"}, {"OMPI_MCA_btl", "self,tcp"}, {"OMPI_MCA_btl_tcp_disable_family", "6"}};
      }
      // Open MPI leaves the loopback interface out unless it is named.
      return {{"OMPI_MCA_pml", "ob1"}, {"OMPI_MCA_btl", "self,tcp"}, {"OMPI_MCA_btl_tcp_if_include", "lo"}};
    case MpiLibrary::other:
      break;
  }
  throw UsageError("--intra-node sets switches of Open MPI and MVAPICH2, and this MPI library is neither");
}

Bytes room_of_a_rank(int major) { return major >= 5 ? 16_MiB : 4_MiB; }

std::string lack_of_room(Bytes free, int ranks, Bytes each) {
  const Bytes needed = each * static_cast<std::uint64_t>(ranks);
  if (free >= needed) return {};
  return fmt::format(
      "/dev/shm has {} B free, and Open MPI's shared memory takes {} B for {} ranks: messages within this node may go "
      "through sockets",
      free.count(), needed.count(), ranks);
}

namespace {

#if defined(OPEN_MPI)
constexpr int kOpenMpi = OMPI_MAJOR_VERSION;
#else
constexpr int kOpenMpi = 0;
#endif

/// Before MPI_Init, which takes the room.
std::string look_for_room(WithinNode way) {
  // Either name will do for 5.0.
  const bool elsewhere = std::getenv("OMPI_MCA_btl_vader_backing_directory") != nullptr ||
                         std::getenv("OMPI_MCA_btl_sm_backing_directory") != nullptr;
  const std::optional<int> ranks = local_ranks();
  if (way == WithinNode::loopback || mpi_library() != MpiLibrary::open_mpi || elsewhere || !ranks) return {};
  struct statvfs facts {};
  if (::statvfs("/dev/shm", &facts) != 0) return {};
  return lack_of_room(Bytes{facts.f_bavail * facts.f_frsize}, *ranks, room_of_a_rank(kOpenMpi));
}

}  // namespace

nlohmann::json choose_within_node(WithinNode way) {
  constexpr Words<WithinNode> kNames{"the library's choice", "shared-memory", "loopback"};
  nlohmann::json facts{{"asked", kNames[way]},
                       {"switches", nlohmann::json::object()},
                       {"kept_as_the_user_set_them", nlohmann::json::array()}};
  if (const std::string lack = look_for_room(way); !lack.empty()) facts["lacks"] = lack;
  if (way == WithinNode::library) return facts;
  for (const auto& [name, value] : switches(way, mpi_library(), look_at_node())) {
    if (std::getenv(name.c_str()) != nullptr) facts["kept_as_the_user_set_them"].push_back(name);
    ::setenv(name.c_str(), value.c_str(), 0);
    facts["switches"][name] = std::getenv(name.c_str());
  }
  return facts;
}

}  // namespace twinlink::real
