// The protocol "nccl".
#pragma once

#include "protocols/core/protocol.hpp"

namespace twinlink {

const Protocol& nccl_protocol();

}  // namespace twinlink
