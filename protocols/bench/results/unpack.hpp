// Files that gzip has packed, read as what is in them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <istream>
#include <memory>

namespace twinlink::bench {

/// So much of a packed file is read at most: a few bytes may stand for any number.
inline constexpr std::uint64_t kMostUnpacked = std::uint64_t{1} << 30U;

/// Does `stream` begin as gzip's files do? Nothing of it is taken.
bool is_packed(std::istream& stream);
/// What is in `packed`, unpacked as it is read. To read may throw: an InputError that names `file` for what is damaged,
/// cut off or longer than `most`, an UnavailableError where this program was built without zlib.
std::unique_ptr<std::istream> unpacked(std::unique_ptr<std::istream> packed, std::filesystem::path file,
                                       std::uint64_t most = kMostUnpacked);

}  // namespace twinlink::bench
