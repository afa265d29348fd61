#include "real/system/launch.hpp"

#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <span>
#include <string_view>

#include "protocols/core/errors.hpp"
#include "real/system/system_error.hpp"

namespace twinlink::real {
namespace {

std::optional<int> first_number(const Environ& environ, std::span<const char* const> names) {
  for (const char* name : names) {
    const char* text = environ(name);
    if (text == nullptr) continue;
    const std::string_view digits = text;
    int value = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size() || value < 0) {
      throw UsageError(std::string(name) + ": '" + text + "' is not the number of a process");
    }
    return value;
  }
  return std::nullopt;
}

}  // namespace

Environ process_environ() {
  return [](const char* name) { return std::getenv(name); };
}

int local_rank(const Environ& environ) {
  static constexpr std::array kNames{"OMPI_COMM_WORLD_LOCAL_RANK",
                                     "MV2_COMM_WORLD_LOCAL_RANK",
                                     "MVP_COMM_WORLD_LOCAL_RANK",
                                     "MPI_LOCALRANKID",
                                     "SLURM_LOCALID",
                                     "LOCAL_RANK"};
  return first_number(environ, kNames).value_or(0);
}

std::optional<int> local_ranks(const Environ& environ) {
  static constexpr std::array kNames{"OMPI_COMM_WORLD_LOCAL_SIZE"};
  return first_number(environ, kNames);
}

std::optional<int> launcher_rank(const Environ& environ) {
  static constexpr std::array kNames{
      "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "MVP_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};
  return first_number(environ, kNames);
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) throw_errno("gethostname");
  return name.data();
}

}  // namespace twinlink::real
