#pragma once

#include "protocols/core/errors.hpp"

namespace twinlink::bench {

/// A wrong payload or an exchange that was not delivered: names rank, protocol, size and what was found.
class CheckError : public Error {
 public:
  using Error::Error;
};

}  // namespace twinlink::bench
