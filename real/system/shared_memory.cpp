#include "real/system/shared_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "real/system/system_error.hpp"

namespace twinlink::real {
namespace {

/// Closes a file when an exception passes.
class OpenFile {
 public:
  explicit OpenFile(int file) : file_(file) {}
  ~OpenFile() {
    if (file_ >= 0) ::close(file_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  [[nodiscard]] int get() const { return file_; }
  int release() { return std::exchange(file_, -1); }

 private:
  int file_;
};

}  // namespace

SharedMemory::Token SharedMemory::identify(int file) {
  struct stat facts {};
  if (::fstat(file, &facts) != 0) throw_errno("fstat");
  return {.device = facts.st_dev,
          .inode = facts.st_ino,
          .size = static_cast<std::uint64_t>(facts.st_size),
          .pid = ::getpid(),
          .file = file};
}

SharedMemory::SharedMemory(int file, Token token) : file_(file), token_(token) {
  void* mapped = ::mmap(nullptr, token.size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) throw_errno(fmt::format("mmap of {} B of shared memory", token.size));
  data_ = static_cast<std::byte*>(mapped);
}

SharedMemory SharedMemory::create(Bytes size) {
  const std::uint64_t length = std::max<std::uint64_t>(size.count(), 1);  // nothing of no bytes can be mapped
  OpenFile file(::memfd_create("twinlink", MFD_CLOEXEC));
  if (file.get() < 0) throw_errno("memfd_create");
  if (::ftruncate(file.get(), static_cast<off_t>(length)) != 0) throw_errno(fmt::format("ftruncate to {} B", length));
  SharedMemory memory(file.get(), identify(file.get()));
  file.release();
  return memory;
}

SharedMemory SharedMemory::open(const Token& token) {
  const std::string path = fmt::format("/proc/{}/fd/{}", token.pid, token.file);
  const OpenFile file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (file.get() < 0) throw_errno("open " + path);
  const Token found = identify(file.get());
  // A size that is too large could be mapped, too, but who touches bytes behind the end of the file is killed.
  if (found.device != token.device || found.inode != token.inode || found.size != token.size) {
    throw EnvironmentError("open " + path, "it is not the memory that was shared");
  }
  SharedMemory memory(file.get(), token);
  memory.file_ = -1;
  return memory;
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), file_(std::exchange(other.file_, -1)), token_(other.token_) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(file_, other.file_);
  std::swap(token_, other.token_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, token_.size);
  if (file_ >= 0) ::close(file_);
}

}  // namespace twinlink::real
