// PacedRuntime: devices that take the time that a platform gives them.
//
// A copy ends when its bytes have really been moved and the platform's time for it is over, whichever comes later.
// The time follows the rule of the simulated machine for one stream: the caller is busy for `overhead`, nothing moves
// for `latency`, which overlaps the flow of the copy before it in the stream, but no copy flows sooner than its
// `gap` after that one; then blocks that lie apart, or a kernel's signal, take their time, which overlaps
// nothing of the stream, and then the bytes flow at the smallest of the copy's own rate and the links of its route.
// The caller that learns that a copy has ended is busy for its `completion`, unless the kernel that has made the
// copy tells it. Unlike there, copies of different streams or processes do not slow each other down: each has the
// links for itself. Nor does it matter who wrote a source last (`cpu_written`).
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platforms/costs/transfer_costs.hpp"
#include "real/device/device_runtime.hpp"
#include "real/device/pinned_memory.hpp"

namespace twinlink::real {

/// What paced devices keep time by: the host's clock, or a test's own.
class PaceClock {
 public:
  virtual ~PaceClock() = default;

  /// Never goes back.
  [[nodiscard]] virtual Seconds now() = 0;
  /// Returns once now() has reached `time`.
  virtual void wait_until(Seconds time) = 0;
};

/// The host's monotonic clock. Waiting keeps the CPU busy, as a driver's call does, because a process that sleeps wakes
/// some 50 us late; only of longer waits the most part is slept.
std::unique_ptr<PaceClock> monotonic_clock();

class PacedRuntime final : public DeviceRuntime {
 public:
  /// The part that this process's device plays.
  struct Role {
    const platforms::Topology& topology;
    std::size_t gpu = 0;                      ///< of the platform's node
    std::map<Uuid, std::size_t> node_gpus{};  ///< which GPUs of the same node the devices play, `gpu` included
  };
  /// How many copies there were, and how many of them this host did not move in the platform's time.
  struct Count {
    std::uint64_t copies = 0;
    std::uint64_t late = 0;
  };
  using Counts = std::map<std::string, std::map<Bytes, Count>>;  ///< by entry of the cost table, and by size

  /// The topology and the clock must outlive this object.
  PacedRuntime(std::unique_ptr<DeviceRuntime> inner, Role role, PaceClock& clock);

  /// Counts of all copies that have been moved, copy_now() apart.
  [[nodiscard]] const Counts& counts() const { return counts_; }

  [[nodiscard]] const std::vector<DeviceInfo>& devices() const override { return inner_->devices(); }
  [[nodiscard]] const DeviceInfo& device() const override { return device_; }
  [[nodiscard]] std::map<std::string, std::string> versions() const override { return inner_->versions(); }
  [[nodiscard]] bool host_addressable() const override { return inner_->host_addressable(); }

  [[nodiscard]] std::byte* allocate(Bytes size) override;
  [[nodiscard]] std::byte* allocate_on(const Uuid& device, Bytes size) override;
  void free(std::byte* memory) override;
  /// At the host's own speed unless the rank knows the memory: what the job pins for itself is not on the platform.
  void pin(std::byte* memory, Bytes size) override;
  void unpin(std::byte* memory) override;
  void know_host_memory(std::byte* memory, Memory kind, Locality locality, const Uuid& device) override;
  void forget_host_memory(std::byte* memory) override;
  void register_memory(std::byte* memory, Bytes size) override;
  void deregister_memory(std::byte* memory) override;

  Event copy(std::byte* to, const std::byte* from, Bytes size, Stream stream, Engine engine) override;
  Event copy_blocks(std::byte* to, const std::byte* from, std::span<const Block> blocks, Stream stream,
                    Engine engine) override;
  /// Raises the flag by this CPU, when the platform's time is over. The copy ends then, and not with its last byte. A
  /// kernel that needs `runtime.kernel_signal` for both needs it before its last byte here, as in the simulation.
  Event copy_and_raise(std::byte* to, const std::byte* from, Bytes size, Flag flag, Stream stream,
                       Engine engine) override;
  Event add(std::byte* to, const std::byte* from, Bytes size, Stream stream) override;
  Event compute(Seconds duration, Stream stream) override;
  [[nodiscard]] Answer transforms() const override;
  Event transform(std::byte* data, const Transform& transform, Stream stream) override;
  void copy_on_host(std::byte* to, const std::byte* from, Bytes size, Stream stream, Engine engine) override;
  void add_on_host(std::byte* to, const std::byte* from, Bytes size, Stream stream) override;
  bool ended(Event event) override;
  void forget(Event event) override;
  void synchronize(Stream stream) override;
  /// At the host's own speed: it is for what lies outside of any timing.
  void copy_now(std::byte* to, const std::byte* from, Bytes size) override { inner_->copy_now(to, from, size); }
  void progress() override;

