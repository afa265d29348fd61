// The program of libFuzzer. TWINLINK_FUZZ_TARGET names the target; tests/fuzz/run sets it.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "tests/fuzz/targets.hpp"

namespace {

const twinlink::fuzz::Target* target = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* const name = std::getenv("TWINLINK_FUZZ_TARGET");
  try {
    target = &twinlink::fuzz::find_target(name == nullptr ? "" : name);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "TWINLINK_FUZZ_TARGET: %s\n", error.what());
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A refused input teaches as much as an accepted one: the corpus keeps both.
  twinlink::fuzz::accepts(*target, std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
