// Names of probes: printed from values, and found again by comparing.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocols/bench/probe/probed.hpp"

namespace twinlink::bench {
namespace {

using enum Probed::What;
using How = Probed::How;
using Peer = Probed::Peer;

struct Named {
  Probed probed;
  std::string name;
};

/// As PROBES.md has them, and as the stored probe files do.
const std::vector<Named>& examples() {
  static const std::vector<Named> all{
      {{.to = Memory::shared_pinned, .far = true}, "copy device-to-shared-pinned far"},
      {{}, "copy device-to-device"},
      {{.from = Memory::pageable, .to = Memory::pageable, .gpus = 4}, "copy host-to-host of 4 GPUs"},
      {{.how = How::queued, .peer = Peer::write}, "queued peer copy write direct"},
      {{.how = How::start, .peer = Peer::write, .direct = false}, "start peer copy write staged"},
      {{.peer = Peer::read, .gpus = 8}, "peer copy read direct of 8 GPUs"},
      {{.engine = Engine::kernel, .peer = Peer::read}, "copy kernel-pull"},
      {{.engine = Engine::kernel, .from = Memory::pinned}, "copy kernel-from-pinned"},
      {{.how = How::queued, .engine = Engine::resident, .peer = Peer::write}, "queued copy resident-push"},
      {{.from = Memory::pageable, .cpu_written = true}, "copy pageable-to-device near cpu-written"},
      {{.how = How::both_ways, .from = Memory::pinned, .gpus = 2}, "copy pinned near both-ways of 2 GPUs"},
      {{.what = block, .engine = Engine::kernel, .to = Memory::pinned, .block_bytes = 64},
       "kernel-block device-to-pinned of 64 B"},
      {{.what = put_and_signal, .how = How::queued, .engine = Engine::kernel},
       "queued put and signal by kernel same-node"},
      {{.what = put_and_signal, .engine = Engine::resident}, "put and signal by resident kernel same-node"},
      {{.what = message, .from = Memory::pinned, .to = Memory::pinned, .same_node = false},
       "message pinned other-node"},
      {{.what = message, .how = How::both_ways, .from = Memory::pageable, .to = Memory::pageable},
       "message pageable same-node both-ways"},
      {{.what = message, .how = How::queued_both_ways, .from = Memory::pageable, .to = Memory::pageable},
       "queued message same-node both-ways"},
      {{.what = receive, .how = How::start, .from = Memory::pageable, .to = Memory::pageable},
       "start receive same-node"},
      {{.what = control, .how = How::queued_both_ways, .from = Memory::pageable, .to = Memory::pageable},
       "queued bare control message same-node both-ways"},
      {{.what = finish}, "finish ended copy"},
      {{.what = allocate, .from = Memory::shared_pinned}, "allocate shared-pinned"},
      {{.what = handle_open}, "handle open"}};
  return all;
}

TEST(Probed, IsPrintedAsTheFilesHaveItAndFoundAgain) {
  for (const auto& [probed, name] : examples()) {
    EXPECT_EQ(to_string(probed), name);
    const auto found = probed_by(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(*found, probed) << name;
  }
}

TEST(Probed, ANameThatNoProbeHasIsNone) {
  for (const char* name :
       {"", "copy", "look message same-node", "copy pinned-to-device near device-written",
        "engine-block device-to-pinned of 63 B", "copy host-to-host of 3 GPUs", "Copy kernel-pull"}) {
    EXPECT_FALSE(probed_by(name)) << name;
  }
}

}  // namespace
}  // namespace twinlink::bench