  IpcToken export_memory(std::byte* memory) override;
  std::byte* open_memory(const IpcToken& token, const Uuid& owner) override;
  void close_memory(std::byte* memory) override;

  /// What the emulation below grants: the platform's answers are the job's to apply, for they bind both ends alike.
  [[nodiscard]] std::optional<Answer> peer_access(const DeviceInfo& peer) const override {
    return inner_->peer_access(peer);
  }

 private:
  /// What a copy between two ends costs, and how fast its bytes flow on an idle machine.
  struct PacedPath {
    platforms::CopyCost copy{};
    Rate rate{};
    platforms::CopyEnding ending{};            ///< of what raises no flag
    std::map<Bytes, Count>* counts = nullptr;  ///< of this entry of the cost table

    /// Of all its bytes, in chunks where it goes in chunks.
    [[nodiscard]] Seconds flow(Bytes size) const { return copy.in_chunks(size) + size / rate; }
  };
  struct Copy {
    Event inner{};
    const PacedPath* way = nullptr;
    Bytes size{};
    platforms::CopyEnding ending{};
    Seconds blocks{};       ///< what its blocks add, all together, or how long it computes
    Flag flag{};            ///< no word: nothing to raise
    Seconds signal{};       ///< from the last byte until the flag is seen
    Seconds due{};          ///< when the last byte is to be there
    bool moved = false;     ///< really, whatever the platform says
    bool by_queue = false;  ///< the engine's queue raises the flag, and its event stands behind that
    [[nodiscard]] Seconds raises() const { return due + signal; }
    [[nodiscard]] Seconds end() const { return raises() + (by_queue ? ending.behind_signal : Seconds{}); }
  };
  struct Queue {
    std::deque<Copy> copies{};  ///< that have not ended yet
    std::uint64_t started = 0;
    std::uint64_t ended = 0;
    std::map<std::uint64_t, Seconds> completions{};  ///< of copies of whose end the caller does not know, by number
    /// End of the last one, by the platform; before the first one long ago.
    Seconds flow_end{-std::numeric_limits<double>::infinity()};
    Seconds turn_end{flow_end};  ///< the same with its signal, and what the queue needs to go on behind that
    Seconds last_end{};
  };

  [[nodiscard]] platforms::End end_of(const std::byte* address, Engine engine) const;
  [[nodiscard]] const PacedPath& paced_path(const std::byte* from, const std::byte* to, Engine engine);
  [[nodiscard]] const PacedPath& paced_path(const platforms::End& source, const platforms::End& target);
  /// When the last byte of a copy is there whose latency begins at `posted`; later ones of the stream flow after it.
  static Seconds schedule(Queue& queue, const Copy& copy, Seconds posted);
  /// The caller has started to post `copy` at `start`. Fills in the times.
  Event start_copy(Copy copy, Stream stream, Seconds start);
  /// The caller has started at `start`, and does `work` in its turn of the stream until the time of `size` is over.
  void work_on_host(const PacedPath& way, Bytes size, Stream stream, Seconds start, const std::function<void()>& work);
  void note_moved(Queue& queue);
  /// Ends what has been moved and whose time is over.
  void advance(Queue& queue);
  void count(const PacedPath& way, Bytes size, Seconds due) const;
  /// The caller waits; copies go on.
  void pass_until(Seconds time);
  [[nodiscard]] Queue& queue_of(Stream stream) { return queues_[static_cast<std::size_t>(stream.index)]; }
  [[nodiscard]] const platforms::RuntimeCosts& costs() const { return costs_; }
  [[nodiscard]] const platforms::Platform& platform() const { return role_.topology.platform(); }

  std::unique_ptr<DeviceRuntime> inner_;
  Role role_;
  PaceClock& clock_;
  DeviceInfo device_;
  double speed_ = 1;  ///< of the CPU, for on_cpu()
  platforms::RuntimeCosts costs_;
  std::map<const std::byte*, platforms::End> known_;  ///< memory that copies may name, by its first address
  PinnedMemory pinned_;                               ///< in which flags lie
  std::map<std::pair<platforms::End, platforms::End>, PacedPath>
      paced_paths_;  ///< those asked for so far: finding a route takes long
  std::array<Queue, kStreams> queues_{};
  std::size_t moving_ = 0;  ///< copies that have not really been moved yet
  Counts counts_;
};

}  // namespace twinlink::real
