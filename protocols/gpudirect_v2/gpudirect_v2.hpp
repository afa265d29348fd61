// GPUDirect v2: peer-to-peer. The registry lists it; nobody else needs this header.
#pragma once

#include "protocols/core/protocol.hpp"

namespace twinlink {

const Protocol& gpudirect_v2_protocol();

}  // namespace twinlink
