#pragma once

#include "protocols/core/errors.hpp"

namespace twinlink::bench {

/// A wrong payload or an exchange that was not delivered: names rank, protocol, size and what was found.
class CheckError : public Error {
 public:
  using Error::Error;
};

/// An exchange that was not delivered, most often in time. What has been asked for may be too much for a machine, while
/// a wrong payload never may be.
class NotDelivered : public CheckError {
 public:
  using CheckError::CheckError;
};

}  // namespace twinlink::bench
