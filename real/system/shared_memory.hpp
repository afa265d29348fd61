// Memory that the processes of a node share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocols/core/units.hpp"

namespace twinlink::real {

/// A mapped, zero-filled memory file without a name (memfd). Other processes of the same user open it through
/// /proc/PID/fd while its creator lives. It is gone with the last process that maps it, however that ends.
class SharedMemory {
 public:
  /// What another process needs in order to open the memory. Trivially copyable.
  struct Token {
    std::uint64_t device = 0;  ///< device, inode and size prove that /proc leads to the same file
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int32_t pid = 0;
    std::int32_t file = 0;
  };

  static SharedMemory create(Bytes size);
  /// An EnvironmentError if the file is gone, is another one or must not be opened.
  static SharedMemory open(const Token& token);

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  [[nodiscard]] std::byte* data() const { return data_; }
  /// Only of memory that this process created.
  [[nodiscard]] const Token& token() const { return token_; }

 private:
  SharedMemory(int file, Token token);
  static Token identify(int file);

  std::byte* data_ = nullptr;
  int file_ = -1;  ///< the creator's; the others need the mapping alone
  Token token_{};
};

}  // namespace twinlink::real
