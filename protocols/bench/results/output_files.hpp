// What a command writes must be other files than what it reads, and than each other.
#pragma once

#include <filesystem>
#include <string>

namespace twinlink::bench {

/// The list of a program's files, from its beginning to its end: of all that it opens to read, and all that it is to
/// write. While there is one, the functions below, and write_file(), refuse a file that is both, or that is to hold two
/// things, whatever the paths: links, symbolic and hard, are followed. Pipes and devices may be named twice. At most
/// one at a time.
class FilesInUse {
 public:
  FilesInUse();
  ~FilesInUse();
  FilesInUse(const FilesInUse&) = delete;
  FilesInUse& operator=(const FilesInUse&) = delete;
};

/// For whoever opens a user's file to read it. A UsageError where it is to be written.
void note_input(const std::filesystem::path& file);

/// For a file that is to be written; empty: nothing is. `name` is what the user calls it: "--json". Before any work:
/// the earlier, the earlier it is refused, by a UsageError where it is read or to hold something else as well, and
/// where it is "-", which elsewhere means standard output.
void note_output(const std::string& name, const std::filesystem::path& file);

/// The same, and a UsageError where it cannot be written.
void require_output(const std::string& name, const std::filesystem::path& file);

/// For whoever has written a file: the program may read it again.
void note_written(const std::filesystem::path& file);

/// A UsageError where `file` has been read.
void require_no_input(const std::filesystem::path& file);

}  // namespace twinlink::bench
