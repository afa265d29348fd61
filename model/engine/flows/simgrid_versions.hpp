// All that differs between the versions of SimGrid, and all that is not in its public interface: the timers of its
// kernel, code that runs in one step of the simulation, and a zone that takes links at any time. Known to work with
// 3.32 (Debian 12) and 4.0 (Debian 13); 3.35 (Ubuntu 24.04) has the same interfaces as one of them.
// model/CMakeLists.txt refuses other versions. For sources of this folder only, and for their tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <simgrid/forward.h>
#include <simgrid/version.h>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/kernel/routing/StarZone.hpp>
#include <simgrid/s4u.hpp>
#if __has_include(<simgrid/simcall.hpp>)
#include <simgrid/simcall.hpp>
#else
#include <simgrid/simix.hpp>
#endif

#include "protocols/core/units.hpp"

namespace twinlink::model::versions {
namespace s4u = simgrid::s4u;

// ---- the platform ---------------------------------------------------------------------------------------------------

inline s4u::NetZone* add_zone([[maybe_unused]] s4u::Engine& engine, const std::string& name) {
#if SIMGRID_VERSION >= 40000
  return engine.get_netzone_root()->add_netzone_star(name);
#else
  return s4u::create_star_zone(name);
#endif
}

/// A zone beside the platform that `zone` belongs to. SimGrid takes no more links into the platform's own zones once
/// the simulation runs. It does not destroy this zone either; like the engine, it lives as long as the process.
inline s4u::NetZone* add_zone_of_links(const s4u::NetZone& zone, const std::string& name) {
  static auto* const beside = new simgrid::kernel::routing::StarZone(name);
  beside->set_network_model(zone.get_impl()->get_network_model());
  return beside->get_iface();
}

inline s4u::Host* add_host(s4u::NetZone& zone, const std::string& name, double speed) {
#if SIMGRID_VERSION >= 40000
  return zone.add_host(name, speed);
#else
  return zone.create_host(name, speed);
#endif
}

/// Nothing is computed, so the speed of a host is of no consequence; SimGrid wants one.
inline s4u::Host* add_home(s4u::NetZone& zone) { return add_host(zone, "home", 1e9); }

/// What SimGrid counts instead of bytes: from 3.35 on its messages have whole ones, and what is left of a flow is not
/// whole. A thousandth of a byte passes in less than a tenth of a picosecond.
#if SIMGRID_VERSION >= 33500
inline constexpr double kUnitsPerByte = 1024;
#else
inline constexpr double kUnitsPerByte = 1;
#endif

/// `rate` in bytes per second, here and below.
inline s4u::Link* add_link(s4u::NetZone& zone, const std::string& name, double rate) {
#if SIMGRID_VERSION >= 40000
  return zone.add_link(name, rate * kUnitsPerByte);
#else
  return zone.create_link(name, rate * kUnitsPerByte);
#endif
}

/// The way from a host to itself, anew.
inline void set_route(s4u::NetZone& zone, const s4u::Host& host, const std::vector<s4u::LinkInRoute>& links) {
#if SIMGRID_VERSION >= 40000
  zone.add_route(&host, &host, links, false);
#else
  zone.add_route(host.get_netpoint(), host.get_netpoint(), nullptr, nullptr, links, false);
#endif
}

inline s4u::ActorPtr add_actor(const std::string& name, s4u::Host& host, const std::function<void()>& code) {
#if SIMGRID_VERSION >= 40000
  return s4u::Engine::add_actor(name, &host, code);
#else
  return s4u::Actor::create(name, &host, code);
#endif
}

// ---- time -----------------------------------------------------------------------------------------------------------

/// Nothing else happens meanwhile, whoever calls it.
template <class Code>
void in_one_step(Code&& code) {
  simgrid::kernel::actor::simcall_answered(std::forward<Code>(code));
}

using Timer = simgrid::kernel::timer::Timer;

/// Acts once, outside of actors, and is deleted then.
template <class Action>
Timer* add_timer(double when, Action action) {
  return Timer::set(when, std::move(action));
}

// ---- flows ----------------------------------------------------------------------------------------------------------

inline void set_bandwidth(s4u::Link& link, double rate) { link.set_bandwidth(rate * kUnitsPerByte); }

#if SIMGRID_VERSION >= 33500
/// Bytes from a host to itself: a transfer between hosts, which belongs to no actor. SimGrid ignores its rate, but
/// limits every transfer for ever to the least rate that its links have in the moment in which it starts.
class Transfer {
 public:
  void start(s4u::Host& host, s4u::Link& link, std::optional<Rate> limit, double bytes, std::function<void()> ended) {
    const double rate = link.get_bandwidth() / kUnitsPerByte;
    const bool limited = limit && limit->bytes_per_second() < rate;
    if (limited) set_bandwidth(link, limit->bytes_per_second());
    comm_ = s4u::Comm::sendto_init();
    comm_->on_this_completion_cb([ended = std::move(ended)](const s4u::Comm&) { ended(); });
    comm_->set_payload_size(static_cast<std::uint64_t>(std::max(std::round(bytes * kUnitsPerByte), 1.0)));
    comm_->set_source(&host)->set_destination(&host);
    if (limited) set_bandwidth(link, rate);
  }
  void cancel() { comm_->cancel(); }
  [[nodiscard]] double left() const { return comm_->get_remaining() / kUnitsPerByte; }

