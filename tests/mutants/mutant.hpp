// The switch of planted slips: each stands in the same build, and an environment variable chooses the one that is on.
// Only copies of the sources that tests/mutants/sample makes include this.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <type_traits>

namespace twinlink::mutants {

/// At most so many in one build.
inline constexpr int kMost = 65536;

struct State {
  int chosen = -1;                   ///< TWINLINK_MUTANT: the number of the slip that is on
  unsigned char* reached = nullptr;  ///< the file TWINLINK_MUTANTS_REACHED, a byte for each slip that was come to

  State() {
    if (const char* const number = std::getenv("TWINLINK_MUTANT")) chosen = std::atoi(number);
    const char* const file = std::getenv("TWINLINK_MUTANTS_REACHED");
    if (file == nullptr) return;
    const int opened = open(file, O_RDWR | O_CREAT, 0644);
    if (opened < 0 || ftruncate(opened, kMost) != 0) return;
    void* const mapped = mmap(nullptr, kMost, PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
    if (mapped != MAP_FAILED) reached = static_cast<unsigned char*>(mapped);
    close(opened);
  }
};

inline bool is_chosen(int number) {
  static const State state;
  if (state.reached != nullptr) state.reached[number] = 1;
  return state.chosen == number;
}

}  // namespace twinlink::mutants

/// Is the slip `number` on? Never while the compiler evaluates.
constexpr bool twinlink_mutant(int number) {
  return !std::is_constant_evaluated() && twinlink::mutants::is_chosen(number);
}
