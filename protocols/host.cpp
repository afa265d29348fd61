// Host to host: no GPU at all, the reference curve that every GPU protocol is held against.
//
//   sender                                   receiver
//   1. send: host memory -> network          1. receive: network -> host memory

#include "protocols/builtin.hpp"
#include "protocols/core/options.hpp"
#include "protocols/parts/sending.hpp"

namespace twinlink {
namespace {

class HostChannel final : public Channel {
 public:
  HostChannel(Rank& rank, RankId peer, const Settings& settings, Sending how)
      : wires_(by_which_wires(rank.path_to(peer))), messages_(rank, peer, settings, how) {}

  [[nodiscard]] std::string path_taken() const override { return "host memory to host memory" + wires_; }

 private:
  Outcome do_exchange(std::span<const View> outgoing, std::span<const View> incoming) override {
    return messages_.exchange(outgoing, incoming);
  }

  std::string wires_;
  PlainMessages messages_;
};

class Host final : public Protocol {
 public:
  [[nodiscard]] std::string_view name() const override { return "host"; }
  [[nodiscard]] std::string_view description() const override { return "host memory to host memory, without a GPU"; }
  [[nodiscard]] Memory message_memory() const override { return Memory::pageable; }
  // As deep as the window of the OSU bandwidth test: nothing is staged, so depth costs nothing.
  [[nodiscard]] Settings defaults() const override { return {.chunk = Bytes{}, .depth = 64}; }
  [[nodiscard]] std::span<const Option> options() const override { return {&kSendOption, 1}; }
  [[nodiscard]] Support supports(const Path&) const override { return {}; }
  [[nodiscard]] std::unique_ptr<Channel> connect(Rank& rank, RankId peer, const Settings& settings) const override {
    check_settings(*this, settings);
    const auto how = OptionReader(*this, settings).choice("send", kSendings);
    return std::make_unique<HostChannel>(rank, peer, settings, how);
  }
};

}  // namespace

const Protocol& host_protocol() {
  static const Host protocol;
  return protocol;
}

}  // namespace twinlink
