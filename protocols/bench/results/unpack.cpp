#include "protocols/bench/results/unpack.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "protocols/core/errors.hpp"

#ifdef TWINLINK_ZLIB
#include <array>

#include <zlib.h>
#endif

namespace twinlink::bench {

bool is_packed(std::istream& stream) {
  constexpr int kFirst = 0x1f;
  constexpr int kSecond = 0x8b;
  std::streambuf& buffer = *stream.rdbuf();
  if (buffer.sgetc() != kFirst) return false;
  const bool packed = buffer.snextc() == kSecond;
  buffer.sungetc();
  return packed;
}

#ifdef TWINLINK_ZLIB
namespace {

class Unpacking : public std::streambuf {
 public:
  Unpacking(std::unique_ptr<std::istream> packed, std::filesystem::path file, std::uint64_t most)
      : packed_(std::move(packed)), file_(std::move(file)), left_(most), most_(most) {
    start();
  }
  ~Unpacking() override { inflateEnd(&zlib_); }
  Unpacking(const Unpacking&) = delete;
  Unpacking& operator=(const Unpacking&) = delete;

 protected:
  int_type underflow() override {
    while (gptr() == egptr() && more()) {
    }
    return gptr() == egptr() ? traits_type::eof() : traits_type::to_int_type(*gptr());
  }

 private:
  void start() {
    constexpr int kGzip = 15 + 16;  // the largest window, behind a head of gzip
    if (inflateInit2(&zlib_, kGzip) != Z_OK) throw EnvironmentError("inflateInit2", "zlib has no memory");
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw InputError(fmt::format("{}: error: {}", file_.string(), why));
  }

  /// False at the end of all: files may stand one behind the other.
  bool more() {
    if (zlib_.avail_in == 0) {
      packed_->read(in_.data(), static_cast<std::streamsize>(in_.size()));
      zlib_.next_in = reinterpret_cast<Bytef*>(in_.data());
      zlib_.avail_in = static_cast<uInt>(packed_->gcount());
      if (zlib_.avail_in == 0 && ended_) return false;
      if (zlib_.avail_in == 0) refuse("what gzip has packed is cut off");
    }
    if (ended_) inflateReset(&zlib_);
    ended_ = false;
    zlib_.next_out = reinterpret_cast<Bytef*>(out_.data());
    zlib_.avail_out = static_cast<uInt>(out_.size());
    const int result = inflate(&zlib_, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END) refuse("what gzip has packed is damaged");
    ended_ = result == Z_STREAM_END;
    const std::size_t got = out_.size() - zlib_.avail_out;
    if (got > left_) refuse(fmt::format("unpacked it is longer than {} B", most_));
    left_ -= got;
    setg(out_.data(), out_.data(), out_.data() + got);
    return true;
  }

  static constexpr std::size_t kPiece = std::size_t{1} << 16U;
  std::unique_ptr<std::istream> packed_;
  std::filesystem::path file_;
  std::uint64_t left_;
  std::uint64_t most_;
  bool ended_ = false;
  z_stream zlib_{};
  std::array<char, kPiece> in_{};
  std::array<char, kPiece> out_{};
};

/// Throws what its buffer throws.
class UnpackedStream : public std::istream {
 public:
  UnpackedStream(std::unique_ptr<std::istream> packed, std::filesystem::path file, std::uint64_t most)
      : std::istream(nullptr), buffer_(std::move(packed), std::move(file), most) {
    rdbuf(&buffer_);
    exceptions(std::ios::badbit);
  }

 private:
  Unpacking buffer_;
};

}  // namespace

std::unique_ptr<std::istream> unpacked(std::unique_ptr<std::istream> packed, std::filesystem::path file,
                                       std::uint64_t most) {
  return std::make_unique<UnpackedStream>(std::move(packed), std::move(file), most);
}
#else
std::unique_ptr<std::istream> unpacked(std::unique_ptr<std::istream> /*packed*/, std::filesystem::path file,
                                       std::uint64_t /*most*/) {
  throw UnavailableError(
      fmt::format("{} is packed, and this program was built without zlib: unpack it with gunzip", file.string()));
}
#endif

}  // namespace twinlink::bench
