// Failing operating-system calls as exceptions.
#pragma once

#include <cerrno>
#include <cstring>
#include <source_location>
#include <string_view>

#include "protocols/core/errors.hpp"

namespace twinlink::real {

/// Throws an EnvironmentError with the text of errno.
[[noreturn]] inline void throw_errno(std::string_view call,
                                     std::source_location where = std::source_location::current()) {
  throw EnvironmentError(call, std::strerror(errno), where);
}

}  // namespace twinlink::real
