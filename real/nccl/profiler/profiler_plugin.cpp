// libnccl-profiler-twinlink.so: a profiler plugin of NCCL that records what a program's communicators do.
//
//   NCCL_PROFILER_PLUGIN=libnccl-profiler-twinlink.so TWINLINK_RECORD=job/ mpirun ... program
//   twinlink-sim convert job/ --out job.goal
//
//   1. NCCL opens the library, takes the newest interface that it knows, and makes a context for each communicator.
//   2. A collective or message begins and ends where the host launches it. Its kernel's channels begin and end later,
//      with the GPU's timer; with the last of them the call is over and goes to the writer.
//   3. Calls under way stand in a ring of a fixed length. Where it comes round to one that never ended, that one is
//      written with the times that it has.
//   4. Whatever goes wrong, NCCL hears of success: at worst nothing is recorded.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>

#include "real/nccl/profiler/profiler_interface.hpp"
#include "real/nccl/profiler/record_writer.hpp"

namespace twinlink::profiler {
namespace {

constexpr std::size_t kMostChannels = 64;  ///< MAXCHANNELS
constexpr std::size_t kUnderWay = 8192;

/// A call under way. NCCL gets the address of `call` for it, and that of a byte of `channels` for a channel.
struct Slot {
  Call call{};
  std::array<char, kMostChannels> channels{};
  bool is_taken = false;
  bool has_returned = false;
  int ended = 0;  ///< channels
};

/// The process's only state: NCCL's interface has no other place that outlives its communicators. Never destroyed.
struct Recorder {
  pid_t process = ::getpid();  ///< which has the writer's thread
  RecordWriter writer{};
  std::mutex mutex{};
  std::array<Slot, kUnderWay> slots{};
  std::size_t next = 0;

