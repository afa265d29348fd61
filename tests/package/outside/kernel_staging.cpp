// Staging by kernels: GPUDirect v1, but a kernel of the GPU copies what is small, for it begins sooner than the copy
// engine. What is large the copy engine copies, which is faster once it has begun.
//
//   sender                                   receiver
//   1. copy out: device -> pinned buffer     1. receive: network -> pinned buffer
//   2. send:     pinned buffer -> network    2. copy in: pinned buffer -> device
//
// GPU and network adapter share the buffers. Messages go whole; --chunk cuts them, and then the length of a piece
// decides who copies it (the option `kernel_limit`).
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "protocols/core/lane.hpp"
#include "protocols/core/options.hpp"
#include "protocols/parts/staging_buffers.hpp"
#include "protocols/registry.hpp"

namespace {

using namespace twinlink;  // NOLINT: this is what the file is about

// One stream per direction, so that copies out and copies in overlap.
constexpr Stream kOutStream{0};
constexpr Stream kInStream{1};

constexpr std::array kOptions{
    Option{"kernel_limit", "SIZE", "32K", "a kernel copies pieces up to this size, the copy engine larger ones"}};

class KernelStagingChannel final : public Channel {
 public:
  KernelStagingChannel(Rank& rank, RankId peer, Settings settings, Bytes kernel_limit)
      : rank_(rank),
        peer_(peer),
        settings_(std::move(settings)),
        kernel_limit_(kernel_limit),
        in_(rank, Memory::pinned),
        out_(rank, Memory::pinned) {}

  [[nodiscard]] std::string path_taken() const override {
    return "staged through pinned host memory, by kernels up to " + std::to_string(kernel_limit_.count()) + " B";
  }

 private:
  Outcome do_exchange(std::span<const View> outgoing, std::span<const View> incoming) override {
    const auto depth = static_cast<std::size_t>(settings_.depth_or_one());
    // Receives come first: a posted receive lets the peer's bytes flow while this rank copies out.
    const std::array lanes{
        Lane{.pieces = cut(incoming, settings_.chunk_or_whole()), .depth = depth, .steps = receiving_steps()},
        Lane{.pieces = cut(outgoing, settings_.chunk_or_whole()), .depth = depth, .steps = sending_steps()}};
    whole_lengths(incoming, settings_.chunk_or_whole(), in_wholes_);
    whole_lengths(outgoing, settings_.chunk_or_whole(), out_wholes_);
    in_.reserve(lanes[0].pieces, depth);
    out_.reserve(lanes[1].pieces, depth);
    return move(rank_, lanes, rank_.now() + settings_.timeout);
  }

  [[nodiscard]] std::vector<Step> sending_steps() {
    const auto copy_out = [this](const Piece& p) { return rank_.copy(out_.at(p), p.bytes, kOutStream, engine_for(p)); };
    const auto send = [this](const Piece& p) {
      return rank_.send(peer_, data_tag(out_wholes_[p.number], settings_.chunk_or_whole()), out_.at(p));
    };
    return {{"copy out", copy_out}, {"send", send}};
  }

  [[nodiscard]] std::vector<Step> receiving_steps() {
    const auto receive = [this](const Piece& p) {
      return rank_.receive(peer_, data_tag(in_wholes_[p.number], settings_.chunk_or_whole()), in_.at(p));
    };
    const auto copy_in = [this](const Piece& p) { return rank_.copy(p.bytes, in_.at(p), kInStream, engine_for(p)); };
    return {{"receive", receive}, {"copy in", copy_in}};
  }

  [[nodiscard]] Engine engine_for(const Piece& piece) const {
    return piece.bytes.length <= kernel_limit_ ? Engine::kernel : Engine::dma;
  }

  Rank& rank_;
  RankId peer_;
  Settings settings_;
  Bytes kernel_limit_;
  StagingBuffers in_;
  StagingBuffers out_;
  std::vector<Bytes> in_wholes_;  ///< by piece, the length of its message
  std::vector<Bytes> out_wholes_;
};

class KernelStaging final : public Protocol {
 public:
  [[nodiscard]] std::string_view name() const override { return "kernel-staging"; }
  [[nodiscard]] std::string_view description() const override {
    return "page-locked buffers that GPU and network share; a kernel copies what is small";
  }
  [[nodiscard]] Memory message_memory() const override { return Memory::device; }
  [[nodiscard]] Settings defaults() const override { return {.chunk = Bytes{}, .depth = 2}; }
  [[nodiscard]] std::span<const Option> options() const override { return kOptions; }
  [[nodiscard]] Support supports(const Path& path) const override {
    if (path.shared_buffers) return {};
    return {Support::Kind::no, path.shared_buffers.reason};
  }
  [[nodiscard]] std::unique_ptr<Channel> connect(Rank& rank, RankId peer, const Settings& settings) const override {
    check_settings(*this, settings);
    require_support(*this, rank.path_to(peer));
    const Bytes limit = OptionReader(*this, settings).size("kernel_limit");
    return std::make_unique<KernelStagingChannel>(rank, peer, settings, limit);
  }
};

const KernelStaging kProtocol;
const AddedProtocol kAdded(kProtocol);

}  // namespace
