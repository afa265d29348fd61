// The profiler plugin: what NCCL tells it by each interface stands in files, and these convert to the job that was
// played.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "protocols/bench/workload/recorded/nccl_records.hpp"
#include "protocols/workloads/goal/recording.hpp"
#include "real/nccl/profiler/profiler_interface.hpp"

namespace twinlink::profiler {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> said;
void hear(int /*level*/, unsigned long /*parts*/, const char* /*file*/, int /*line*/, const char* format, ...) {
  std::array<char, 300> text{};
  std::va_list list;
  va_start(list, format);
  static_cast<void>(std::vsnprintf(text.data(), text.size(), format, list));
  va_end(list);
  said.emplace_back(text.data());
}

/// NCCL's side of one interface.
template <class Profiler>
class Library {
 public:
  using Type = std::conditional_t<std::is_same_v<Profiler, Profiler4>, std::uint8_t, std::uint64_t>;
  using What = Description<Type>;

  explicit Library(const char* name) {
    void* const library = ::dlopen(TWINLINK_PROFILER_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(::dlerror());
    profiler_ = static_cast<const Profiler*>(::dlsym(library, name));
    if (profiler_ == nullptr) throw std::runtime_error(name);
  }
  void* begin(std::uint64_t communicator, int ranks, int rank) {
    void* context = nullptr;
    if constexpr (std::is_same_v<Profiler, Profiler4>) {
      EXPECT_EQ(profiler_->init(&context, &wanted, "", communicator, 1, ranks, rank, &hear), kSuccess);
    } else {
      EXPECT_EQ(profiler_->init(&context, communicator, &wanted, "", 1, ranks, rank, &hear), kSuccess);
    }
    return context;
  }
  void* start(void* context, const What& told) {
    // What stands beside a narrow type is anything.
    What what = told;
    std::memset(reinterpret_cast<char*>(&what) + sizeof(Type), 0x7f, offsetof(What, parent) - sizeof(Type));
    void* event = nullptr;
    EXPECT_EQ(profiler_->start(context, &event, &what), kSuccess);
    return event;
  }
  void* collective(void* context, const Collective& told) {
    What what{};
    what.type = static_cast<Type>(kCollective);
    what.collective = told;
    return start(context, what);
  }
  void* message(void* context, const Message& told) {
    What what{};
    what.type = static_cast<Type>(kMessage);
    what.message = told;
    return start(context, what);
  }
  void stop(void* event) { EXPECT_EQ(profiler_->stop(event), kSuccess); }
  /// A channel of a kernel; without a timer where the times are 0.
  void channel(void* context, void* parent, int number, std::uint64_t begin, std::uint64_t end) {
    What what{};
    what.type = static_cast<Type>(kKernelChannel);
    what.parent = parent;
    what.kernel = {static_cast<std::uint8_t>(number), begin};
    void* const event = start(context, what);
    StateArguments arguments{.timer = end};
    EXPECT_EQ(profiler_->state(event, kKernelChannelStop, &arguments), kSuccess);
    stop(event);
  }
  void end(void* context) { EXPECT_EQ(profiler_->finalize(context), kSuccess); }

  int wanted = 1;  ///< the mask of all communicators, in which one has asked for groups

 private:
  const Profiler* profiler_ = nullptr;
};

Collective collective(const char* function, std::size_t count, const char* type, int channels, std::uint64_t number) {
  Collective told{};
  told.number = number;
  told.function = function;
  told.count = count;
  told.root = 1;
  told.type = type;
  told.channels = static_cast<std::uint8_t>(channels);
  told.algorithm = "RING";
  told.format = "LL128";
  return told;
}

/// Of 512 bf16.
Message message(const char* function, int peer) {
  Message told{};
  told.function = function;
  told.type = "ncclBfloat16";
  told.count = 512;
  told.peer = peer;
  told.channels = 1;
  return told;
}

/// Each rank is a process, and has a world of two communicators: all four ranks, and pairs. Times are the GPU's, us.
template <class Profiler>
void play(const char* name, int rank) {
  Library<Profiler> library(name);
  constexpr std::uint64_t kUs = 1000;
  const std::uint64_t clock = 1'000'000'000'000ULL + static_cast<std::uint64_t>(rank) * 777'000;
  void* const all = library.begin(0xabc, 4, rank);
  void* const pair = library.begin(rank < 2 ? 0xd0 : 0xd1, 2, rank % 2);
  // An all-reduce of 4 KiB from 10 to 30, by two channels, which end in another thread before the call returns.
  void* const first = library.collective(all, collective("AllReduce", 1024, "ncclFloat32", 2, 0));
  std::thread proxy([&] {
    library.channel(all, first, 0, clock + 11 * kUs, clock + 30 * kUs);
    library.channel(all, first, 1, clock + 10 * kUs, clock + 29 * kUs);
  });
  proxy.join();
  library.stop(first);
  // From 50 to 60 an all-gather of the pair, behind 20 us of anything.
  void* const second = library.collective(pair, collective("AllGather", 2048, "ncclInt8", 1, 0));
  library.stop(second);
  library.channel(pair, second, 0, clock + 50 * kUs, clock + 60 * kUs);
  // At 60 each sends its neighbour in a ring and receives from the other one, at once.
  void* const send = library.message(all, message("Send", (rank + 1) % 4));
  void* const recv = library.message(all, message("Recv", (rank + 3) % 4));
  library.stop(send);
  library.stop(recv);
  library.channel(all, send, 0, clock + 60 * kUs, clock + 70 * kUs);
  library.channel(all, recv, 0, clock + 60 * kUs, clock + 71 * kUs);
  library.end(pair);
  library.end(all);
}

constexpr const char* kJob =
    "num_ranks 4\n"
    "group 0 { 0-3 }\n"
    "group 1 { 0-1 }\n"
    "group 2 { 2-3 }\n"
    "\n"
    "rank 0 {\n"
    "  t1: all_reduce 4096b in 0\n"
    "  t2: calc 20000 cpu 2\n"
    "  t2 requires t1\n"
    "  t3: all_gather 4096b in 1\n"
    "  t3 requires t2\n"
    "  t4: send 1024b to 1 tag 0\n"
    "  t4 requires t1\n"
    "  t4 requires t3\n"
    "  t5: recv 1024b from 3 tag 0\n"
    "  t5 requires t1\n"
    "  t5 requires t3\n"
    "}\n";

class ProfilerPlugin : public ::testing::Test {
 protected:
  ProfilerPlugin() : folder_(fs::path(::testing::TempDir()) / ("twinlink-record-" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    ::setenv("TWINLINK_RECORD", folder_.c_str(), 1);
  }
  ~ProfilerPlugin() override {
    ::unsetenv("TWINLINK_RECORD");
    fs::remove_all(folder_);
  }
  /// A process of its own, as a rank has. Its exit code; -N: signal N.
  template <class Work>
  static int in_process(const Work& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      work();
      std::exit(::testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }
  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    if (!fs::exists(folder_)) return all;
    for (const auto& entry : fs::directory_iterator(folder_)) all.push_back(entry.path());
    return all;
  }
  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> all;
    for (const fs::path& file : files()) {
      std::ifstream stream(file);
      for (std::string line; std::getline(stream, line);) all.push_back(line);
    }
    return all;
  }
  template <class Profiler>
  void expect_job(const char* name) {
    for (const int rank : {2, 0, 3, 1}) ASSERT_EQ(in_process([&] { play<Profiler>(name, rank); }), 0) << name;
    EXPECT_EQ(files().size(), 4U);
    const bench::Profiles profiles = bench::read_nccl_records(files());
    EXPECT_THAT(profiles.notes.at(0), HasSubstr("4 ranks, 16 collectives and messages of 3 communicators"));
    EXPECT_EQ(profiles.notes.size(), 2U) << profiles.notes.back();
    const std::string text = workloads::goal::goal_text(profiles.ranks, {});
    EXPECT_EQ(text.substr(0, text.find("\nrank 1 {")), kJob) << name;
  }

