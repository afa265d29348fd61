// The simulated machine speaks of platforms all the time: it uses their names as its own.
#pragma once

namespace twinlink::platforms {}

namespace twinlink::model {
using namespace platforms;  // NOLINT(google-build-using-namespace): the one place, instead of 200 names
}  // namespace twinlink::model
