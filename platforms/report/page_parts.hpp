// The files that every page carries, as the build has found them.
#pragma once

#include <string_view>

namespace twinlink::report {

extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;
extern const std::string_view kChartLibrary;  ///< empty: it was not there

}  // namespace twinlink::report
