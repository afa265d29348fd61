#include "protocols/cuda_ipc/cuda_ipc_exchange.hpp"

#include <algorithm>
#include <cassert>
#include <string_view>
#include <utility>

#include "protocols/core/enum_table.hpp"
#include "protocols/core/tags.hpp"

namespace twinlink {
namespace {

constexpr Stream kOutStream{0};
constexpr Stream kInStream{1};
/// All reads from the peer run on one stream, so that they end in order and one event is polled.
constexpr Stream kPullStream{2};
/// Open MPI's ring of events has so many places.
constexpr std::size_t kEventRing = 400;

/// All packets come through one FIFO, so that no receive knows before its end what it will be.
std::string_view received_words(PacketKind kind) {
  constexpr Words<PacketKind> kWords{"received fragments",     "received opened",        "received REQ",
                                     "received ACK",           "received NOTREADY",      "received REFUSED",
                                     "received eager message", "received header",        "received clear to send",
                                     "received fragment",      "received fragment back", "received RGET header",
                                     "received FIN",           "received failure"};
  return static_cast<std::size_t>(kind) < kWords.size() ? kWords[kind] : "received an unknown packet";
}

std::string size_text(std::uint64_t bytes) { return std::to_string(bytes) + " B"; }

}  // namespace

void CudaIpcExchange::begin(std::span<const View> outgoing, std::span<const View> incoming, Seconds deadline) {
  assert(!receive_op_ && pulls_.empty());
  deadline_ = deadline;
  outgoing_.clear();
  incoming_.clear();
  for (const View& view : outgoing) outgoing_.push_back({.bytes = view});
  for (const View& view : incoming) incoming_.push_back({.bytes = view});
  first_out_ = std::exchange(end_.next_out, end_.next_out + static_cast<std::uint32_t>(outgoing.size()));
  first_in_ = std::exchange(end_.next_in, end_.next_in + static_cast<std::uint32_t>(incoming.size()));
  next_to_start_ = 0;
  clear_.clear();
  to_pull_.clear();
}

Outcome CudaIpcExchange::run(std::span<const View> outgoing, std::span<const View> incoming, Seconds deadline) {
  begin(outgoing, incoming, deadline);
  try {
    Outcome outcome = drive();
    if (!outcome.ok()) abandon();
    return outcome;
  } catch (...) {
    // The buffers of what is in flight are released while the exception passes on.
    abandon();
    throw;
  }
}

/// The reactor: do what can be done, then wait for what comes next.
Outcome CudaIpcExchange::drive() {
  Outcome outcome;
  while (outcome.ok()) {
    outcome = start_sends();
    if (outcome.ok()) outcome = send_fragments();
    if (outcome.ok()) outcome = start_pulls();
    if (!outcome.ok() || finished()) break;
    outcome = wait_for_something();
  }
  return outcome;
}

// ---- what this rank does by itself ----------------------------------------------------------------------------------

/// Headers leave in the order of the messages. What a message's header said stays: it is not changed by an
/// acknowledgement that comes later.
Outcome CudaIpcExchange::start_sends() {
  for (; next_to_start_ < outgoing_.size(); ++next_to_start_) {
    Outgoing& message = outgoing_[next_to_start_];
    const std::uint32_t number = first_out_ + static_cast<std::uint32_t>(next_to_start_);
    const Bytes length = message.bytes.length;
    const bool by_ipc = end_.handshake().get_enabled() && length >= end_.options.rget_from;
    const bool eager = length <= (by_ipc ? Bytes{} : end_.options.eager);
    if (eager && length > Bytes{} && !end_.has_free_slot()) return {};
    end_.about_to_send();
    if (eager) {
      if (Outcome outcome = send_eagerly(message, number); !outcome.ok()) return outcome;
    } else if (by_ipc) {
      end_.rank.step("export");
      const IpcHandle handle = end_.rank.export_memory(message.bytes.buffer);
      end_.send_naming("send RGET header",
                       {.kind = PacketKind::rget,
                        .number = number,
                        .offset = message.bytes.offset.count(),
                        .length = length.count()},
                       handle);
      message.state = Sending::waits_for_fin;
      end_.note_way(CudaIpcEndpoint::Transport::ipc);
    } else {
      end_.send_control("send header", {.kind = PacketKind::header, .number = number, .length = length.count()});
      message.state = Sending::waits_for_clear;
      end_.note_way(CudaIpcEndpoint::Transport::staged);
    }
  }
  return {};
}

Outcome CudaIpcExchange::send_eagerly(Outgoing& message, std::uint32_t number) {
  Packet packet{.kind = PacketKind::eager, .number = number, .length = message.bytes.length.count()};
  if (message.bytes.length > Bytes{}) {
    packet.slot = *end_.take_slot();
    const View fragment = end_.my_fragment(packet.slot, message.bytes.length);
    const Status status = copy_now("copy out", fragment, message.bytes, kOutStream);
    if (status != Status::delivered) return fail(status, "step 'copy out' of message " + std::to_string(number));
  }
  end_.send_control("send eager message", packet);
  message.state = Sending::done;
  end_.note_way(CudaIpcEndpoint::Transport::staged);
  return {};
}

Outcome CudaIpcExchange::send_fragments() {
  while (!clear_.empty()) {
    const std::uint32_t number = first_out_ + static_cast<std::uint32_t>(clear_.front());
    Outgoing& message = outgoing_[clear_.front()];
    while (message.handed_over < message.bytes.length) {
      const auto slot = end_.take_slot();
      if (!slot) return {};
      const Bytes length = std::min(end_.options.payload, message.bytes.length - message.handed_over);
      const View from = message.bytes.slice(message.handed_over, length);
      const Status status = copy_now("copy out", end_.my_fragment(*slot, length), from, kOutStream);
      if (status != Status::delivered) return fail(status, "step 'copy out' of message " + std::to_string(number));
      end_.send_control("send fragment", {.kind = PacketKind::fragment,
                                          .slot = *slot,
                                          .number = number,
                                          .offset = message.handed_over.count(),
                                          .length = length.count()});
      message.handed_over += length;
      ++end_.counts.fragments_sent;
    }
    message.state = Sending::done;
    clear_.erase(clear_.begin());
  }
  return {};
}

Outcome CudaIpcExchange::start_pulls() {
  while (!to_pull_.empty() && pulls_.size() < kEventRing) {
    const std::size_t index = to_pull_.front();
    to_pull_.erase(to_pull_.begin());
    if (Outcome outcome = pull(index); !outcome.ok()) return outcome;
  }
  return {};
}

Outcome CudaIpcExchange::pull(std::size_t index) {
  Incoming& message = incoming_[index];
  const Packet& header = message.header;
  Buffer source;
  try {
    end_.rank.step("look up");
    source = end_.cache.acquire(message.handle);
  } catch (const Error& error) {
    return fail(Status::peer_failed, "step 'look up' of message " + std::to_string(header.number) +
                                         ": the handle was refused: " + error.what());
  }
  if (header.offset > source.size.count() || header.length > source.size.count() - header.offset) {
    end_.cache.release(source);
    return fail(Status::peer_failed, "step 'look up' of message " + std::to_string(header.number) +
                                         ": it reaches beyond the end of the memory that was opened");
  }
  end_.rank.step("pull");
  const View from{source, Bytes{header.offset}, message.bytes.length};
  // On record first: should the copy be refused, the memory is not in use for ever.
  pulls_.push_back({.op = {}, .message = index, .source = source});
  pulls_.back().op = end_.rank.copy(message.bytes, from, kPullStream, Engine::dma);
  message.state = Receiving::pulling;
  return {};
}

// ---- what it receives ----------------------------------------------------------------------------------------------

Outcome CudaIpcExchange::recv_control(const ControlMessage& message) {
  const Packet packet = packet_of(message);
  end_.rank.state(received_words(packet.kind));
  if (end_.take_handshake(packet)) return {};
  const auto broken = [&] {
    return fail(Status::peer_failed,
                "the peer speaks of message " + std::to_string(packet.number) + ", which is not under way");
  };
  switch (packet.kind) {
    case PacketKind::eager:
    case PacketKind::header:
    case PacketKind::rget:
      return take_header(message);
    case PacketKind::clear_to_send: {
      Outgoing* const sent = outgoing(packet.number);
      if (sent == nullptr || sent->state != Sending::waits_for_clear) return broken();
      sent->state = Sending::in_fragments;
      clear_.push_back(packet.number - first_out_);
      return {};
    }
    case PacketKind::fragment: {
      Incoming* const received = incoming(packet.number);
      if (received == nullptr || received->state != Receiving::in_fragments) return broken();
      return take_fragment(*received, packet);
    }
    case PacketKind::fragment_done:
      end_.return_slot(packet.slot);
      return {};
    case PacketKind::fin: {
      Outgoing* const sent = outgoing(packet.number);
      if (sent == nullptr || sent->state != Sending::waits_for_fin) return broken();
      sent->state = Sending::done;
      return {};
    }
    case PacketKind::failed:
      return {static_cast<Status>(packet.slot), "the peer has given the exchange up: " + what_is_missing()};
    default:
      return fail(Status::peer_failed,
                  "the peer sent a packet of the connection handshake in the middle of an exchange");
  }
}

Outcome CudaIpcExchange::take_header(const ControlMessage& message) {
  const Packet packet = packet_of(message);
  Incoming* const found = incoming(packet.number);
  if (found == nullptr) {
    return fail(Status::wrong_size,
                "the peer sends more messages than are expected: " + std::to_string(incoming_.size()));
  }
  Incoming& received = *found;
  if (packet.length != received.bytes.length.count()) {
    return fail(Status::wrong_size, "message " + std::to_string(packet.number) + ": the sender had " +
                                        size_text(packet.length) + ", and the receiver expected " +
                                        size_text(received.bytes.length.count()));
  }
  if (packet.kind == PacketKind::eager) return take_eager(received, packet);
  if (packet.kind == PacketKind::header) {
    received.state = Receiving::in_fragments;
    end_.send_control("send clear to send", {.kind = PacketKind::clear_to_send, .number = packet.number});
    end_.note_way(CudaIpcEndpoint::Transport::staged);
    return {};
  }
  received.header = packet;
  received.handle = end_.handle_named_in(message);
  received.state = Receiving::waits_to_pull;
  to_pull_.push_back(packet.number - first_in_);
  end_.note_way(CudaIpcEndpoint::Transport::ipc);
  return {};
}

Outcome CudaIpcExchange::take_eager(Incoming& message, const Packet& packet) {
  if (packet.length > 0) {
    const View from = end_.peers_fragment(packet.slot, message.bytes.length);
    const Status status = copy_now("copy in", message.bytes, from, kInStream);
    if (status != Status::delivered) return fail(status, "step 'copy in' of message " + std::to_string(packet.number));
    end_.send_control("return fragment", {.kind = PacketKind::fragment_done, .slot = packet.slot});
  }
  message.state = Receiving::done;
  end_.note_way(CudaIpcEndpoint::Transport::staged);
  return {};
}

Outcome CudaIpcExchange::take_fragment(Incoming& message, const Packet& packet) {
  const Bytes length{packet.length};
  if (packet.offset != message.arrived.count() || length > message.bytes.length - message.arrived) {
    return fail(Status::peer_failed,
                "a fragment of message " + std::to_string(packet.number) + " does not follow the one before it");
  }
  const Status status = copy_now("copy in", message.bytes.slice(message.arrived, length),
                                 end_.peers_fragment(packet.slot, length), kInStream);
  if (status != Status::delivered) return fail(status, "step 'copy in' of message " + std::to_string(packet.number));
  end_.send_control("return fragment", {.kind = PacketKind::fragment_done, .slot = packet.slot});
  message.arrived += length;
  if (message.arrived == message.bytes.length) message.state = Receiving::done;
  return {};
}

/// The oldest read has ended.
Outcome CudaIpcExchange::pulled(Status status) {
  const Pull pull = pulls_.front();
  pulls_.erase(pulls_.begin());
  end_.cache.release(pull.source);
  const std::uint32_t number = first_in_ + static_cast<std::uint32_t>(pull.message);
  if (status != Status::delivered) return fail(status, "step 'pull' of message " + std::to_string(number));
  end_.send_control("send FIN", {.kind = PacketKind::fin, .number = number});
  incoming_[pull.message].state = Receiving::done;
  return {};
}

CudaIpcExchange::Outgoing* CudaIpcExchange::outgoing(std::uint32_t number) {
  const std::uint32_t index = number - first_out_;  // wraps for what was before
  return index < outgoing_.size() ? &outgoing_[index] : nullptr;
}

CudaIpcExchange::Incoming* CudaIpcExchange::incoming(std::uint32_t number) {
  const std::uint32_t index = number - first_in_;
  return index < incoming_.size() ? &incoming_[index] : nullptr;
}

// ---- waiting --------------------------------------------------------------------------------------------------------

Outcome CudaIpcExchange::wait_for_something() {
  if (!receive_op_ && must_receive()) {
    end_.rank.step("receive");
    receive_op_ = end_.rank.recv_control(end_.peer, tags::kIpcFifo, received_);
  }
  // What is received comes first, then the oldest read, as in the progress loop of smcuda.
  awaited_.clear();
  if (receive_op_) awaited_.push_back(*receive_op_);
  if (!pulls_.empty()) awaited_.push_back(pulls_.front().op);
  const std::size_t first_send = awaited_.size();
  awaited_.insert(awaited_.end(), end_.sends.begin(), end_.sends.end());
  assert(!awaited_.empty());

  const auto ended = end_.rank.wait_any(awaited_, deadline_);
  if (!ended) return fail(Status::timed_out, "the deadline passed: " + what_is_missing());
  if (ended->index >= first_send) {
    end_.sends.erase(end_.sends.begin() + static_cast<std::ptrdiff_t>(ended->index - first_send));
    return ended->status == Status::delivered ? Outcome{} : fail(ended->status, "a control message was lost");
  }
  if (!receive_op_ || ended->index > 0) return pulled(ended->status);
  receive_op_.reset();
  return ended->status == Status::delivered ? recv_control(received_) : fail(ended->status, "step 'receive'");
}

/// Can the exchange not go on to its end without another packet? Only then one is awaited: what the peer sends for its
/// next exchange must stay in the FIFO.
bool CudaIpcExchange::must_receive() const {
  return std::ranges::any_of(outgoing_, [](const Outgoing& m) { return m.state != Sending::done; }) ||
         std::ranges::any_of(incoming_, [](const Incoming& m) {
           return m.state == Receiving::waits_for_header || m.state == Receiving::in_fragments;
         });
}

bool CudaIpcExchange::finished() const {
  return end_.sends.empty() &&
         std::ranges::all_of(outgoing_, [](const Outgoing& m) { return m.state == Sending::done; }) &&
         std::ranges::all_of(incoming_, [](const Incoming& m) { return m.state == Receiving::done; });
}

std::string CudaIpcExchange::what_is_missing() const {
  for (std::size_t i = 0; i < outgoing_.size(); ++i) {
    const Outgoing& message = outgoing_[i];
    if (message.state == Sending::done) continue;
    const char* const what = message.state == Sending::waits_for_clear ? "clear to send"
                             : message.state == Sending::waits_for_fin ? "FIN"
                                                                       : "a free fragment";
    return "step 'receive': outgoing message " + std::to_string(i) + " (" + size_text(message.bytes.length.count()) +
           ") waits for " + what;
  }
  for (std::size_t i = 0; i < incoming_.size(); ++i) {
    const Incoming& message = incoming_[i];
    if (message.state == Receiving::done) continue;
    const char* const what = message.state == Receiving::waits_for_header ? "its header"
                             : message.state == Receiving::in_fragments   ? "a fragment"
                                                                          : "its copy";
    return "step 'receive': incoming message " + std::to_string(i) + " (" + size_text(message.bytes.length.count()) +
           ") waits for " + what;
  }
  return "a control message is on its way";
}

/// Copies of the staged path are synchronous: the CPU waits for each, and only the two processes overlap.
Status CudaIpcExchange::copy_now(std::string_view words, View to, View from, Stream stream) {
  end_.rank.step(words);
  return wait(end_.rank, end_.rank.copy(to, from, stream, Engine::dma), deadline_);
}

Outcome CudaIpcExchange::fail(Status status, std::string reason) {
  end_.send_control(
      "send failure",
      {.kind = PacketKind::failed,
       .slot = static_cast<std::uint16_t>(status == Status::wrong_size ? Status::wrong_size : Status::peer_failed)});
  return {status, std::move(reason)};
}

void CudaIpcExchange::abandon() {
  if (receive_op_) end_.rank.abandon(*receive_op_);
  receive_op_.reset();
  for (const Pull& pull : pulls_) {
    if (pull.op != Op{}) end_.rank.abandon(pull.op);
    end_.cache.release(pull.source);
  }
  pulls_.clear();
  for (const Op op : end_.sends) end_.rank.abandon(op);
  end_.sends.clear();
}

}  // namespace twinlink