 private:
  s4u::CommPtr comm_;
};

/// What brings flows into SimGrid.
class Carrier {
 public:
  /// `load` starts the next flow with a transfer that is free. False: there is none.
  Carrier(s4u::Host& /*home*/, std::function<bool(Transfer&)> load) : load_(std::move(load)) {}

  /// One more flow is to begin. Outside of actors.
  void carry() {
    down_.clear();
    auto* transfer = new Transfer;
    if (!load_(*transfer)) delete transfer;
  }
  /// Its flow has ended, or is cancelled. SimGrid may still be telling of it.
  void put_down(Transfer& transfer) { down_.emplace_back(&transfer); }

 private:
  std::function<bool(Transfer&)> load_;
  std::vector<std::unique_ptr<Transfer>> down_;
};
#else
/// Whole bytes are what SimGrid's messages have; what is left of a flow is none.
inline void set_bytes(s4u::Comm& comm, double bytes) {
  struct Size : s4u::Activity {
    static void set(s4u::Activity& activity, double size) { (activity.*(&Size::set_remaining))(size); }
  };
  Size::set(comm, bytes);
}

/// A message of an actor to itself: SimGrid 3.32 keeps all transfers between hosts in one list, and walks the whole
/// list when one ends; and it knows the two sides of a message by the actor that makes them.
class Transfer {
 public:
  explicit Transfer(s4u::Mailbox& mailbox) : mailbox_(mailbox) {}

  /// By the actor.
  void prepare() {
    put_ = mailbox_.put_init();
    get_ = mailbox_.get_init();
    put_->set_src_data(this, sizeof(void*));
    get_->set_dst_data(&nothing_, sizeof nothing_);
    // SimGrid calls this when the message has arrived, in order to copy the data.
    get_->set_copy_data_callback([](auto*, void* sent, std::size_t) { static_cast<Transfer*>(sent)->ended_(); });
  }
  void start(s4u::Host& /*unused*/, s4u::Link& /*unused*/, std::optional<Rate> limit, double bytes,
             std::function<void()> ended) {
    ended_ = std::move(ended);
    set_bytes(*put_, bytes);
    if (limit) put_->set_rate(limit->bytes_per_second());
    put_->start();
    get_->start();
  }
  void cancel() {
    put_->cancel();
    get_->cancel();
  }
  [[nodiscard]] double left() const { return put_->get_remaining(); }
  /// By the actor: until the flow has ended, and SimGrid has forgotten it.
  void await() {
    semaphore_->acquire();
    try {
      get_->wait();
    } catch (const simgrid::Exception&) {
      // It was cancelled.
    }
  }
  void release() { semaphore_->release(); }

 private:
  s4u::Mailbox& mailbox_;
  std::function<void()> ended_;
  void* nothing_ = nullptr;  ///< flows carry no data; SimGrid wants a place to put it
  s4u::CommPtr put_;
  s4u::CommPtr get_;
  s4u::SemaphorePtr semaphore_ = s4u::Semaphore::create(0);
};

/// What brings flows into SimGrid: an actor for each of those that move at once, which is used again.
class Carrier {
 public:
  /// `load` starts the next flow with a transfer that is free. False: there is none.
  Carrier(s4u::Host& home, std::function<bool(Transfer&)> load)
      : home_(home), mailbox_(*s4u::Mailbox::by_name("flows")), load_(std::move(load)) {}

  /// One more flow is to begin. Outside of actors.
  void carry() {
    if (free_.empty()) {
      ++waiting_;
      add_actor("carrier", home_, [this] { run(); })->daemonize();
      return;
    }
    Transfer& transfer = *free_.back();
    free_.pop_back();
    if (!load_(transfer)) free_.push_back(&transfer);
  }
  /// Its flow has ended, or is cancelled.
  static void put_down(Transfer& transfer) { transfer.release(); }

 private:
  void run() {
    Transfer transfer(mailbox_);
    for (;;) {
      transfer.prepare();
      bool loaded = false;
      if (waiting_ > 0) {
        --waiting_;
        loaded = load_(transfer);
      }
      if (!loaded) free_.push_back(&transfer);
      transfer.await();
    }
  }

  s4u::Host& home_;
  s4u::Mailbox& mailbox_;
  std::function<bool(Transfer&)> load_;
  std::vector<Transfer*> free_;
  int waiting_ = 0;  ///< flows for whom an actor begins now
};
#endif

}  // namespace twinlink::model::versions
