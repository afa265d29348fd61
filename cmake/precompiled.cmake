# The standard library's headers, which most files take longer to read than to compile, are read once for all targets.
# clang-tidy reads each file without them (.ci/lint), so that a file which lacks an #include is found.
set(twinlink_precompiled
  <algorithm> <array> <chrono> <cmath> <cstdint> <filesystem> <fstream> <functional> <iomanip> <iostream> <limits> <map>
  <memory> <numeric> <optional> <set> <span> <sstream> <stdexcept> <string> <string_view> <utility> <variant> <vector>)

function(twinlink_precompile_folder folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(other ${target} PRECOMPILE_HEADERS_REUSE_FROM)
    if(type MATCHES "^(STATIC_LIBRARY|OBJECT_LIBRARY|EXECUTABLE)$" AND NOT other
       AND NOT target MATCHES "^(test_headers|twinlink_headers_read_once|twinlink_cuda|eager_limit)$")
      target_precompile_headers(${target} REUSE_FROM twinlink_headers_read_once)
    endif()
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(below IN LISTS folders)
    twinlink_precompile_folder(${below})
  endforeach()
endfunction()

# For every target of the project, when all are declared.
function(twinlink_precompile_all)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/headers_read_once.cpp CONTENT "")
  add_library(twinlink_headers_read_once OBJECT ${PROJECT_BINARY_DIR}/headers_read_once.cpp)
  target_link_libraries(twinlink_headers_read_once PRIVATE twinlink_common)
  target_precompile_headers(twinlink_headers_read_once PRIVATE ${twinlink_precompiled})
  twinlink_precompile_folder(${PROJECT_SOURCE_DIR})
endfunction()
