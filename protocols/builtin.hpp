// The protocols of this folder, one function each. The registry lists them; nobody else needs this header.
#pragma once

#include "protocols/core/protocol.hpp"

namespace twinlink {

const Protocol& host_protocol();
const Protocol& staging_protocol();
const Protocol& gpudirect_v1_protocol();
const Protocol& gpudirect_v3_protocol();
const Protocol& cuda_aware_protocol();
const Protocol& symmetric_put_protocol();

}  // namespace twinlink
