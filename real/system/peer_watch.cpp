#include "real/system/peer_watch.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "protocols/core/errors.hpp"
#include "real/system/shared_memory.hpp"
#include "real/system/system_error.hpp"

namespace twinlink::real {
namespace {

constexpr std::uint64_t kTold = 1;  // to end
constexpr std::uint64_t kDone = std::uint64_t{1} << 32U;

// ms
constexpr int kLauncher = 100;  // in which one that kills all ranks has come to this one
constexpr int kEnd = 5000;      // in which one has ended this rank

std::atomic<int> told{-1};  // what the handler of the signal may write to
std::atomic<std::atomic<std::uint64_t>*> own_leave{nullptr};

void tell(int file, std::uint64_t what) { static_cast<void>(::write(file, &what, sizeof what)); }

void on_terminate(int) { tell(told, kTold); }

/// Whether a rank has taken its leave, in memory of its own.
std::atomic<std::uint64_t>& leave_in(const SharedMemory& memory) {
  return *static_cast<std::atomic<std::uint64_t>*>(static_cast<void*>(memory.data()));
}

}  // namespace

class PeerWatch::Thread {
 public:
  Thread(const Mpi& mpi, const std::string& host, std::vector<std::string> who)
      : own_(SharedMemory::create(Bytes{sizeof(std::uint64_t)})),
        name_(fmt::format("rank {} of {} on {}", mpi.rank(), mpi.size(), host)),
        rank_(static_cast<std::size_t>(mpi.rank())),
        who_(std::move(who)) {
    if (wake_ < 0) throw_errno("eventfd");
    const auto tokens = mpi.all_gather_values(own_.token());
    for (std::size_t rank = 0; rank < tokens.size(); ++rank) {
      if (rank == rank_) continue;
      if (auto peer = peer_of(rank, tokens[rank])) peers_.push_back(*std::move(peer));
    }
    mpi.barrier();  // all have opened the memory of those that may go
    told = wake_;
    own_leave = &leave_in(own_);
    struct sigaction action {};
    action.sa_handler = on_terminate;
    ::sigaction(SIGTERM, &action, &before_);
    thread_ = std::thread([this] { watch(); });
  }
  ~Thread() {
    leave_in(own_) = 1;  // those that still watch must not name a rank that is through
    tell(wake_, kDone);
    thread_.join();
    ::sigaction(SIGTERM, &before_, nullptr);
    own_leave = nullptr;
    told = -1;
    for (const Peer& peer : peers_) ::close(peer.process);
    ::close(wake_);
  }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

 private:
  struct Peer {
    std::size_t rank;
    std::int32_t pid;
    SharedMemory memory;
    int process;  ///< a file that can be read once it has ended

    [[nodiscard]] bool has_ended() const {
      pollfd file{.fd = process, .events = POLLIN, .revents = 0};
      return ::poll(&file, 1, 0) > 0;
    }
    [[nodiscard]] bool has_left() const { return leave_in(memory) != 0; }
  };

  /// Nothing: it is on another node, or cannot be watched.
  static std::optional<Peer> peer_of(std::size_t rank, const SharedMemory::Token& token) {
    try {
      SharedMemory memory = SharedMemory::open(token);
      const auto process = static_cast<int>(::syscall(SYS_pidfd_open, token.pid, 0));
      if (process < 0) return std::nullopt;
      return Peer{.rank = rank, .pid = token.pid, .memory = std::move(memory), .process = process};
    } catch (const EnvironmentError&) {
      return std::nullopt;
    }
  }

  enum class Event { peer, told, done };

  [[nodiscard]] Event next() {
    std::vector<pollfd> files{{.fd = wake_, .events = POLLIN, .revents = 0}};
    for (const Peer& peer : peers_) {
      if (!peer.has_left()) files.push_back({.fd = peer.process, .events = POLLIN, .revents = 0});
    }
    while (::poll(files.data(), files.size(), -1) < 0) {
    }
    return files.front().revents == 0 ? Event::peer : why_woken();
  }

  [[nodiscard]] Event why_woken() const {
    std::uint64_t what = 0;
    static_cast<void>(::read(wake_, &what, sizeof what));
    return what >= kDone ? Event::done : Event::told;
  }

  void watch() {
    for (;;) {
      Event event = next();
      std::vector<const Peer*> gone = those_gone();
      if (event == Event::peer) {
        if (gone.empty()) continue;  // it had taken its leave
        if (is_woken_within(kLauncher)) {
          event = why_woken();
        } else {
          gone = those_gone();
        }
      }
      if (event == Event::done) return;
      // Not those gone after the launcher's word to end: it has killed them itself.
      name(gone);
      take_leave();
      if (event == Event::peer) is_woken_within(kEnd);
      ::signal(SIGTERM, SIG_DFL);
      if (event == Event::told) ::kill(::getpid(), SIGTERM);
      std::fflush(nullptr);
      std::_Exit(1);  // the main thread may be in a call that never returns
    }
  }

  /// By the launcher, or because this rank is through.
  bool is_woken_within(int milliseconds) const {
    pollfd file{.fd = wake_, .events = POLLIN, .revents = 0};
    int ready = 0;
    // The handler of the signal may run in this thread.
    while ((ready = ::poll(&file, 1, milliseconds)) < 0) {
    }
    return ready > 0;
  }

  /// Without a word.
  [[nodiscard]] std::vector<const Peer*> those_gone() const {
    std::vector<const Peer*> gone;
    for (const Peer& peer : peers_) {
      if (peer.has_ended() && !peer.has_left()) gone.push_back(&peer);
    }
    return gone;
  }

  /// The first of those that are left speaks.
  void name(const std::vector<const Peer*>& gone) const {
    const auto can_speak = [&](const Peer& peer) {
      return peer.rank < rank_ && (peer.has_left() || !peer.has_ended());
    };
    if (gone.empty() || std::ranges::any_of(peers_, can_speak)) return;
    std::string all;
    for (const Peer* const peer : gone) {
      all += fmt::format("{}rank {}, {}, process {}", all.empty() ? "" : "; ", peer->rank, who_[peer->rank], peer->pid);
    }
    fmt::print(stderr, "twinlink-real: {}: gone without a word, killed or crashed: {}\n", name_, all);
  }

  SharedMemory own_;
  std::string name_;
  std::size_t rank_;
  std::vector<std::string> who_;
  std::vector<Peer> peers_{};
  int wake_ = ::eventfd(0, EFD_CLOEXEC);
  struct sigaction before_ {};
  std::thread thread_{};
};

PeerWatch::PeerWatch(const Mpi& mpi, const std::string& host, std::vector<std::string> who)
    : thread_(std::make_unique<Thread>(mpi, host, std::move(who))) {}

PeerWatch::~PeerWatch() = default;

void PeerWatch::take_leave() {
  if (auto* const leave = own_leave.load()) *leave = 1;
}

}  // namespace twinlink::real
