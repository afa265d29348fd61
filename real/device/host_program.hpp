// A program of thread blocks on an emulated device: the code that GPUs run, on fibers of this process, over memory that
// the processes share.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "real/device/device_runtime.hpp"

namespace twinlink::real {

/// HostRuntime::progress() lets it go on where a copy of its stream would move. A block runs until it has to wait for a
/// peer, or has moved much.
class HostProgram {
 public:
  explicit HostProgram(DeviceProgram program);
  ~HostProgram();
  HostProgram(const HostProgram&) = delete;
  HostProgram& operator=(const HostProgram&) = delete;

  /// Every block that can goes on. True: all have ended.
  bool go_on();
  /// Blocks stop waiting, and end with the next go_on().
  void give_up() { given_up_ = true; }

 private:
  class Block;
  /// The next run.
  void begin();

  DeviceProgram program_;
  std::vector<std::unique_ptr<Block>> blocks_;
  int ran_ = 0;  ///< times
  bool given_up_ = false;
};

}  // namespace twinlink::real
