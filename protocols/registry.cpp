#include "protocols/registry.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "protocols/builtin.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/core/text.hpp"
#include "protocols/cuda_ipc/cuda_ipc.hpp"
#include "protocols/gpudirect_v2/gpudirect_v2.hpp"
#include "protocols/nccl/nccl.hpp"

namespace twinlink {
namespace {

/// What a program adds before it begins. The one mutable static of this folder, for nothing else is there yet that
/// could hold it. It is closed when the list is made, so that ranks share constants only.
struct Additions {
  std::vector<const Protocol*> protocols{};
  bool closed = false;
};

Additions& additions() {
  static Additions added_protocols;
  return added_protocols;
}

std::vector<const Protocol*> make_list() {
  std::vector<const Protocol*> list{&gpudirect_v2_protocol(), &gpudirect_v3_protocol(), &symmetric_put_protocol(),
                                    &cuda_ipc_protocol(),     &gpudirect_v1_protocol(), &cuda_aware_protocol(),
                                    &staging_protocol(),      &host_protocol(),         &nccl_protocol()};
  Additions& added = additions();
  added.closed = true;
  list.insert(list.end(), added.protocols.begin(), added.protocols.end());
  return list;
}

}  // namespace

AddedProtocol::AddedProtocol(const Protocol& protocol) {
  Additions& added = additions();
  if (added.closed) {
    throw UsageError("protocol '" + std::string(protocol.name()) +
                     "' is added too late: the list of protocols is made");
  }
  added.protocols.push_back(&protocol);
}

std::span<const Protocol* const> all_protocols() {
  static const std::vector<const Protocol*> protocols = make_list();
  return protocols;
}

void check_names(std::span<const Protocol* const> protocols) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789-";
  for (auto each = protocols.begin(); each != protocols.end(); ++each) {
    const std::string_view name = (*each)->name();
    if (name.empty() || name.starts_with('-') || name.find_first_not_of(kAllowed) != std::string_view::npos) {
      throw UsageError("the protocol's name '" + std::string(name) +
                       "' fits no command line: lower-case letters, digits and '-' do, and '-' does not begin it");
    }
    const auto other = std::find_if(protocols.begin(), each, [&](const Protocol* p) { return p->name() == name; });
    if (other == each) continue;
    throw UsageError("two protocols have the name '" + std::string(name) + "': \"" +
                     std::string((*other)->description()) + "\" and \"" + std::string((*each)->description()) +
                     "\"; rename the one that was added");
  }
}

const Protocol& find_protocol(std::string_view name) {
  std::vector<std::string> names;
  for (const Protocol* protocol : all_protocols()) {
    if (protocol->name() == name) return *protocol;
    names.emplace_back(protocol->name());
  }
  std::string message = "unknown protocol '" + std::string(name) + "'";
  if (const std::string guess = closest(name, names); !guess.empty()) message += "; did you mean '" + guess + "'?";
  message += " (there are:";
  for (const std::string& known : names) message += " " + known;
  throw UsageError(message + ")");
}

bool serves_all(const Protocol& protocol, std::span<const Path> paths) {
  return protocol.message_memory() == Memory::device && std::ranges::all_of(paths, [&](const Path& path) {
           return protocol.supports(path).kind == Support::Kind::yes;
         });
}

const Protocol& shortest_way(std::span<const Path> paths) {
  for (const Protocol* protocol : all_protocols()) {
    if (serves_all(*protocol, paths)) return *protocol;
  }
  throw UnavailableError("no protocol can move device memory between these two");
}

}  // namespace twinlink