  /// Whose it is; null: nobody's any more.
  Slot* slot_of(const void* event) {
    const auto first = reinterpret_cast<std::uintptr_t>(slots.data());
    const auto place = reinterpret_cast<std::uintptr_t>(event);
    if (place < first || place >= first + sizeof(slots)) return nullptr;
    Slot& slot = slots.at((place - first) / sizeof(Slot));
    return slot.is_taken ? &slot : nullptr;
  }
  void end(Slot& slot) {
    writer.add(slot.call);
    slot.is_taken = false;
  }
  void end_if_over(Slot& slot) {
    if (slot.has_returned && slot.ended >= slot.call.channels) end(slot);
  }
};

Recorder* recorder = nullptr;
std::mutex making;

struct Context {
  Member member{};
  std::atomic<std::uint64_t> messages{0};
};

std::int64_t now() {
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

Name name_of(const char* text) {
  Name name{};
  const std::string_view all = text == nullptr ? "" : text;
  std::ranges::copy(all.substr(0, name.size() - 1), name.begin());
  return name;
}

/// By the name of its type: "ncclFloat32", "ncclBfloat16", "ncclFloat8e4m3".
std::uint64_t bytes_of(const char* type) {
  const std::string_view name = type == nullptr ? "" : type;
  if (name.find("loat8") != std::string_view::npos) return 1;
  if (name.ends_with("64")) return 8;
  if (name.ends_with("32")) return 4;
  return name.ends_with("16") ? 2 : 1;
}

/// Of the thread's context; -1: nobody can tell. The driver is there already, or there is none.
int device_of_thread() {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return -1;
  const auto ask = reinterpret_cast<int (*)(int*)>(::dlsym(driver, "cuCtxGetDevice"));
  int device = -1;
  if (ask != nullptr && ask(&device) != 0) device = -1;
  ::dlclose(driver);
  return device;
}

void say(Log log, int level, const std::string& text) {
  if (log != nullptr) log(level, kProfile, "twinlink", 0, "PROFILER/Twinlink: %s", text.c_str());
}

Result begin(void** made, int* wanted, std::uint64_t communicator, int nodes, int ranks, int rank, Log log) noexcept {
  *made = nullptr;
  try {
    const char* const folder = std::getenv("TWINLINK_RECORD");
    if (folder == nullptr || *folder == 0) {
      say(log, kWarning, "nothing is recorded: TWINLINK_RECORD names no folder");
      return kSuccess;
    }
    const std::lock_guard lock(making);
    if (recorder == nullptr) recorder = new Recorder;
    auto context = std::make_unique<Context>();
    context->member = {communicator, rank, ranks, nodes, recorder->writer.file_for(folder, device_of_thread(), log)};
    say(log, kInfo, "records into " + context->member.file->name());
    *made = context.release();
    // One mask is of all communicators: what others have asked for stays.
    *wanted |= static_cast<int>(kCollective | kMessage | kKernelChannel | kCopyEngine);
  } catch (const std::exception& error) {
    // Longer texts than one has memory for do not come up here.
    if (log != nullptr)
      log(kWarning, kProfile, "twinlink", 0, "PROFILER/Twinlink: nothing is recorded: %s", error.what());
  }
  return kSuccess;
}
Result begin_4(void** made, int* wanted, const char* /*name*/, std::uint64_t communicator, int nodes, int ranks,
               int rank, Log log) {
  return begin(made, wanted, communicator, nodes, ranks, rank, log);
}
Result begin_5(void** made, std::uint64_t communicator, int* wanted, const char* /*name*/, int nodes, int ranks,
               int rank, Log log) {
  return begin(made, wanted, communicator, nodes, ranks, rank, log);
}

/// What is the same of collectives with and without a kernel.
template <class Told>
Call call_of(const Context& context, const Told& told) {
  return {.member = context.member,
          .function = name_of(told.function),
          .type = name_of(told.type),
          .number = told.number,
          .bytes = told.count * bytes_of(told.type),
          .other = told.root};
}

/// Whose place it is, for NCCL.
void* take(const Call& call) {
  const std::lock_guard lock(recorder->mutex);
  Slot& slot = recorder->slots.at(recorder->next);
  recorder->next = (recorder->next + 1) % kUnderWay;
  if (slot.is_taken) recorder->end(slot);
  slot = {.call = call, .is_taken = true};
  slot.call.called = now();
  return &slot.call;
}

void* begin_channel(void* parent, const KernelChannel& told) {
  const std::lock_guard lock(recorder->mutex);
  Slot* const slot = recorder->slot_of(parent);
  if (slot == nullptr) return nullptr;
  Call& call = slot->call;
  if (call.host_begin == 0) call.host_begin = now();
  if (told.timer != 0 && (call.gpu_begin == 0 || told.timer < call.gpu_begin)) call.gpu_begin = told.timer;
  return &slot->channels.at(told.channel % kMostChannels);
}

template <class Type>
Result start(void* made, void** event, Description<Type>* what) {
  *event = nullptr;
  if (made == nullptr || what == nullptr) return kSuccess;
  Context& context = *static_cast<Context*>(made);
  switch (std::uint64_t{what->type}) {
    case kCollective: {
      Call call = call_of(context, what->collective);
      call.algorithm = name_of(what->collective.algorithm);
      call.format = name_of(what->collective.format);
      call.channels = what->collective.channels;
      *event = take(call);
      break;
    }
    case kCopyEngine:
      *event = take(call_of(context, what->copies));
      break;
    case kMessage: {
      const Message& told = what->message;
      *event = take({.member = context.member,
                     .is_message = true,
                     .function = name_of(told.function),
                     .type = name_of(told.type),
                     .number = context.messages++,
                     .bytes = told.count * bytes_of(told.type),
                     .other = told.peer,
                     .channels = told.channels});
      break;
    }
    case kKernelChannel:
      *event = begin_channel(what->parent, what->kernel);
      break;
    default:
      break;
  }
  return kSuccess;
}

Result stop(void* event) {
  if (event == nullptr || recorder == nullptr) return kSuccess;
  const std::lock_guard lock(recorder->mutex);
  Slot* const slot = recorder->slot_of(event);
  if (slot == nullptr) return kSuccess;
  if (event == &slot->call) {
    slot->has_returned = true;
    slot->call.returned = now();
  } else {
    ++slot->ended;
    slot->call.host_end = now();
  }
  recorder->end_if_over(*slot);
  return kSuccess;
}

Result change(void* event, int state, StateArguments* arguments) {
  if (event == nullptr || recorder == nullptr || state != kKernelChannelStop || arguments == nullptr) return kSuccess;
  const std::lock_guard lock(recorder->mutex);
  Slot* const slot = recorder->slot_of(event);
  if (slot != nullptr && event != &slot->call) {
    slot->call.gpu_end = std::max(slot->call.gpu_end, arguments->timer);
  }
  return kSuccess;
}

Result end(void* made) {
  constexpr int kPatience = 5;  // s
  if (made == nullptr) return kSuccess;
  const std::unique_ptr<Context> context(static_cast<Context*>(made));
  {
    const std::lock_guard lock(recorder->mutex);
    for (Slot& slot : recorder->slots) {
      const Member& member = slot.call.member;
      if (slot.is_taken && member.communicator == context->member.communicator && member.rank == context->member.rank) {
        recorder->end(slot);
      }
    }
  }
  recorder->writer.flush(kPatience);
  return kSuccess;
}

/// Programs end without letting go of their communicators.
[[gnu::destructor]] void at_exit() {
  constexpr int kPatience = 2;  // s
  // A forked child has no thread that writes, and its locks may be held by threads that it lacks.
  if (recorder == nullptr || recorder->process != ::getpid()) return;
  recorder->writer.flush(kPatience);
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): NCCL looks for these names
extern "C" {
[[gnu::visibility("default")]] extern const Profiler4 ncclProfiler_v4;
[[gnu::visibility("default")]] extern const Profiler5 ncclProfiler_v5;
[[gnu::visibility("default")]] extern const Profiler5 ncclProfiler_v6;
const Profiler4 ncclProfiler_v4{"Twinlink", begin_4, start<std::uint8_t>, stop, change, end};
const Profiler5 ncclProfiler_v5{"Twinlink", begin_5, start<std::uint64_t>, stop, change, end};
const Profiler5 ncclProfiler_v6{"Twinlink", begin_5, start<std::uint64_t>, stop, change, end};
}
// NOLINTEND(readability-identifier-naming)

}  // namespace twinlink::profiler