  fs::path folder_;
};

TEST_F(ProfilerPlugin, RecordsTheJobThatWasPlayedByVersion4) { expect_job<Profiler4>("ncclProfiler_v4"); }
TEST_F(ProfilerPlugin, RecordsTheJobThatWasPlayedByVersion5) { expect_job<Profiler5>("ncclProfiler_v5"); }
TEST_F(ProfilerPlugin, RecordsTheJobThatWasPlayedByVersion6) { expect_job<Profiler5>("ncclProfiler_v6"); }

TEST_F(ProfilerPlugin, WritesWhatWasCalled) {
  ASSERT_EQ(in_process([] {
              ::setenv("RANK", "7", 1);
              Library<Profiler5> library("ncclProfiler_v5");
              void* const context = library.begin(0x1f, 8, 3);
              EXPECT_EQ(library.wanted & 0x47, 0x47)
                  << "collectives, messages, channels of kernels, and what was there";
              void* const event = library.collective(context, collective("Broadcast", 100, "ncclFloat64", 1, 5));
              library.stop(event);
              library.channel(context, event, 63, 5'000, 8'000);
              library.end(context);
            }),
            0);
  ASSERT_EQ(lines().size(), 1U);
  for (const char* const part :
       {R"("header":{"id":"0x1f","rank":3,"n_ranks":8,"nnodes":1})", R"("rec_mechanism":"twinlink")", R"("job_rank":7)",
        R"("coll":"Broadcast","coll_algo":"RING","coll_proto":"LL128","coll_sn":5,"coll_root":1)",
        R"("coll_msg_size_bytes":800,"coll_exec_time_us":3,"coll_timing_source":"kernel_gpu")",
        R"("coll_datatype":"ncclFloat64","coll_channels":1,)", R"("coll_begin_ns":5000,"coll_end_ns":8000}})"}) {
    EXPECT_THAT(lines()[0], HasSubstr(part));
  }
}

TEST_F(ProfilerPlugin, SaysWhoseTimesTheyAre) {
  ASSERT_EQ(in_process([] {
              Library<Profiler5> library("ncclProfiler_v6");
              void* const context = library.begin(1, 2, 0);
              void* const without_timer = library.collective(context, collective("Reduce", 1, "ncclInt8", 1, 0));
              library.stop(without_timer);
              library.channel(context, without_timer, 0, 0, 0);
              library.stop(library.collective(context, collective("Reduce", 1, "ncclInt8", 2, 1)));  // no kernel ends
              Library<Profiler5>::What copies{};
              copies.type = kCopyEngine;
              copies.copies = {9, "AllGather", nullptr, nullptr, 6, 0, "ncclFloat8e4m3"};
              library.stop(library.start(context, copies));
              library.end(context);
            }),
            0);
  std::vector<std::string> sources;
  for (const std::string& line : lines()) {
    const std::size_t at = line.find("timing_source");
    sources.push_back(line.substr(at + 16, line.find('"', at + 16) - at - 16));
  }
  EXPECT_THAT(sources, ElementsAre("kernel_cpu", "collective_cpu", "collective_cpu"));
  EXPECT_THAT(lines()[1], HasSubstr(R"("coll":"AllGather","coll_algo":"","coll_proto":"","coll_sn":9)"));
}

TEST_F(ProfilerPlugin, IsWholeAfterAKill) {
  EXPECT_EQ(in_process([] {
              Library<Profiler5> library("ncclProfiler_v5");
              void* const context = library.begin(1, 2, 0);
              for (std::uint64_t i = 0; i < 100; ++i) {
                library.stop(library.collective(context, collective("Reduce", 1, "ncclInt8", 0, i)));
              }
              ::usleep(500'000);
              ::raise(SIGKILL);
            }),
            -SIGKILL);
  ASSERT_EQ(lines().size(), 100U);
  EXPECT_TRUE(lines().back().ends_with("}}"));
}

TEST_F(ProfilerPlugin, KeepsNoForkedChildFromItsEnd) {
  ASSERT_EQ(in_process([] {
              Library<Profiler5> library("ncclProfiler_v5");
              void* const context = library.begin(1, 2, 0);
              library.stop(library.collective(context, collective("Reduce", 1, "ncclInt8", 0, 0)));
              const pid_t other = ::fork();
              if (other == 0) {
                ::sleep(1);
                ::_exit(0);
              }
              EXPECT_EQ(in_process([] {}), 0);
              EXPECT_EQ(::waitpid(other, nullptr, WNOHANG), 0) << "it ends after one that sleeps for a second";
              ::waitpid(other, nullptr, 0);
              library.end(context);
            }),
            0);
  EXPECT_EQ(lines().size(), 1U);
}

TEST_F(ProfilerPlugin, CallsThatNeverEndTakeNoMoreMemory) {
  constexpr std::uint64_t kCalls = 30'000;
  ASSERT_EQ(in_process([] {
              Library<Profiler5> library("ncclProfiler_v5");
              void* const context = library.begin(1, 2, 0);
              std::vector<void*> events;
              for (std::uint64_t i = 0; i < kCalls; ++i) {
                events.push_back(library.collective(context, collective("Reduce", 1, "ncclInt8", 1, i)));
              }
              // NCCL still speaks of what is long gone.
              library.channel(context, events.front(), 0, 1, 2);
              for (void* const event : events) library.stop(event);
              library.end(context);
            }),
            0);
  EXPECT_EQ(lines().size(), kCalls);
}

TEST_F(ProfilerPlugin, HarmsNobodyWithoutAPlaceToWriteTo) {
  const auto record_into = [](const char* folder) {
    return in_process([&] {
      folder == nullptr ? ::unsetenv("TWINLINK_RECORD") : ::setenv("TWINLINK_RECORD", folder, 1);
      Library<Profiler5> library("ncclProfiler_v5");
      void* const context = library.begin(1, 2, 0);
      EXPECT_EQ(library.wanted, 1) << "as it was";
      EXPECT_EQ(library.collective(context, collective("Reduce", 1, "ncclInt8", 1, 0)), nullptr);
      library.stop(nullptr);
      library.end(context);
      EXPECT_THAT(said, ElementsAre(HasSubstr("nothing is recorded")));
    });
  };
  EXPECT_EQ(record_into(nullptr), 0);
  EXPECT_EQ(record_into("/proc/nowhere"), 0);
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(ProfilerPlugin, SaysOnceThatTheDiskIsFull) {
  ASSERT_EQ(in_process([&] {
              Library<Profiler5> library("ncclProfiler_v5");
              const rlimit none{0, 0};
              void* const context = library.begin(1, 2, 0);
              ::setrlimit(RLIMIT_FSIZE, &none);
              for (std::uint64_t i = 0; i < 3; ++i) {
                library.stop(library.collective(context, collective("Reduce", 1, "ncclInt8", 0, i)));
                ::usleep(150'000);
              }
              library.end(context);
              EXPECT_THAT(said, ElementsAre(HasSubstr("records into"), HasSubstr("nothing more is recorded into it")));
            }),
            0);
  EXPECT_THAT(lines(), IsEmpty());
}

}  // namespace
}  // namespace twinlink::profiler
