// A base whose parts say what software takes elsewhere, and how fast its processors are: what is measured on a host is
// measured on its own processors.
#pragma once

#include "validate/calibrate/platform_edit.hpp"

namespace twinlink::validate {

/// The numbers of software become those of the base's own processors, whose `speed` is 1 then. Simulations stay as they
/// are. Nothing happens to a base whose memories have no `speed`.
void take_own_speed(PlatformEdit& edit);

}  // namespace twinlink::validate
