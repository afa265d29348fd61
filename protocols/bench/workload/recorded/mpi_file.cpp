#include "protocols/bench/workload/recorded/mpi_file.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "protocols/bench/results/files.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/workloads/goal/trace.hpp"

namespace twinlink::bench {
namespace {

namespace fs = std::filesystem;
using namespace workloads::goal::mpi;  // NOLINT(google-build-using-namespace): the form of the file

/// The calls of one frame.
class Frame {
 public:
  Frame(const std::string& bytes, const std::string& file, std::uint64_t place)
      : bytes_(bytes), file_(file), place_(place) {}

  [[nodiscard]] bool is_over() const { return at_ == bytes_.size(); }

  void read(Call& call) {
    const auto head = static_cast<unsigned char>(byte());
    if ((head & kMark) >= kKinds) refuse();
    call.kind = static_cast<Kind>(head & kMark);
    call.of_device = (head & kOfDevice) != 0;
    call.requested = (head & kRequested) != 0;
    call.thread = (head & kInThread) != 0 ? number() : 0;
    call.gap = number();
    call.took = number();
    call.peer = call.tag = call.bytes = 0;
    call.received = {};
    call.numbers.clear();
    call.others.clear();
    call.ended.clear();
    read_rest(call);
    if (call.requested && call.kind != Kind::send && call.kind != Kind::receive && call.kind != Kind::collective) {
      refuse();
    }
  }

 private:
  void read_rest(Call& call) {
    switch (call.kind) {
      case Kind::communicator:
        read_list(call.numbers);
        read_list(call.others);
        return;
      case Kind::name: {
        const std::uint64_t length = number();
        if (length > bytes_.size() - at_) refuse();
        call.name = bytes_.substr(at_, length);
        at_ += length;
        return;
      }
      case Kind::send:
      case Kind::receive:
        call.communicator = number();
        if (call.kind == Kind::send || !call.requested) read_message(call.peer, call.tag, call.bytes);
        return;
      case Kind::both:
        call.communicator = number();
        read_message(call.peer, call.tag, call.bytes);
        read_message(call.received.peer, call.received.tag, call.received.bytes);
        return;
      case Kind::collective: {
        call.communicator = number();
        const std::uint64_t what = number();
        if (what >= kWhats) refuse();
        call.what = static_cast<What>(what);
        call.root = number();
        call.bytes = number();
        read_list(call.numbers);
        return;
      }
      case Kind::wait: {
        const std::uint64_t count = number();
        for (std::uint64_t i = 0; i < count; ++i) {
          Ended ended{.request = number()};
          const std::uint64_t how = number();
          if (how > static_cast<std::uint64_t>(End::cancelled)) refuse();
          ended.how = static_cast<End>(how);
          if (ended.how == End::received) read_message(ended.peer, ended.tag, ended.bytes);
          call.ended.push_back(ended);
        }
        return;
      }
      case Kind::other:
        call.bytes = number();
        return;
      case Kind::poll:
      case Kind::end:
        return;
    }
  }
  void read_message(std::uint64_t& peer, std::uint64_t& tag, std::uint64_t& bytes) {
    peer = number();
    if (peer == 0) return;
    tag = number();
    bytes = number();
  }
  void read_list(std::vector<std::uint64_t>& list) {
    const std::uint64_t count = number();
    if (count > bytes_.size() - at_) refuse();
    for (std::uint64_t i = 0; i < count; ++i) list.push_back(number());
  }

  char byte() {
    if (is_over()) refuse();
    return bytes_[at_++];
  }
  std::uint64_t number() {
    constexpr unsigned kBits = 7;
    constexpr unsigned kMore = 0x80;
    constexpr unsigned kMostShift = 63;
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift <= kMostShift; shift += kBits) {
      const auto next = static_cast<unsigned char>(byte());
      value |= std::uint64_t{next & (kMore - 1)} << shift;
      if ((next & kMore) == 0) return value;
    }
    refuse();
  }
  [[noreturn]] void refuse() const {
    throw InputError(
        fmt::format("{}: error: damaged in the frame at byte {}: record the job once more", file_, place_));
  }

