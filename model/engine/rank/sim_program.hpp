// A program of thread blocks on a simulated GPU: the code that GPUs run, on fibers, which sleep while bytes flow and
// while they wait for peers. A slot is a flow and a few events, whatever its size.
//
// From a block's store until a peer's block sees it takes what the GPU type's `blocks` say and the way. Lines tell by
// themselves what has come, so a block may begin to read a slot when its first line is there, and ends not before the
// last one is. Slots of Simple are seen whole, behind their counter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "model/engine/flows/flow.hpp"
#include "model/engine/memory/sim_memory.hpp"
#include "model/engine/rank/event_queue.hpp"
#include "protocols/gpu/work.hpp"
#include "protocols/trace/op_report.hpp"

namespace twinlink::model {

class SimBlock;
class SimProgram;
class SimWorld;
class Transport;
struct Operation;

/// Who waits for a number: a block of a program, or a rank in await_slot().
class NumberWaiter {
 public:
  NumberWaiter() = default;
  virtual ~NumberWaiter() = default;
  NumberWaiter(const NumberWaiter&) = delete;
  NumberWaiter& operator=(const NumberWaiter&) = delete;

  /// The number will be seen at `when`, and the waiter goes on then.
  virtual void wake_at(Seconds when) = 0;
};

/// What has made somebody go on: the last step of a block, or where there was none the launch that it began with;
/// neither: a CPU.
struct Cause {
  RankId rank{};
  Seconds at{};
  std::uint64_t step = 0;
  std::uint64_t launch = 0;
  std::int32_t channel = 0;  ///< of the block
};

/// A number that a block raises and another one waits for. It is seen some time after it was raised.
class RaisedNumber {
 public:
  /// Not sooner than what was raised before.
  void raise(Seconds seen_at, std::uint64_t value, const Cause& by);
  /// When `least` will be seen; kNever: nobody has raised it so far.
  [[nodiscard]] Seconds when(std::uint64_t least, Seconds now);
  /// Who raised what when() has told of last.
  [[nodiscard]] const Cause& cause() const { return raised_.front().by; }
  /// Told once `least` is raised; one at a time.
  void await(NumberWaiter* waiter, std::uint64_t least);
  /// Whoever else waits now goes on to wait.
  void await_no_more(const NumberWaiter* waiter) {
    if (waiter_ == waiter) waiter_ = nullptr;
  }
  /// As if nobody had raised it. Who waits goes on to wait.
  void clear() {
    seen_ = 0;
    raised_.clear();
  }

 private:
  struct Raised {
    Seconds seen_at{};
    std::uint64_t value = 0;
    Cause by{};
  };
  std::uint64_t seen_ = 0;
  std::deque<Raised> raised_{};
  NumberWaiter* waiter_ = nullptr;
  std::uint64_t awaited_ = 0;
};

/// Of the FIFO of a channel: what its owner sees of the peer's doings.
struct SimFifo {
  RaisedNumber begun{};                           ///< slots whose first line is there
  RaisedNumber filled{};                          ///< slots that are there
  RaisedNumber credit{};                          ///< slots of the other way that the peer has read
  std::map<std::uint64_t, std::uint64_t> told{};  ///< by step of a slot that is not read: what its line says

  void clear() {
    for (RaisedNumber* number : {&begun, &filled, &credit}) number->clear();
    told.clear();
  }
};

using BlockStack = std::unique_ptr<std::byte[]>;  // NOLINT(modernize-avoid-c-arrays): of a size that is known once

/// What the programs of a job share: FIFOs, found by where they lie, and stacks of blocks that have ended.
struct ProgramWorld {
  BlockObserver observer{};   ///< may be empty
  std::uint64_t numbers = 0;  ///< of launches and steps that were given so far

  /// A step that has ended, after what `by` says. Its number, which is 0 where nobody listens.
  std::uint64_t tell(const Cause& by, BlockStep step);
  std::map<std::pair<std::uint64_t, std::uint64_t>, SimFifo> fifos{};  ///< by allocation, and its place in there
  std::vector<BlockStack> free_stacks{};
};

/// One launch. SimRank::launch() makes it, and Transport begins it where a copy would begin to flow.
class SimProgram {
 public:
  /// One end of a connection: the memory, and how bytes get there.
  struct Link {
    /// Puts go by an adapter that the block drives: it asks for them and goes on.
    bool by_adapter = false;
    std::vector<Adapters> adapters{};
    Part mine{};
    Part theirs{};
    Part window{};  ///< of a put
    std::vector<std::uint64_t> sent{};
    std::vector<std::uint64_t> received{};
    std::vector<std::uint64_t> sent_each{};
    std::vector<std::uint64_t> received_each{};
    std::vector<FlowRoute> out{};      ///< of a block's stores into the peer's slots
    std::vector<FlowRoute> passing{};  ///< the same of what it has from another slot
    std::vector<FlowRoute> in{};       ///< of its loads from its own slots, where they lie in host memory
    Seconds way_out{};                 ///< to the peer's slots
    Seconds way_in{};                  ///< until a load from its own is back; zero in its own GPU's memory
  };
  struct Parts {
    Part input{};
    Part output{};
    std::vector<Link> links{};
    std::vector<gpu::ChannelPosition> positions{};  ///< by channel
    std::vector<std::int32_t> orders{};             ///< as gpu::Work has them
    std::vector<std::uint64_t> numbers{};
    std::vector<FlowRoute> own{};        ///< within the GPU's memory
    std::vector<FlowRoute> own_alone{};  ///< the same of a block that stores nothing to a peer meanwhile
    // Of a program whose switch adds up.
    std::vector<FlowRoute> sums{};    ///< of what the GPU reads added up
    std::vector<FlowRoute> spread{};  ///< of what it stores to all
    Seconds way_sum{};                ///< from a read's request until its sum begins to come
    int times = 1;
    bool library = false;  ///< NCCL's kernels, whose blocks may have two roles
    Seconds gap{};         ///< from the end of a run until the next one begins
    Seconds fetch{};       ///< from then until a block looks for its first slot
  };

  /// `world` and the rank's `event_queue` outlive it.
  SimProgram(SimWorld& world, EventQueue& event_queue, RankId rank, const gpu::Program& program, Parts parts,
             const BlockCosts& costs);
  ~SimProgram();
  SimProgram(const SimProgram&) = delete;
  SimProgram& operator=(const SimProgram&) = delete;

  /// The blocks begin. `ended` is called once, when all have ended; maybe at once.
  void begin(std::function<void()> ended);
  /// As OpReport has it.
  [[nodiscard]] std::uint64_t launch() const { return launch_; }
  /// The last step of the block that has ended last.
  [[nodiscard]] std::uint64_t last_step() const { return last_.step; }
  /// Blocks stop waiting, and end now; those that have not begun will at once.
  void give_up();

 private:
  friend class SimBlock;
  class NextRun;
  class Puts;
  void begin_blocks();
  void block_ended(const Cause& by);
  [[nodiscard]] Puts& puts_over(std::int32_t link, std::int32_t channel);

  SimWorld& world_;
  EventQueue& event_queue_;
  RankId rank_;
  std::uint64_t launch_;
  Cause last_;
  gpu::Program program_;
  Parts parts_;
  const BlockCosts& costs_;
  std::vector<std::shared_ptr<SimBlock>> blocks_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::unique_ptr<Puts>> puts_;  ///< by link and channel
  std::size_t running_ = 0;  ///< blocks, and puts that adapters have
  int ran_ = 0;              ///< times
  bool begun_ = false;
  bool given_up_ = false;
  std::function<void()> ended_;
};

}  // namespace twinlink::model
