// Breaks every rule that symbols.cmake checks, once each, to show that the check can fail.
#include <time.h>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace twinlink::layering {

int planted_counter = 0;                       // state without the word static
const std::string planted_table = "built up";  // set up by code that runs before main()

/// Remembers its last argument: state with a guard.
int remember(const std::string& name) {
  static std::string last_name(name);
  const bool same = last_name == name;
  last_name = name;
  return same ? ++planted_counter : std::rand();
}

bool touch(const char* file) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  std::FILE* const opened = std::fopen(file, "w");
  return opened != nullptr && std::fclose(opened) == 0 && now.tv_sec > 0 && !planted_table.empty();
}

}  // namespace twinlink::layering
