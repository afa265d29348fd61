// libnccl-tuner-twinlink.so: a tuner plugin of NCCL that takes rules from a file.
//
//   NCCL_TUNER_PLUGIN=libnccl-tuner-twinlink.so NCCL_TUNER_CONFIG_FILE=tuner.csv mpirun ... program
//
//   1. NCCL opens the library, takes the newest interface that it knows, and makes a context for each communicator.
//   2. Before a collective it asks with its own costs. The first rule that fits makes one of them 0, and NCCL takes the
//      least. What NCCL has switched off stays so: its cost is negative.
//   3. Where no rule fits, the file is not there, or anything goes wrong, NCCL chooses as without a plugin.
//
// Interfaces 3 to 5 are declared here after NCCL's headers (src/include/plugin/tuner/tuner_v3.h to v5.h, its values of
// ncclFunc_t, ncclDebugLogLevel and NCCL_TUNING), so that nothing of NCCL is needed to build it.
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "real/nccl/tuner/tuner_file.hpp"

namespace {

using twinlink::tuner::Rule;
using twinlink::tuner::Rules;

using Result = int;
constexpr Result kSuccess = 0;
/// NCCL then goes on without the plugin.
constexpr Result kInternalError = 3;

using Log = void (*)(int level, unsigned long parts, const char* file, int line, const char* format, ...);
constexpr int kWarning = 2;
constexpr int kInfo = 3;
constexpr unsigned long kTuning = 64;

struct Context {
  std::unique_ptr<Rules> rules{};
  Log log = nullptr;
  std::vector<bool> told{};  ///< of each rule
};

void say(const Context& context, int level, const std::string& text) {
  if (context.log != nullptr) context.log(level, kTuning, "twinlink", 0, "TUNER/Twinlink: %s", text.c_str());
}

Result begin(std::size_t ranks, std::size_t nodes, Log log, void** made) noexcept {
  try {
    auto context = std::make_unique<Context>();
    context->log = log;
    const char* const named = std::getenv("NCCL_TUNER_CONFIG_FILE");
    const std::string file = named != nullptr ? named : "nccl_tuner.conf";
    std::ifstream stream(file);
    if (stream) {
      context->rules = std::make_unique<Rules>(stream, nodes, ranks);
      for (const std::string& fault : context->rules->faults()) say(*context, kWarning, file + ": " + fault);
      context->told.resize(context->rules->all().size());
      say(*context, kInfo,
          file + ": " + std::to_string(context->rules->all().size()) + " rules for " + std::to_string(ranks) +
              " ranks on " + std::to_string(nodes) + " nodes");
    } else {
      say(*context, kWarning, "cannot read " + file + " (NCCL_TUNER_CONFIG_FILE): NCCL chooses by itself");
    }
    *made = context.release();
    return kSuccess;
  } catch (const std::exception&) {
    return kInternalError;
  }
}

Result choose(void* made, const twinlink::tuner::Asked& asked, float** table, int algorithms, int formats,
              int* channels) noexcept {
  try {
    auto& context = *static_cast<Context*>(made);
    const Rule* const rule = context.rules ? context.rules->find(asked) : nullptr;
    if (rule == nullptr) return kSuccess;
    // Declared as pointers to rows, it is one block of rows (nccl, src/enqueue.cc).
    const bool taken = twinlink::tuner::prefer(*rule, reinterpret_cast<float*>(table), algorithms, formats);
    if (taken && rule->channels > 0) *channels = rule->channels;
    const auto place = static_cast<std::size_t>(rule - context.rules->all().data());
    if (!context.told[place]) {
      context.told[place] = true;
      say(context, kInfo,
          "line " + std::to_string(rule->line) + (taken ? " is taken" : " is off here") + ", for " +
              std::to_string(asked.bytes) + " bytes");
    }
    return kSuccess;
  } catch (const std::exception&) {
    return kInternalError;
  }
}

Result end(void* made) noexcept {
  delete static_cast<Context*>(made);
  return kSuccess;
}

// ---- the interfaces

Result begin_4(std::size_t ranks, std::size_t nodes, Log log, void** made) { return begin(ranks, nodes, log, made); }
Result choose_3(void* made, int collective, std::size_t bytes, int operations, float** table, int algorithms,
                int formats, int* channels) {
  return choose(made, {collective, bytes, operations, 0}, table, algorithms, formats, channels);
}
Result choose_4(void* made, int collective, std::size_t bytes, int operations, float** table, int algorithms,
                int formats, int registered, int* channels) {
  return choose(made, {collective, bytes, operations, registered}, table, algorithms, formats, channels);
}
Result begin_5(void** made, std::uint64_t /*communicator*/, std::size_t ranks, std::size_t nodes, Log log,
               void* /*domains*/, void* /*constants*/) {
  return begin(ranks, nodes, log, made);
}

struct Tuner3 {
  const char* name;
  Result (*init)(std::size_t ranks, std::size_t nodes, Log log, void** made);
  Result (*get_coll_info)(void* made, int collective, std::size_t bytes, int operations, float** table, int algorithms,
                          int formats, int* channels);
  Result (*destroy)(void* made);
};
struct Tuner4 {
  const char* name;
  Result (*init)(std::size_t ranks, std::size_t nodes, Log log, void** made);
  Result (*get_coll_info)(void* made, int collective, std::size_t bytes, int operations, float** table, int algorithms,
                          int formats, int registered, int* channels);
  Result (*destroy)(void* made);
};
struct Tuner5 {
  const char* name;
  Result (*init)(void** made, std::uint64_t communicator, std::size_t ranks, std::size_t nodes, Log log, void* domains,
                 void* constants);
  Result (*get_coll_info)(void* made, int collective, std::size_t bytes, int operations, float** table, int algorithms,
                          int formats, int registered, int* channels);
  Result (*finalize)(void* made);
};

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): NCCL looks for these names
extern "C" {
[[gnu::visibility("default")]] extern const Tuner3 ncclTunerPlugin_v3;
[[gnu::visibility("default")]] extern const Tuner4 ncclTunerPlugin_v4;
[[gnu::visibility("default")]] extern const Tuner5 ncclTunerPlugin_v5;
const Tuner3 ncclTunerPlugin_v3{"Twinlink", begin_4, choose_3, end};
const Tuner4 ncclTunerPlugin_v4{"Twinlink", begin_4, choose_4, end};
const Tuner5 ncclTunerPlugin_v5{"Twinlink", begin_5, choose_4, end};
}
// NOLINTEND(readability-identifier-naming)