  const std::string& bytes_;
  const std::string& file_;
  std::uint64_t place_;
  std::size_t at_ = 0;
};

/// So many of the stream's next bytes; fewer where it ends.
std::string take(std::istream& stream, std::uint64_t count) {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 20U;
  std::string bytes;
  while (bytes.size() < count) {
    const std::size_t before = bytes.size();
    bytes.resize(before + std::min(count - before, kPiece));
    stream.read(bytes.data() + before, static_cast<std::streamsize>(bytes.size() - before));
    const auto got = static_cast<std::size_t>(stream.gcount());
    if (before + got == bytes.size()) continue;
    bytes.resize(before + got);
    break;
  }
  return bytes;
}

std::vector<fs::path> files_of_ranks(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const fs::path name = entry.path().extension() == ".gz" ? entry.path().stem() : entry.path();
    if (name.extension() == ".mpi") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

MpiHeading read_mpi_heading(std::istream& stream, const std::string& file) {
  constexpr std::size_t kLongest = 1024;
  std::string line;
  char next = 0;
  while (line.size() < kLongest && stream.get(next) && next != '\n') line += next;
  std::istringstream words(line);
  std::string magic;
  int version = 0;
  MpiHeading heading;
  words >> magic >> version;
  if (magic != kMagic) {
    throw InputError(fmt::format("{}: error: no recording of MPI, as 'twinlink-real record' makes them", file));
  }
  if (version != kVersion) {
    throw InputError(
        fmt::format("{}: error: its form is number {}, and this program knows {}: record and convert with "
                    "one version of Twinlink",
                    file, version, kVersion));
  }
  words >> heading.job >> heading.rank >> heading.ranks >> heading.host >> heading.begins;
  if (!words || next != '\n' || heading.rank >= heading.ranks || heading.ranks > workloads::goal::kMostRanks) {
    throw InputError(fmt::format("{}: error: its heading is damaged, or its job has more than {} ranks", file,
                                 workloads::goal::kMostRanks));
  }
  return heading;
}

std::uint64_t read_mpi_calls(std::istream& stream, const std::string& file,
                             const std::function<void(const Call&)>& take_call) {
  constexpr std::uint64_t kLength = 4;
  constexpr unsigned kByte = 8;
  std::uint64_t place = 0;
  std::uint64_t requested = 0;
  Call call;
  while (true) {
    const std::string head = take(stream, kLength);
    if (head.size() < kLength) return head.size();
    std::uint64_t length = 0;
    for (std::size_t i = kLength; i-- > 0;) length = (length << kByte) | static_cast<unsigned char>(head[i]);
    const std::string bytes = take(stream, length);
    if (bytes.size() < length) return kLength + bytes.size();
    Frame frame(bytes, file, place);
    while (!frame.is_over()) {
      frame.read(call);
      for (Ended& each : call.ended) {
        if (each.request == 0 || each.request > requested) {
          throw InputError(
              fmt::format("{}: error: a call in the frame at byte {} waits for a request that is not there: "
                          "record the job once more",
                          file, place));
        }
        each.request = requested - each.request;
      }
      if (call.requested) ++requested;
      take_call(call);
    }
    place += kLength + length;
  }
}

bool is_mpi_job(const fs::path& folder) { return fs::is_directory(folder) && !files_of_ranks(folder).empty(); }

std::vector<RankCalls> read_mpi_job(const fs::path& folder) {
  const std::vector<fs::path> files = files_of_ranks(folder);
  if (files.empty()) {
    throw InputError(
        fmt::format("{}: error: no file of a rank (rank0.mpi, ...): 'twinlink-real record --out {}' makes "
                    "them",
                    folder.string(), folder.string()));
  }
  std::map<std::uint64_t, RankCalls> by_rank;
  MpiHeading first;
  for (const fs::path& file : files) {
    const std::string name = file.string();
    const MpiHeading heading = read_mpi_heading(*open_to_read(file), name);
    if (by_rank.empty()) first = heading;
    if (heading.job != first.job || heading.ranks != first.ranks) {
      throw InputError(fmt::format("{}: error: it is of another run than {}: keep the files of one run alone in {}",
                                   name, by_rank.begin()->second.file, folder.string()));
    }
    const auto [place, is_new] = by_rank.try_emplace(heading.rank);
    if (!is_new) {
      throw InputError(fmt::format("{}: error: it is of rank {}, and so is {}: keep one of them", name, heading.rank,
                                   place->second.file));
    }
    place->second = {name, heading.begins, heading.host,
                     [file, name](const std::function<void(const Call&)>& take_call) {
                       const auto stream = open_to_read(file);
                       read_mpi_heading(*stream, name);
                       return read_mpi_calls(*stream, name, take_call);
                     }};
  }
  std::vector<RankCalls> ranks;
  for (auto& [rank, calls] : by_rank) {
    if (rank != ranks.size()) break;
    ranks.push_back(std::move(calls));
  }
  if (ranks.size() < first.ranks) {
    throw InputError(fmt::format("{}: error: rank {} of {} has no file: copy it here from the host that it ran on",
                                 folder.string(), ranks.size(), first.ranks));
  }
  return ranks;
}

}  // namespace twinlink::bench
