#include "real/record/recorder.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <random>

#include "real/record/settings.hpp"

namespace twinlink::record {
namespace {

constexpr std::size_t kFrame = std::size_t{64} << 10U;  ///< bytes: what a write takes is then little for each call
constexpr std::uint64_t kLongestKept = 1'000'000'000;   ///< ns: what a kill may lose, if calls come
constexpr std::size_t kLength = 4;

/// Whose clock is it? A host's, since it was started.
std::string host_of_clock() {
  std::ifstream stream("/proc/sys/kernel/random/boot_id");
  std::string id;
  if (stream >> id) return id;
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

}  // namespace

std::uint64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

int Call::run() {
  begin = now();
  const int result = real(*this);
  end = now();
  return result;
}

struct Recorder::Thread {
  std::uint64_t number = 0;
  std::uint64_t ended = 0;  ///< its call before
  std::uint64_t polled_from = 0;
  std::uint64_t polled_to = 0;  ///< 0: there is no poll to be written
};

Recorder& Recorder::of_process() {
  static auto* const all = new Recorder;
  return *all;
}

Recorder::Thread& Recorder::thread() {
  // Threads are few, and one that has ended may still have a poll to be written.
  static thread_local Thread* own = nullptr;
  if (own == nullptr) own = new Thread{.number = threads_++, .ended = begins_};
  return *own;
}

void Recorder::begin() {
  const char* const given = std::getenv(kFolderVariable);
  if (process_ != 0 || given == nullptr || *given == '\0') return;
  const std::string folder = given;
  ::unsetenv(kFolderVariable);  // programs that this one starts are others
  process_ = ::getpid();
  // Open MPI's launcher. What begin() does all ranks must do, and of other programs nobody knows whether they are
  // recorded.
  const char* const programs = std::getenv("OMPI_NUM_APP_CTX");
  if (programs != nullptr && std::string_view(programs) != "1") {
    std::fprintf(stderr, "twinlink-record: a job of several programs is not recorded\n");
    return;
  }
  MPI_Comm parent = MPI_COMM_NULL;
  PMPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
    std::fprintf(stderr, "twinlink-record: processes that MPI_Comm_spawn starts are not recorded\n");
    return;
  }
  int rank = 0;
  int ranks = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  // One number for the job, which all have; and whoever has it knows that all have been started.
  std::random_device random;
  unsigned long long job = (static_cast<unsigned long long>(random()) << 32U) | random();
  PMPI_Bcast(&job, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
  PMPI_Barrier(MPI_COMM_WORLD);
  const std::string path = folder + "/rank" + std::to_string(rank) + ".mpi";
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  const bool is_second = file_ < 0 && errno == EEXIST;  // of a script
  if (file_ < 0 && !is_second) {
    std::fprintf(stderr, "twinlink-record: cannot write %s: %s; record into a new folder\n", path.c_str(),
                 std::strerror(errno));
    PMPI_Abort(MPI_COMM_WORLD, 2);
  }
  int all_have_files = is_second ? 0 : 1;
  PMPI_Allreduce(MPI_IN_PLACE, &all_have_files, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (all_have_files == 0) {
    if (is_second) {
      std::fprintf(stderr, "twinlink-record: %s is there already, and this program is not recorded\n", path.c_str());
    } else {
      ::close(file_);
      ::unlink(path.c_str());
    }
    return;
  }
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &communicator_goes, &key_, nullptr);
  PMPI_Barrier(MPI_COMM_WORLD);
  has_begun_ = true;
  begins_ = now();
  written_ = begins_;
  std::array<char, 512> heading{};
  const int length =
      std::snprintf(heading.data(), heading.size(), "%s %d %016llx %d %d %s %llu\n", mpi::kMagic.data(), mpi::kVersion,
                    job, rank, ranks, host_of_clock().c_str(), static_cast<unsigned long long>(begins_));
  if (::write(file_, heading.data(), static_cast<std::size_t>(length)) != length) {
    stop(std::strerror(errno));
    return;
  }
  frame_.reserve(2 * kFrame);
  frame_.assign(kLength, 0);
  thread();
  is_on_ = true;
  Entry entry;
  entry.number_of(MPI_COMM_WORLD);
  entry.number_of(MPI_COMM_SELF);
}

int Recorder::communicator_goes(MPI_Comm comm, int /*key*/, void* /*value*/, void* /*none*/) {
  Entry().forget(comm);
  return MPI_SUCCESS;
}

/// Ranks meet also where one's disk was full.
void Recorder::end() {
  if (!has_begun_) return;
  const std::uint64_t begun = now();
  PMPI_Barrier(MPI_COMM_WORLD);
  if (!is_on()) return;
  const std::lock_guard lock(mutex_);
  put_poll(thread());
  put_call(mpi::Kind::end, 0, begun, now());
  write_frame();
  is_on_ = false;
  ::close(file_);
}

void Recorder::flush() {
  if (!is_on() || process_ != ::getpid()) return;
  // A handler of a signal may end the program in the midst of a call.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  put_poll(thread());
  write_frame();
}

void Recorder::stop(const std::string& why) {
  std::fprintf(stderr, "twinlink-record: cannot write any more, and the recording ends here: %s\n", why.c_str());
  is_on_ = false;
}

void Recorder::write_frame() {
  const std::size_t length = frame_.size() - kLength;
  if (length == 0) return;
  for (std::size_t i = 0; i < kLength; ++i) frame_[i] = static_cast<unsigned char>(length >> (8 * i));
  for (std::size_t done = 0; done < frame_.size();) {
    const ssize_t wrote = ::write(file_, frame_.data() + done, frame_.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return stop(std::strerror(errno));
    done += static_cast<std::size_t>(wrote);
  }
  frame_.resize(kLength);
  written_ = now();
}

void Recorder::put(std::uint64_t number) {
  constexpr unsigned kBits = 7;
  constexpr std::uint64_t kMore = 0x80;
  for (; number >= kMore; number >>= kBits) frame_.push_back(static_cast<unsigned char>(number | kMore));
  frame_.push_back(static_cast<unsigned char>(number));
}

void Recorder::put_call(mpi::Kind kind, std::uint8_t marks, std::uint64_t begin, std::uint64_t end) {
  Thread& own = thread();
  if (own.number > 0) marks |= mpi::kInThread;
  frame_.push_back(static_cast<unsigned char>(static_cast<std::uint8_t>(kind) | marks));
  if (own.number > 0) put(own.number);
  put(begin > own.ended ? begin - own.ended : 0);
  put(end - begin);
  own.ended = end;
}

void Recorder::put_poll(Thread& thread) {
  if (thread.polled_to == 0) return;
  put_call(mpi::Kind::poll, 0, thread.polled_from, thread.polled_to);
  thread.polled_to = 0;
}

Entry::Entry() : to_(Recorder::of_process()), lock_(to_.mutex_) {}

Entry::~Entry() {
  const std::uint64_t time = to_.thread().ended;
  if (to_.frame_.size() >= kFrame || (time > to_.written_ && time - to_.written_ > kLongestKept)) to_.write_frame();
}

std::uint64_t Entry::number_of(MPI_Comm comm) {
  const auto [place, is_new] = to_.communicators_.try_emplace(to_word(comm));
  if (!is_new) return place->second;
  int has_two_sides = 0;
  PMPI_Comm_test_inter(comm, &has_two_sides);
  place->second = to_.communicators_made_++;
  PMPI_Comm_set_attr(comm, to_.key_, nullptr);
  MPI_Group world = MPI_GROUP_NULL;
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  const auto ranks_of = [&](MPI_Group group) {
    int size = 0;
    PMPI_Group_size(group, &size);
    std::vector<int> own(static_cast<std::size_t>(size));
    std::vector<int> of_job(own.size());
    for (int i = 0; i < size; ++i) own[static_cast<std::size_t>(i)] = i;
    PMPI_Group_translate_ranks(group, size, own.data(), world, of_job.data());
    PMPI_Group_free(&group);
    if (std::ranges::find(of_job, MPI_UNDEFINED) != of_job.end()) of_job.clear();
    return of_job;
  };
  MPI_Group mine = MPI_GROUP_NULL;
  PMPI_Comm_group(comm, &mine);
  std::array<std::vector<int>, 2> sides{ranks_of(mine), {}};
  if (has_two_sides != 0) {
    MPI_Group theirs = MPI_GROUP_NULL;
    PMPI_Comm_remote_group(comm, &theirs);
    sides[1] = ranks_of(theirs);
    if (sides[1].empty()) sides[0].clear();
  }
  PMPI_Group_free(&world);
  const std::uint64_t ended = to_.thread().ended;
  to_.put_call(mpi::Kind::communicator, 0, ended, ended);
  for (const std::vector<int>& side : sides) {
    put(side.size());
    for (const int rank : side) put(static_cast<std::uint64_t>(rank));
  }
  return place->second;
}

void Entry::forget(MPI_Comm comm) { to_.communicators_.erase(to_word(comm)); }

std::uint64_t Entry::number_of_name(const char* name) {
  const auto [place, is_new] = to_.names_.try_emplace(name, to_.names_.size());
  if (is_new) {
    const std::uint64_t ended = to_.thread().ended;
    to_.put_call(mpi::Kind::name, 0, ended, ended);
    put(place->first.size());
    to_.frame_.insert(to_.frame_.end(), place->first.begin(), place->first.end());
  }
  return place->second;
}

Entry& Entry::call(mpi::Kind kind, const Call& call, std::uint8_t marks) {
  to_.put_poll(to_.thread());
  to_.put_call(kind, marks, call.begin, call.end);
  return *this;
}

Entry& Entry::put(std::uint64_t number) {
  to_.put(number);
  return *this;
}

void Entry::add(Word handle, Request request) {
  if (!request.is_persistent) request.number = next_request();
  to_.requests_.emplace(handle, request);
}

std::optional<Request> Entry::take(Word handle) {
  const auto [first, last] = to_.requests_.equal_range(handle);
  if (first == last) return std::nullopt;
  const auto newest = std::max_element(
      first, last, [](const auto& one, const auto& other) { return one.second.number < other.second.number; });
  const Request request = newest->second;
  if (!request.is_persistent) to_.requests_.erase(newest);
  return request;
}

void Entry::poll(const Call& call) {
  Recorder::Thread& own = to_.thread();
  if (own.polled_to != 0 && call.begin - own.polled_to >= mpi::kPolling) to_.put_poll(own);
  if (own.polled_to == 0) own.polled_from = call.begin;
  own.polled_to = call.end;
}

bool is_of_device(const void* buffer) {
  // Of CUDA's driver (cuda.h): CUresult cuPointerGetAttribute(void*, CUpointer_attribute, CUdeviceptr).
  using Ask = int (*)(void* data, int attribute, unsigned long long pointer);
  constexpr int kMemoryType = 2;     // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
  constexpr unsigned kDevice = 2;    // CU_MEMORYTYPE_DEVICE
  constexpr unsigned kOften = 1024;  // calls: a program that takes GPUs loads the driver before its first messages
  static std::atomic<Ask> ask{nullptr};
  static std::atomic<unsigned> asked{0};
  Ask known = ask.load(std::memory_order_relaxed);
  if (known == nullptr) {
    const unsigned count = asked.fetch_add(1, std::memory_order_relaxed);
    if (count >= kOften && count % kOften != 0) return false;
    void* const driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (driver == nullptr) return false;
    known = reinterpret_cast<Ask>(::dlsym(driver, "cuPointerGetAttribute"));
    if (known == nullptr) return false;
    ask = known;
  }
  unsigned type = 0;
  return known(&type, kMemoryType, reinterpret_cast<Word>(buffer)) == 0 && type == kDevice;
}

}  // namespace twinlink::record
