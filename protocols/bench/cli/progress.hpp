// How far long work is, for somebody who waits at a terminal or reads a log.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "protocols/core/units.hpp"

namespace twinlink::bench {

/// Told of work of which `done` of `all` parts are done.
using OnProgress = std::function<void(std::size_t done, std::size_t all)>;

/// Where progress is shown: on a terminal as a line that is drawn anew, elsewhere as a line a minute.
struct ProgressView {
  bool terminal = false;
  std::function<void(const std::string&)> write{};
  std::function<Seconds()> now{};

  /// `now` is a clock on the wall.
  static ProgressView standard_error(std::function<Seconds()> now);
};

/// Shows how much is done and how long the rest will take if it goes on like that. Its end leaves no line on a
/// terminal.
class Progress {
 public:
  /// `parts` names them: "simulations".
  Progress(std::string parts, ProgressView view);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::size_t done, std::size_t all);
  /// Takes the line away, for something else is about to be printed.
  void clear();
  /// show(), as work takes it. This must outlive the work.
  OnProgress listener() {
    return [this](std::size_t done, std::size_t all) { show(done, all); };
  }

 private:
  std::string parts_;
  ProgressView view_;
  Seconds began_;
  Seconds shown_;
  bool drawn_ = false;
};

}  // namespace twinlink::bench
