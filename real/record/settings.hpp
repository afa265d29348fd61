// What `twinlink-real record` tells the library that it puts before a program.
#pragma once

namespace twinlink::record {

inline constexpr const char* kFolderVariable = "TWINLINK_RECORD";  ///< where the files go
inline constexpr const char* kLibrary = "libtwinlink-record.so";

}  // namespace twinlink::record
